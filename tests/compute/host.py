# SPDX-License-Identifier: MIT
# One compute device under test: the device double or another OpenCL device, gover-arbiter, and tenants in control groups of
# their own. Times are in seconds, device times in ns. Waits are for events, with a generous limit.
import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HIERARCHIES = ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup")
READY_S = 60  # generous limit of each wait


class Broken(Exception):
    """The host cannot go on: a program does not start or does not answer."""


class Missing(Exception):
    """Something that the tests need does not exist on this machine."""


def until(condition, limit_s=READY_S, pause_s=0.005):
    """Polls until the condition holds. Returns its last value."""
    end = time.monotonic() + limit_s
    while True:
        value = condition()
        if value or time.monotonic() >= end:
            return value
        time.sleep(pause_s)


def clean_up_on_term():
    """SIGTERM ends this program like an error, so that it removes its programs and control groups."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))


def hierarchy():
    """The control group hierarchy by which gover-arbiter tells tenants apart, if it is writable."""
    for path in HIERARCHIES:
        if os.access(os.path.join(path, "cgroup.procs"), os.W_OK):
            return path
    raise Missing("no writable control group")


def values(words):
    """The words NAME=VALUE, numbers as integers."""
    pairs = (word.split("=", 1) for word in words if "=" in word)
    return {name: int(value) if value.isdigit() else value for name, value in pairs}


def run_delay_ns(pid):
    """Time that the threads of a process were ready to run and did not run."""
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        try:
            with open(path) as file:
                total += int(file.read().split()[1])
        except (OSError, IndexError):
            pass  # the thread has ended
    return total


def stolen_ns():
    """CPU time that the hypervisor gave to other machines."""
    with open("/proc/stat") as file:
        return int(file.readline().split()[8]) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


class Truth:
    """Reads the device double: device() and tenants() as of one instant."""

    def __init__(self, build, state):
        self.process = subprocess.Popen([os.path.join(build, "tests/double-truth"), "--watch", state],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def read(self):
        """Returns the device and {label: tenant}."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        device, tenants = {}, {}
        for line in iter(self.process.stdout.readline, "end\n"):
            if not line:
                raise Broken("double-truth has ended")
            words = line.split()
            if words[0] == "device":
                device = values(words[1:])
            elif words[0] == "tenant":
                tenants[values(words[1:])["label"]] = values(words[1:])
        return device, tenants

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Tenant:
    def __init__(self, name, weight=1, cap=0, us=1000.0, options=()):
        self.name, self.weight, self.cap, self.us = name, weight, cap, us
        self.options = list(options)
        self.process = None
        self.starts = 0

    def send(self, number):
        self.process.send_signal(number)

    def end(self, number=signal.SIGKILL):
        """Ends the program with a signal and returns its exit status."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(READY_S)
        except subprocess.TimeoutExpired:
            raise Broken(f"tenant {self.name} did not end") from None


class Host:
    """A device and its tenants. @device: environment of the OpenCL device; None: the device double."""

    def __init__(self, build, name, discipline="fair", device=None, arbiter_prefix=(), tenant_prefix=()):
        self.build, self.discipline = os.path.abspath(build), discipline
        base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.group = f"gover-test-{os.getpid()}-{name}"
        self.root = os.path.join(hierarchy(), self.group)
        self.folder = tempfile.mkdtemp(prefix="gover-compute.", dir=base)
        self.socket = os.path.join(self.folder, "socket")
        self.state = os.path.join(self.folder, "double")
        self.arbiter_prefix, self.tenant_prefix = list(arbiter_prefix), list(tenant_prefix)
        self.tenants, self.arbiter, self.truth, self.others = [], None, None, []
        # A program without a sanitizer cannot load a library that was built with a sanitizer.
        plain = self.build[:-5] if self.build.endswith(("/asan", "/tsan")) else self.build
        self.layer = os.path.join(plain, "libgover-cl.so")
        self.environment = {name: value for name, value in os.environ.items()
                            if name not in ("OPENCL_LAYERS", "GOVER_CL") and not name.startswith("GOVER_DOUBLE")}
        self.on_double = device is None
        self.environment.update(device if device is not None else
                                {"OCL_ICD_VENDORS": os.path.join(self.build, "libgover-double.so"), "GOVER_DOUBLE": self.state})
        if not os.path.exists(self.layer):
            raise Missing("libgover-cl.so was not built: no OpenCL headers")
        try:
            os.mkdir(self.root)
        except OSError as error:
            raise Missing(f"no control group can be created: {error.strerror}") from None
        if self.on_double:
            self.truth = Truth(self.build, self.state)

    # --- the arbiter ---

    def start_arbiter(self):
        with open(os.path.join(self.folder, "arbiter.log"), "a") as log:
            command = [os.path.join(self.build, "gover-arbiter"), "--socket", self.socket, "--discipline", self.discipline]
            self.arbiter = subprocess.Popen(self.arbiter_prefix + command, stderr=log)
        if not until(lambda: self.control("device", check=False)):
            raise Broken("gover-arbiter does not answer")

    def adopt_tenants(self):
        """Adds all tenants to an arbiter that has just started."""
        for tenant in self.tenants:
            self.control("add", self.path(tenant), f"weight={tenant.weight}", f"cap={tenant.cap}")

    def path(self, tenant):
        return f"/{self.group}/{tenant.name}"

    def control(self, *words, check=True):
        command = [os.path.join(self.build, "tests/compute-ctl"), self.socket, *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=READY_S)
        if check and done.returncode != 0:
            raise Broken(f"compute-ctl {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout if done.returncode == 0 else ""

    def accounts(self):
        """What the arbiter has counted, by the name of the tenant; others: None."""
        rows = (values(line.split()) for line in self.control("list").splitlines())
        prefix = f"/{self.group}/"
        return {row["group"][len(prefix):] if row["group"].startswith(prefix) else None: row for row in rows}

    # --- tenants ---

    def add(self, tenant):
        os.mkdir(os.path.join(self.root, tenant.name))
        self.tenants.append(tenant)
        if self.arbiter:
            self.control("add", self.path(tenant), f"weight={tenant.weight}", f"cap={tenant.cap}")

    def add_anew(self, tenant):
        """Removes the tenant from the arbiter and adds it again, with new totals."""
        self.control("remove", str(self.accounts()[tenant.name]["index"]))
        self.control("add", self.path(tenant), f"weight={tenant.weight}", f"cap={tenant.cap}")

    def spawn(self, tenant, command, layer=True, **environment):
        """Starts a program in the control group of the tenant."""
        into = ["/bin/sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', os.path.join(self.root, tenant.name)]
        ours = {"GOVER_DOUBLE_LABEL": tenant.name, "GOVER_CL": f"unix:{self.socket}"}
        if layer:
            ours["OPENCL_LAYERS"] = self.layer
        with open(os.path.join(self.folder, f"{tenant.name}.err"), "a") as log:
            return subprocess.Popen(into + self.tenant_prefix + command, stdout=subprocess.PIPE, stderr=log, text=True,
                                    env={**self.environment, **ours, **environment})

    def start(self, tenant, seconds=100000, layer=True):
        tenant.starts += 1
        program = [os.path.join(self.build, "tests/cl-tenant"), "--seconds", str(seconds), "--us", str(tenant.us)]
        tenant.process = self.spawn(tenant, program + tenant.options, layer)

    def launches(self, tenant):
        return self.truth.read()[1].get(tenant.name, {}).get("launches", 0)

    def pids(self):
        processes = [self.arbiter] + [tenant.process for tenant in self.tenants]
        return [process.pid for process in processes if process and process.poll() is None]

    def log_tail(self):
        text = ""
        for path in sorted(glob.glob(os.path.join(self.folder, "*.log")) + glob.glob(os.path.join(self.folder, "*.err"))):
            with open(path, errors="replace") as file:
                text += "".join(f"{os.path.basename(path)}: {line}" for line in file.readlines()[-4:])
        return text

    def close(self):
        for process in [tenant.process for tenant in self.tenants] + self.others + [self.arbiter]:
            if process and process.poll() is None:
                process.kill()
                process.wait()
        if self.truth:
            self.truth.close()
        for tenant in self.tenants:
            until(lambda path=os.path.join(self.root, tenant.name): remove_group(path), 5)
        remove_group(self.root)
        shutil.rmtree(self.folder, ignore_errors=True)


def remove_group(path):
    try:
        os.rmdir(path)
    except OSError:
        return not os.path.exists(path)
    return True
