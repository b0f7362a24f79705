# SPDX-License-Identifier: MIT
# The vGPUs of a host: those of gover-sim on FUSE, which outlive the daemon, or those of the simulated GPU inside the
# daemon. Both hosts have two GPUs.
import os
import signal
import subprocess
import time

SPEED = 10
READY_S = 30.0
VGPU_TYPE, VGPUS_MAX = "i915-GVTg_V5_8", 8  # the type allows eight vGPUs on a GPU
PARENTS = {"gpu0": "0000:00:02.0", "gpu1": "0000:01:00.0"}


class Broken(Exception):
    """The host cannot be used any more; the text says why."""


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
    """The vGPUs of gover-sim. Other programs can create, read and remove them."""

    outside = True  # the vGPUs exist without the daemon

    def __init__(self, build, folder, settings):
        self.build, self.folder, self.settings = build, folder, settings
        self.root = os.path.join(folder, "sys")
        self.gpu_of = {}  # of each vGPU that was created
        os.mkdir(self.root)
        self.mount()

    def mount(self):
        with open(os.path.join(self.folder, "sim.log"), "w") as log:
            command = [os.path.join(self.build, "gover-sim"), "mount", "--speed", str(SPEED), "--gpus", "2", self.root]
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
        return "".join(f"[gpu {gpu}]\nbackend = gvt\nroot = {self.root}\nparent = {parent}\n{self.settings}"
                       for gpu, parent in PARENTS.items())

    def folder_of(self, gpu):
        return os.path.join(self.root, "class/mdev_bus", PARENTS[gpu])

    def vgpus(self):
        return [name for gpu in PARENTS for name in os.listdir(self.folder_of(gpu)) if len(name) == 36]

    def path(self, vgpu, file):
        return os.path.join(self.folder_of(self.gpu_of[vgpu]), vgpu, file)

    def write(self, vgpu, file, text):
        with open(self.path(vgpu, file), "w") as opened:
            opened.write(str(text))

    def cap(self, vgpu):
        """The cap in force, or None for a vGPU that does not exist."""
        try:
            with open(self.path(vgpu, "intel_vgpu/cap")) as opened:
                return int(opened.read())
        except OSError:
            return None

    def load(self, vgpu, pct):
        self.write(vgpu, "load", pct)

    def labels(self):
        """The labels that a contract of the vGPU needs."""
        return {}

    def create(self, vgpu, gpu, cap_pct):
        """
        Creates a vGPU on the bus. If the daemon sets a cap between the two writes, the initial cap can no longer change; the
        vGPU is then created again.
        """
        self.gpu_of[vgpu] = gpu
        for _ in range(20):
            with open(os.path.join(self.folder_of(gpu), "mdev_supported_types", VGPU_TYPE, "create"), "w") as file:
                file.write(vgpu)
            try:
                self.write(vgpu, "intel_vgpu/initial_cap", cap_pct)
                self.load(vgpu, 8)
                return
            except OSError:
                self.remove(vgpu)
        raise Broken(f"vGPU {vgpu}: its initial cap cannot be set")

    def remove(self, vgpu):
        if os.path.exists(self.path(vgpu, ".")):
            self.write(vgpu, "remove", 1)

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.unmount()


class SimTree:
    """
    The vGPUs of the daemon's own simulated GPUs: the daemon creates them for a contract, and again at each start. Seen from
    outside, they are the records of the cap journal, which may also have a record of a vGPU whose creation was interrupted.
    """

    outside = False

    def __init__(self, _, folder, settings):
        self.settings = settings
        self.journal = os.path.join(folder, "state/caps")
        self.poke = os.path.join(folder, "poke")
        self.gpu_of = {}
        for gpu in PARENTS:
            os.makedirs(os.path.join(self.poke, gpu))

    def config(self):
        return "".join(f"[gpu {gpu}]\nbackend = sim\nroot = {self.poke}/{gpu}\n{self.settings}" for gpu in PARENTS)

    def vgpus(self):
        return list(read_journal(self.journal))

    def cap(self, vgpu):
        """The cap that the daemon would restore, or None while a write is not complete."""
        last, intent = read_journal(self.journal).get(vgpu, (None, None))
        return last if last == intent else None

    def load(self, vgpu, pct):
        """Changes the load until the next start."""
        if vgpu in self.vgpus():
            path = os.path.join(self.poke, self.gpu_of[vgpu], f"{vgpu}.workload")
            with open(path + ".new", "w") as file:
                file.write(f"load:pct={pct}")
            os.rename(path + ".new", path)

    def labels(self):
        return {"workload": "load:pct=8"}

    def create(self, vgpu, gpu, _):
        """The daemon creates the vGPU when it gets a contract."""
        self.gpu_of[vgpu] = gpu

    def remove(self, _):
        """The daemon removes the vGPU with its contract."""

    def close(self):
        pass


def read_journal(path):
    """The caps file: {id: (last, intent)}. Something else with its name has no records."""
    journal = {}
    if not os.path.isfile(path):
        return journal
    try:
        with open(path) as file:
            for line in file:
                words = line.split()
                if len(words) == 3:  # of two records, the daemon uses the first one
                    journal.setdefault(words[0], (int(words[1]), int(words[2])))
    except (OSError, ValueError):
        pass
    return journal
