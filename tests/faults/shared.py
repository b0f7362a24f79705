# SPDX-License-Identifier: MIT
# A second daemon on a host whose GPU is shared by the programs of control groups (backend drm, tests/truth/drm-host.py). The
# faults make its source see no program. The daemon advises sales here and opens no offers.
import errno
import os
import subprocess
import sys
import time

import page as at
import rest
import world as worlds
from attempt import ALERT_S
from scene import LOOK_S, POLICIES, SHORT
from tree import READY_S, Broken, until

RIGHT, OTHER = "0000:03:00.0", "0000:04:00.0"
LOAD = 0.48  # of each of the two groups: no policy can sell
LATE = "too long for a period"  # a busy machine is another reason for telemetry_stale
# Periods until a process with a file of the GPU is searched again. Advice needs calm periods, so none may come even before.
SEARCHED = 8
HOST = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "truth/drm-host.py")

CONFIG = """[daemon]
socket = {folder}/sock
state_dir = {folder}/state
period_ms = 100
[gpu gpu0]
backend = drm
truth = fdinfo
parent = {parent}
proc = {host}/proc
[policy]
name = {policy}
{params}[offer]
flavor_cap_pct = 20
max_vgpus = 8
[fps]
socket = {folder}/fps.sock
"""
# The two contracts fill the GPU; [offer] has the other keys.
PARAMS = {**SHORT, "none_vgpus": 2, "static_ratio": 1}
del PARAMS["probation_s"]


class Shared:
    """The host stays, each attempt gets a new daemon: the same advice is recorded only once a minute."""

    def __init__(self, build, folder):
        self.folder, self.host = folder, os.path.join(folder, "host")
        os.makedirs(self.host)
        self.device = RIGHT
        self.write_programs()
        self.process = subprocess.Popen([sys.executable, HOST, self.host], stderr=subprocess.DEVNULL)
        self.daemon = worlds.Daemon(build, folder)
        self.socket = os.path.join(folder, "sock")
        self.log_at = 0  # size of the log before the last start
        if not until(lambda: os.path.exists(os.path.join(self.host, "proc/200/fd")), READY_S):
            raise Broken("the host with a shared GPU does not exist")

    def close(self):
        if self.daemon.process and self.daemon.ended() is None:
            self.daemon.kill()
        self.process.kill()
        self.process.wait()

    def write_programs(self):
        """Two programs on the GPU self.device."""
        path = os.path.join(self.host, "programs")
        with open(path + ".new", "w") as file:
            file.write(f"device {self.device}\n100 system.slice/a.service 1 {LOAD} 0\n200 system.slice/b.service 2 {LOAD} 0\n")
        os.rename(path + ".new", path)

    def move(self, device):
        self.device = device
        self.write_programs()

    def deny(self):
        """The daemon may not read the descriptors of processes any more."""
        self.daemon.page.arm(at.OPEN, f"{self.host}/proc/[0-9]*/fd*", at.FAIL, error=errno.EACCES)

    # --- the daemon ---

    def get(self, target):
        answer = rest.ask(self.socket, "GET", target)
        if answer.status != 200:
            raise rest.NoAnswer(f"GET {target}: {answer.status}")
        return answer.json()

    def is_ready(self):
        try:
            return rest.ask(self.socket, "GET", "/readyz", timeout=1).status == 200
        except rest.NoAnswer:
            return False

    def start(self, policy, parent):
        """Returns False if the daemon ends at once."""
        self.daemon.page.clear()
        with open(os.path.join(self.folder, "conf"), "w") as file:
            params = "".join(f"{key} = {value}\n" for key, value in PARAMS.items())
            file.write(CONFIG.format(folder=self.folder, host=self.host, parent=parent, policy=policy, params=params))
        return self.run()

    def run(self):
        self.log_at += len(self.log().encode())
        self.daemon.start()
        until(lambda: self.is_ready() or self.daemon.ended() is not None, READY_S)
        return self.daemon.ended() is None

    def stop(self):
        if self.daemon.process and self.daemon.ended() is None:
            self.daemon.stop()

    def log(self):
        """What the daemon has logged since its last start."""
        path = os.path.join(self.folder, "log")
        if not os.path.exists(path):
            return ""
        with open(path, "rb") as file:
            file.seek(self.log_at)
            return file.read().decode(errors="replace")

    def sell(self):
        """Contracts for both groups; they stay when the daemon is started again."""
        for name in ("a", "b"):
            answer = rest.ask(self.socket, "POST", "/v1/vgpus", {"id": name, "gpu": "gpu0", "initial_cap_pct": 50})
            if answer.status not in (200, 201) and name not in self.contracts():
                raise Broken(f"contract of group {name}: {answer.status} {answer.body[:200]!r}")

    def contracts(self):
        return [each["id"] for each in self.get("/v1/vgpus")["vgpus"] if not each["found"]]

    def is_seen(self):
        """True if the daemon reads the use of both programs."""
        try:
            loads = [each["load_pct"] for each in self.get("/v1/vgpus")["vgpus"]]
        except rest.NoAnswer:
            return False
        return len(loads) == 2 and all(load is not None and load > 50 * LOAD for load in loads)

    def begin(self, attempt, parent=RIGHT, deny=None):
        """Starts the daemon with contracts. @deny: "at start" or "later": it has no rights. False: the start is refused."""
        self.attempt, self.named = attempt, False
        self.policy = attempt.policy = POLICIES[attempt.number % len(POLICIES)]
        self.move(RIGHT)
        if not self.start(self.policy, RIGHT):
            raise Broken(f"gover-d does not start on the shared GPU: {self.log()[-500:]}")
        self.sell()
        if not until(self.is_seen, READY_S, 0.05):
            raise Broken("gover-d does not read the use of the shared GPU before the fault")
        self.advised = self.advice()
        self.noticed_at = SEARCHED
        if deny == "later":
            self.noticed_at += self.get("/v1/host")["ticks"]
            self.deny()
            return True
        self.stop()
        if deny:
            self.daemon.page.clear()
            self.deny()
            return self.run()
        return self.start(self.policy, parent)

    # --- the checks, as in scene.Watch ---

    def complain(self, kind, text):
        text = f"{kind}: {self.policy}: {text}"
        if text not in self.attempt.complaints:
            self.attempt.complaints.append(text)

    def watch(self, periods):
        """Looks for some periods, and until the alert is raised."""
        until(lambda: self.look() >= self.noticed_at + periods, 30)
        until(self.sees_alert, ALERT_S)
        if not self.named:
            self.complain("alert", "telemetry_stale is not raised, and the source sees no program")

    def sees_alert(self):
        self.look()
        return self.named

    def advice(self):
        decisions = self.get("/v1/decisions?limit=100")["decisions"]
        return {each["id"] for each in decisions if each["kind"] == "offer"}

    def look(self):
        host = self.get("/v1/host")
        self.named |= any(each["name"] == "telemetry_stale" and LATE not in each["text"] for each in host["alerts"])
        for number in self.advice() - self.advised:
            self.complain("sold", f"decision {number} advises a sale, and the source sees no program")
        if host["ticks"] >= self.noticed_at:
            for vgpu in host["vgpus"]:
                if vgpu["promise"] == "kept":
                    self.complain("kept", f"the promise to {vgpu['id']} is \"kept\", and the source sees no program")
        for vgpu in host["vgpus"]:
            if vgpu["held"]:
                self.complain("held", f"vGPU {vgpu['id']} is on hold, and no client held it")
        time.sleep(LOOK_S)
        return host["ticks"]

    def recover(self, seconds):
        if until(self.is_well, seconds, 0.05) is None:
            host = self.get("/v1/host")
            text = "; ".join(f"alert {each['name']}: {each['text']}" for each in host["alerts"])
            self.complain("not recovered", f"the source sees the programs again, the daemon does not: {text}")
        self.stop()

    def is_well(self):
        if not self.is_seen():
            return False
        host = self.get("/v1/host")
        stale = any(each["name"] in ("telemetry_stale", "vgpu_missing") for each in host["alerts"])
        return not stale and all(each["promise"] == "kept" for each in host["vgpus"])
