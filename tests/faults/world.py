# SPDX-License-Identifier: MIT
# One host under test: two GPUs with vGPUs (tree.py), gover-d with the injector, and the files of its state directory.
# Waits are for events, with a generous limit.
import json
import os
import shutil
import signal
import subprocess
import tempfile

import page as faults
import rest
from reporter import Reporters
from tree import READY_S, Broken, FuseTree, SimTree, until

PERIOD_S = 0.1
SPEED = 10
LEASES_MS = (60000, 1000)  # the lease of every other host ends during longer faults
VGPUS = ("gpu0", "gpu0", "gpu0", "gpu1")  # the GPUs of the vGPUs that exist all the time
GPU_AT = "class/mdev_bus/0000:00:02.0"

CONFIG = """[daemon]
socket = {folder}/sock
state_dir = {folder}/state
period_ms = 100
{gpus}[offer]
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


GPU_SETTINGS = """speed = 10
lease_ms = {lease_ms}
intel_gpu_top = {gpu_top}
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


def tree_of(number):
    return SimTree if number % 3 == 0 else FuseTree


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

    def log_text(self, offset=0):
        with open(os.path.join(self.folder, "log"), errors="replace") as file:
            file.seek(offset)
            return file.read()

    def log_size(self):
        return os.path.getsize(os.path.join(self.folder, "log"))


class World:
    """Every third host has simulated GPUs inside the daemon, the others have the vGPUs of gover-sim."""

    def __init__(self, build, number):
        base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="gover-faults.", dir=base)
        self.number = number
        self.made = 0
        self.state = os.path.join(self.folder, "state")
        self.socket = os.path.join(self.folder, "sock")
        settings = GPU_SETTINGS.format(lease_ms=LEASES_MS[number % 2], gpu_top=self.gpu_top("works"))
        self.tree = tree_of(number)(build, self.folder, settings)
        self.daemon = Daemon(build, self.folder)
        self.page = self.daemon.page
        with open(os.path.join(self.folder, "conf"), "w") as file:
            file.write(CONFIG.format(folder=self.folder, gpus=self.tree.config()))
        self.vgpus = [self.new_vgpu(gpu, 25) for gpu in VGPUS]
        self.reporters = Reporters(os.path.join(self.folder, "ports"))
        self.companion = None  # a second host, see shared.py
        self.prober = rest.Prober(os.path.join(self.folder, "prober"), self.socket)
        self.start()

    def close(self):
        self.prober.stop()
        self.reporters.close()
        if self.companion:
            self.companion.close()
        self.page.clear()
        if self.daemon.ended() is None:
            self.daemon.kill()
        self.tree.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def new_id(self):
        self.made += 1
        return f"{self.number:08x}-0000-4000-8000-{self.made:012x}"

    def new_vgpu(self, gpu, cap_pct):
        """A vGPU on the bus, as an orchestrator creates it; with simulated GPUs only its id."""
        vgpu = self.new_id()
        self.tree.create(vgpu, gpu, cap_pct)
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
        return self.daemon.log_text(offset)

    def log_size(self):
        return self.daemon.log_size()

    def log_tail(self, lines=12):
        return "\n".join(self.log_text().splitlines()[-lines:])

    # --- REST ---

    def ask(self, method, target, body=None, headers=None, timeout=rest.TIMEOUT_S):
        return rest.ask(self.socket, method, target, body, headers, timeout)

    def get(self, target, timeout=rest.TIMEOUT_S):
        return rest.get(self.socket, target, timeout)

    def file(self, name):
        return os.path.join(self.state, name)

    def json_file(self, name):
        """The content of a file of the state directory, or None if it is missing, not JSON or no file."""
        if not os.path.isfile(self.file(name)):
            return None
        try:
            with open(self.file(name)) as file:
                return json.load(file)
        except (OSError, ValueError):
            return None
