# SPDX-License-Identifier: MIT
# One host under test: a GPU with vGPUs (gover-sim on FUSE, or the simulated GPU inside the daemon), gover-d with the
# injector, and the files of its state directory. Waits are for events, with a generous limit.
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

import page as faults
import rest

PERIOD_S = 0.05
SPEED = 10
READY_S = 30.0
LEASES_MS = (60000, 1000)  # the lease of every other host ends during longer faults
VGPUS = 4  # vGPUs that exist all the time
VGPU_TYPE = "i915-GVTg_V5_8"  # at most eight vGPUs on a GPU
GPU_AT = "class/mdev_bus/0000:00:02.0"

CONFIG = """[daemon]
socket = {folder}/sock
state_dir = {folder}/state
period_ms = 50
[gpu gpu0]
{gpu}
speed = 10
lease_ms = {lease_ms}
intel_gpu_top = {igt}
[offer]
flavor_cap_pct = 20
max_vgpus = 8
ttl_s = 5
probation_s = 1
[policy]
lowload_pct = 90
min_newcomer_pct = 5
[fps]
socket = {folder}/fps.sock
ports = {folder}/ports
"""


# A fake intel_gpu_top that does what the file beside it says.
GPU_TOP = """#!/bin/sh
while read -r mode <"$0.mode"; do
  case $mode in
  works) printf '{\\n"engines": {"Render/3D/0": {"busy": 10.5, "unit": "%%"}}\\n}\\n' ;;
  dead) exit 1 ;;
  garbage) head -c 3000 /dev/urandom ;;
  lies) printf '{\\n"engines": {"Render/3D/0": {"busy": -nan}, "x": {"busy": 1e999}}\\n}\\n' ;;
  silent) ;;
  esac
  sleep 0.1
done
"""


class Broken(Exception):
    """The world cannot be used any more; the text says why."""


def until(found, seconds, pause_s=0.004):
    """Waits until found() is true and returns its value, or returns None after @seconds."""
    end = time.monotonic() + seconds
    while True:
        value = found()
        if value:
            return value
        if time.monotonic() > end:
            return None
        time.sleep(pause_s)


class FuseTree:
    """The vGPUs of gover-sim. They outlive the daemon; anybody can create, read and remove them."""

    name = "fuse"

    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.root = os.path.join(folder, "sys")
        self.gpu = os.path.join(self.root, GPU_AT)
        os.mkdir(self.root)
        self.mount()

    def mount(self):
        with open(os.path.join(self.folder, "sim.log"), "w") as log:
            command = [os.path.join(self.build, "gover-sim"), "mount", "--speed", str(SPEED), self.root]
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        mounted = os.path.join(self.root, "bus")
        if not until(lambda: os.path.isdir(mounted) or self.process.poll() is not None, READY_S):
            raise Broken("gover-sim did not mount")
        if self.process.poll() is not None:
            raise Broken("gover-sim ended")

    def unmount(self):
        """Ends gover-sim. All vGPUs are removed."""
        self.process.terminate()
        try:
            self.process.wait(READY_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def config(self):
        return f"backend = gvt\nroot = {self.root}"

    def vgpus(self):
        return [name for name in os.listdir(self.gpu) if len(name) == 36]

    def path(self, vgpu, file):
        return os.path.join(self.gpu, vgpu, file)

    def read(self, vgpu, file):
        with open(self.path(vgpu, file)) as opened:
            return opened.read().strip()

    def write(self, vgpu, file, text):
        with open(self.path(vgpu, file), "w") as opened:
            opened.write(str(text))

    def cap(self, vgpu):
        """The cap in force, or None for a vGPU that does not exist."""
        try:
            return int(self.read(vgpu, "intel_vgpu/cap"))
        except OSError:
            return None

    def load(self, vgpu, pct):
        self.write(vgpu, "load", pct)

    def create(self, vgpu, cap_pct):
        """
        Creates a vGPU on the bus. If the daemon sets a cap between the two writes, the initial cap can no longer change; the
        vGPU is then created again.
        """
        for _ in range(20):
            with open(os.path.join(self.gpu, "mdev_supported_types", VGPU_TYPE, "create"), "w") as file:
                file.write(vgpu)
            try:
                self.write(vgpu, "intel_vgpu/initial_cap", cap_pct)
                return
            except OSError:
                self.remove(vgpu)
        raise Broken(f"vGPU {vgpu}: its initial cap cannot be set")

    def remove(self, vgpu):
        if os.path.exists(os.path.join(self.gpu, vgpu)):
            self.write(vgpu, "remove", 1)

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.unmount()


class Daemon:
    """gover-d with the injector. A daemon that ends is started again by revive(), as systemd does."""

    def __init__(self, build, folder):
        self.build = build
        self.folder = folder
        self.page = faults.Page(os.path.join(folder, "page"))
        self.process = None
        self.starts = 0

    def start(self):
        environment = dict(os.environ, LD_PRELOAD=os.path.join(self.build, "tests/fault-inject.so"),
                           GOVER_FAULTS=os.path.join(self.folder, "page"))
        with open(os.path.join(self.folder, "log"), "a") as log:
            command = [os.path.join(self.build, "gover-d"), "--config", os.path.join(self.folder, "conf")]
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        self.starts += 1

    @property
    def pid(self):
        return self.process.pid

    def ended(self):
        """The exit status of the daemon, negative for a signal, or None while it runs."""
        return self.process.poll()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Ends the daemon as systemd does; True if it exits with 0."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(READY_S) == 0
        except subprocess.TimeoutExpired:
            self.kill()
            return False


class World:
    def __init__(self, build, number, tree=FuseTree):
        base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="gover-faults.", dir=base)
        self.number = number
        lease_ms = LEASES_MS[number % 2]
        self.made = 0
        self.state = os.path.join(self.folder, "state")
        self.tree = tree(build, self.folder)
        self.daemon = Daemon(build, self.folder)
        self.page = self.daemon.page
        self.socket = os.path.join(self.folder, "sock")
        with open(os.path.join(self.folder, "conf"), "w") as file:
            values = {"folder": self.folder, "gpu": self.tree.config(), "igt": self.gpu_top("works")}
            file.write(CONFIG.format(**values, lease_ms=lease_ms))
        self.vgpus = [self.new_vgpu(25) for _ in range(VGPUS)]
        self.prober = rest.Prober(os.path.join(self.folder, "prober"), self.socket)
        self.start()

    def close(self):
        self.prober.stop()
        self.page.clear()
        if self.daemon.ended() is None:
            self.daemon.kill()
        self.tree.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def new_id(self):
        self.made += 1
        return f"{self.number:08x}-0000-4000-8000-{self.made:012x}"

    def new_vgpu(self, cap_pct):
        """A vGPU on the bus with a small load, as an orchestrator creates it; in sim, only its id."""
        vgpu = self.new_id()
        self.tree.create(vgpu, cap_pct)
        self.tree.load(vgpu, 8)
        return vgpu

    def gpu_top(self, mode):
        """Sets what the fake intel_gpu_top does. Returns its path."""
        path = os.path.join(self.folder, "gpu-top")
        with open(path + ".mode", "w") as file:
            file.write(mode + "\n")
        if not os.path.exists(path):
            with open(path, "w") as file:
                file.write(GPU_TOP)
            os.chmod(path, 0o755)
        return path

    # --- the daemon ---

    def start(self):
        self.daemon.start()
        if not until(self.is_ready, READY_S):
            raise Broken(f"gover-d is not ready; its log ends:\n{self.log_tail()}")

    def is_ready(self):
        try:
            return self.ask("GET", "/readyz", timeout=1).status == 200
        except rest.NoAnswer:
            return False

    def revive(self):
        """Starts the daemon again if it has ended. Returns its exit status, or None if it still runs."""
        status = self.daemon.ended()
        if status is not None:
            self.daemon.start()
        return status

    def log_text(self, offset=0):
        with open(os.path.join(self.folder, "log"), errors="replace") as file:
            file.seek(offset)
            return file.read()

    def log_size(self):
        return os.path.getsize(os.path.join(self.folder, "log"))

    def log_tail(self, lines=12):
        return "\n".join(self.log_text().splitlines()[-lines:])

    # --- REST ---

    def ask(self, method, target, body=None, headers=None, timeout=rest.TIMEOUT_S):
        return rest.ask(self.socket, method, target, body, headers, timeout)

    def get(self, target, timeout=rest.TIMEOUT_S):
        """The JSON of an answer with status 200, or raises NoAnswer."""
        answer = self.ask("GET", target, timeout=timeout)
        if answer.status != 200:
            raise rest.NoAnswer(f"GET {target}: {answer.status} {answer.body[:200]!r}")
        return answer.json()

    def file(self, name):
        return os.path.join(self.state, name)

    def json_file(self, name):
        """The content of a file of the state directory, or None if it is missing or not JSON."""
        try:
            with open(self.file(name)) as file:
                return json.load(file)
        except (OSError, ValueError):
            return None
