#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# make soak: runs gover-d for SOAK_TICKS periods of 2 ms with 64 vGPUs on four simulated GPUs, while vGPUs come and go,
# contracts and loads change, other programs write caps, and the disk fails now and then. A period counts as one second for
# the wall clock and for CLOCK_BOOTTIME, so that the history is rolled up and pruned as in days. Memory, descriptors,
# threads and files must then stay as they were after the first third of the periods.
import errno
import os
import random
import shutil
import sys
import tempfile
import threading
import time

import page as faults
import rest
import world

GPUS, VGPUS_PER_GPU = 4, 16
PERIOD_MS = 2
SPEED = 1000 // PERIOD_MS
SAMPLES = 60
MEMORY_MARGIN_KIB = 1024
CONNECTIONS = 4  # open by chance at the time of a sample
FILES_MARGIN = 1.15

CONFIG = """[daemon]
socket = {folder}/sock
state_dir = {folder}/state
period_ms = {period}
{gpus}
[policy]
name = qos
min_newcomer_pct = 3
[offer]
flavor_cap_pct = 5
max_vgpus = 18
ttl_s = 5
probation_s = 1
[fps]
socket = {folder}/fps.sock
[history]
raw_hours = 1
minute_days = 1
hour_days = 2
"""

WORKLOADS = ("busy", "load:pct=2", "load:pct=10", "load:pct=40")


def kib_of(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Anonymous:"))


def bytes_below(folder):
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names
               if os.path.exists(os.path.join(at, name)))


class Clock(threading.Thread):
    """Lets the wall clock and CLOCK_BOOTTIME of the daemon run SPEED times as fast."""

    def __init__(self, page):
        super().__init__(daemon=True)
        self.page = page
        self.begun = time.monotonic()

    def run(self):
        while True:
            ahead_s = (time.monotonic() - self.begun) * (SPEED - 1)
            self.page.shift_clocks(int(ahead_s), int(ahead_s))
            time.sleep(0.002)


class Churn:
    """What clients, tenants and other programs do. Each call does one thing."""

    def __init__(self, folder, page, chance):
        self.folder, self.page, self.chance = folder, page, chance
        self.path = os.path.join(folder, "sock")
        self.made = 0
        self.refused = 0
        self.rule = None

    def ask(self, method, target, body=None):
        answer = rest.ask(self.path, method, target, body)
        if answer.status >= 400:
            self.refused += 1
        return answer

    def vgpus(self):
        return self.ask("GET", "/v1/vgpus").json()["vgpus"]

    def create(self):
        self.made += 1
        gpu = f"gpu{self.chance.randrange(GPUS)}"
        self.ask("POST", "/v1/vgpus", {"id": f"v{self.made}", "gpu": gpu, "initial_cap_pct": self.chance.randint(3, 9),
                                       "target_fps": self.chance.choice((0, 30)),
                                       "labels": {"workload": self.chance.choice(WORKLOADS)}})

    def replace(self):
        vgpus = self.vgpus()
        if len(vgpus) >= GPUS * VGPUS_PER_GPU:
            self.ask("DELETE", "/v1/vgpus/" + self.chance.choice(vgpus)["id"])
        self.create()

    def change(self):
        vgpu = self.chance.choice(self.vgpus())["id"]
        body = self.chance.choice(({"labels": {"workload": self.chance.choice(WORKLOADS)}}, {"held": True}, {"held": False},
                                   {"initial_cap_pct": self.chance.randint(3, 9)}))
        self.ask("PATCH", "/v1/vgpus/" + vgpu, body)

    def claim(self):
        for offer in self.ask("GET", "/v1/offers").json()["offers"]:
            self.made += 1
            self.ask("POST", f"/v1/offers/{offer['id']}/claim", {"id": f"v{self.made}"})

    def poke(self):
        """Another program writes a cap, or removes a vGPU."""
        vgpu = self.chance.choice(self.vgpus())
        name = vgpu["id"] + self.chance.choice((".cap", ".cap", ".gone"))
        with open(os.path.join(self.folder, vgpu["gpu"], name), "w") as file:
            file.write("7")

    def fail(self):
        """The disk fails until the next call."""
        if self.rule:
            self.rule.disarm()
            self.rule = None
            return
        error = self.chance.choice((errno.ENOSPC, errno.EIO, errno.EROFS))
        file = self.chance.choice(("*/contracts.json*", "*/history.db*", "*/caps"))
        self.rule = self.page.arm(faults.WRITE | faults.SYNC, file, faults.FAIL, error)

    def look(self):
        for target in ("/metrics", "/v1/alerts?all=true", "/v1/decisions?limit=1000", "/v1/host"):
            self.ask("GET", target)

    def act(self):
        self.chance.choice((self.replace, self.change, self.change, self.claim, self.poke, self.fail, self.look))()


def sample(daemon, folder, ticks):
    return (ticks, kib_of(daemon.pid), len(os.listdir(f"/proc/{daemon.pid}/fd")), len(os.listdir(f"/proc/{daemon.pid}/task")),
            bytes_below(os.path.join(folder, "state")))


def run(build, folder, ticks_wanted, seed):
    gpus = "\n".join(f"[gpu gpu{i}]\nbackend = sim\nspeed = {SPEED}\nroot = {folder}/gpu{i}" for i in range(GPUS))
    for i in range(GPUS):
        os.mkdir(os.path.join(folder, f"gpu{i}"))
    with open(os.path.join(folder, "conf"), "w") as file:
        file.write(CONFIG.format(folder=folder, period=PERIOD_MS, gpus=gpus))
    daemon = world.Daemon(build, folder)
    daemon.start()
    path = os.path.join(folder, "sock")
    if not world.until(lambda: os.path.exists(path), world.READY_S):
        with open(os.path.join(folder, "log")) as log:
            raise world.Broken("gover-d did not start: " + log.read()[-500:])
    Clock(daemon.page).start()
    churn = Churn(folder, daemon.page, random.Random(seed))
    for _ in range(GPUS * VGPUS_PER_GPU):
        churn.create()
    rows, ticks = [], 0
    while ticks < ticks_wanted:
        if daemon.ended() is not None:
            raise world.Broken(f"gover-d ended with {daemon.ended()}")
        churn.act()
        ticks = churn.ask("GET", "/v1/host").json()["ticks"]
        if ticks >= ticks_wanted * len(rows) / SAMPLES:
            rows.append(sample(daemon, folder, ticks))
            print("# %d ticks: %d KiB, %d descriptors, %d threads, %d KiB of files" % (*rows[-1][:4], rows[-1][4] // 1024),
                  flush=True)
    print(f"# {churn.made} vGPUs were made, {churn.refused} requests were refused")
    return rows, daemon.stop()


def main():
    build = os.path.abspath(os.environ.get("B", "build"))
    ticks = int(os.environ.get("SOAK_TICKS", "1000000"))
    seed = int(os.environ.get("SEED", "1"))
    folder = tempfile.mkdtemp(prefix="gover-soak.")
    failed = 0
    print(f"# SOAK_TICKS={ticks} SEED={seed}")
    try:
        rows, stopped = run(build, folder, ticks, seed)
        third = len(rows) // 3
        for number, (name, column, allowed) in enumerate((
                ("memory", 1, lambda kib: kib + MEMORY_MARGIN_KIB), ("descriptors", 2, lambda n: n + CONNECTIONS), ("threads", 3, lambda n: n),
                ("files", 4, lambda size: size * FILES_MARGIN)), 1):
            before = max(row[column] for row in rows[third:2 * third])
            after = max(row[column] for row in rows[2 * third:])
            good = after <= allowed(before)
            failed += not good
            print(f"{'ok' if good else 'not ok'} {number} - {name}: at most {after} in the last third, {before} in the second")
        failed += not stopped
        print(f"{'ok' if stopped else 'not ok'} 5 - the daemon stops with status 0\n1..5")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
