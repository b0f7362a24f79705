#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A host with programs on a GPU: drm-host.py FOLDER keeps FOLDER/proc and FOLDER/cgroup (version 2) as
FOLDER/programs says, which it reads 50 times a second. A line is PID GROUP CLIENT RENDER VIDEO: a process in the control
group, and the shares of the render engine and of the two video engines that its DRM file uses. A process without a line has
ended; its group stays until the line "end GROUP". "times off" is a driver without times. "device ADDRESS" is the PCI address
of the GPU, 0000:03:00.0 at first."""
import os
import shutil
import sys
import time

top = sys.argv[1]
KIB = 2048
used = {}  # client: seconds of render and video
files = {}  # pid: descriptor of its fdinfo file
times = True
device = "0000:03:00.0"


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def text_of(client):
    render, video = used[client]
    engines = f"drm-engine-render:\t{int(render * 1e9):020d} ns\ndrm-engine-video:\t{int(video * 1e9):020d} ns\n" \
              "drm-engine-capacity-video:\t2\n" if times else ""
    return f"pos:\t0\ndrm-driver:\ti915\ndrm-client-id:\t{client}\ndrm-pdev:\t{device}\n" \
           f"drm-resident-vram0:\t{KIB} KiB\n{engines}"


def begin(pid, group, client):
    write(f"{top}/proc/{pid}/cgroup", f"0::/{group}\n")
    os.makedirs(f"{top}/cgroup/{group}", exist_ok=True)
    os.makedirs(f"{top}/proc/{pid}/fd", exist_ok=True)
    write(f"{top}/proc/{pid}/fdinfo/5", text_of(client))
    os.symlink("/dev/dri/renderD128", f"{top}/proc/{pid}/fd/5")
    files[pid] = os.open(f"{top}/proc/{pid}/fdinfo/5", os.O_WRONLY)


def end(pid):
    # Like the kernel, an open file of an ended process has no text any more.
    os.ftruncate(files[pid], 0)
    os.close(files.pop(pid))
    shutil.rmtree(f"{top}/proc/{pid}")


def step(passed_s):
    global times, device
    present, ended = set(), []
    with open(f"{top}/programs", encoding="ascii") as file:
        lines = file.read().splitlines()
    for line in lines:
        words = line.split()
        if words[:1] == ["times"]:
            times = words[1] == "on"
        elif words[:1] == ["device"]:
            device = words[1]
        elif words[:1] == ["end"]:
            ended.append(words[1])
        elif len(words) == 5:
            pid, group, client = words[:3]
            present.add(pid)
            shares = [float(word) for word in words[3:]]
            if pid not in files:
                used.setdefault(client, [0, 0])
                begin(pid, group, client)
            used[client] = [used[client][0] + passed_s * shares[0], used[client][1] + passed_s * 2 * shares[1]]
            text = text_of(client).encode()
            os.pwrite(files[pid], text, 0)
            os.ftruncate(files[pid], len(text))
    for pid in set(files) - present:
        end(pid)
    for group in ended:
        shutil.rmtree(f"{top}/cgroup/{group}", ignore_errors=True)


write(f"{top}/proc/self/mountinfo", f"31 23 0:28 / {top}/cgroup rw - cgroup2 cgroup2 rw\n")
write(f"{top}/cgroup/cgroup.controllers", "cpu memory\n")
last = time.monotonic()
while True:
    now = time.monotonic()
    try:
        step(now - last)
    except FileNotFoundError:
        pass
    last = now
    time.sleep(0.02)
