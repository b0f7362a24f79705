# SPDX-License-Identifier: MIT
# Placement is away, on hosts with the real gover-d and gover-fleet (machine.py). One host has a steady load, and nothing may change its
# caps. On another one, a promise breaks during that time, and no migration may be asked for. On the third one, servers start that have
# an allocation: they get contracts that are unverified until Placement is back.
import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor

from machine import CLASS, Machine, until

SERVER = "aaaaaaaa-0000-4000-8000-000000000001"  # of fake-nova.py
STEADY = (("a", 40), ("b", 30))
FIRST = 900  # number of the first host
BEFORE_S, AFTER_S = 2, 3
READY_S, RETURN_S = 60, 60


class Nova:
    """fake-nova.py, and the migrations that it was asked for."""

    def __init__(self, folder):
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake-nova.py")
        self.process = subprocess.Popen([sys.executable, program, os.path.join(folder, "nova.sock")], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{int(self.process.stdout.readline())}"

    def asked(self):
        """The number of migrations that were asked for."""
        with urllib.request.urlopen(f"{self.url}/_log", timeout=30) as reply:
            log = json.load(reply)["log"]
        return sum(one["method"] == "POST" and one["path"].endswith("/action") for one in log)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Caps:
    """Reads the caps of a host all the time, and keeps each set of them with the time of its first sight."""

    def __init__(self, machine):
        self.machine, self.seen, self.stopped = machine, {}, threading.Event()
        self.thread = threading.Thread(target=self.follow, daemon=True)
        self.thread.start()

    def follow(self):
        while not self.stopped.wait(0.1):
            vgpus = (self.machine.get("/v1/vgpus") or {}).get("vgpus")
            if vgpus:
                self.seen.setdefault(tuple(sorted((one["id"], one["cap_pct"]) for one in vgpus)), time.monotonic())

    def stop(self):
        self.stopped.set()
        self.thread.join()
        return list(self.seen)


class Outage:
    def __init__(self, cloud):
        self.cloud, self.nova = cloud, Nova(cloud.folder)
        self.steady = Machine(cloud, FIRST, libvirt=False)
        self.broken = Machine(cloud, FIRST + 1, libvirt=False, by="nova", cloud=f"compute_url = {self.nova.url}")
        self.selling = Machine(cloud, FIRST + 2)
        self.machines = (self.steady, self.broken, self.selling)

    # --- before ---

    def prepare(self):
        with ThreadPoolExecutor(len(self.machines)) as pool:
            for started in [pool.submit(machine.start) for machine in self.machines]:
                started.result()
        for machine in self.machines:
            until(lambda machine=machine: machine.slots()[0] > 0, READY_S, f"capacity of {machine.name}")
        for name, cap_pct in STEADY:
            self.steady.ask("POST", "/v1/vgpus", {"id": name, "initial_cap_pct": cap_pct, "target_fps": 30,
                                                  "labels": {"workload": "frame:gpu_ms=8,cpu_ms=4,fps_max=31"}})
        # three contracts that would overload the GPU if their caps were not held
        sell = self.broken.ask
        sell("POST", "/v1/vgpus", {"id": "a", "initial_cap_pct": 100, "labels": {"workload": "busy"}})
        sell("PATCH", "/v1/vgpus/a", {"held": True, "held_cap_pct": 20})
        sell("POST", "/v1/vgpus", {"id": SERVER, "initial_cap_pct": 80, "vm": "instance-1",
                                   "labels": {"workload": "busy", "fleet": "libvirt", "domain": SERVER}})
        sell("PATCH", f"/v1/vgpus/{SERVER}", {"held": True, "held_cap_pct": 60})
        sell("POST", "/v1/vgpus", {"id": "c", "initial_cap_pct": 60, "labels": {"workload": "idle"}})
        until(lambda: self.broken.slots()[0] == 1, READY_S, f"the contract of {self.broken.name} in Placement")
        self.allocate(self.broken, SERVER)
        until(lambda: self.published() == {"published"}, READY_S, "three hosts published")

    def allocate(self, machine, server):
        body = {"allocations": {machine.provider(): {"resources": {CLASS: 1}}}, "project_id": "p", "user_id": "u",
                "consumer_generation": None}
        until(lambda: self.cloud.call("PUT", f"/allocations/{server}", body)[0] == 204, READY_S, "an allocation")

    def published(self):
        return {(machine.get("/v1/fleet") or {}).get("state") for machine in self.machines}

    # --- while Placement is away ---

    def overload(self):
        """Releases the held caps, so that a promise breaks."""
        for name in ("a", SERVER):
            self.broken.ask("PATCH", f"/v1/vgpus/{name}", {"held": False})
        until(lambda: any(one["name"] == "severe_overload" and one["vgpu"] == SERVER
                          for one in (self.broken.get("/v1/alerts") or {"alerts": []})["alerts"]), READY_S, "a severe overload")

    def unverified(self):
        return {name for name, one in self.selling.contracts().items() if one["labels"].get("unverified")}

    @staticmethod
    def changes(machine, after):
        """The decisions of gover-d that moved a cap since a time."""
        found = (machine.get("/v1/decisions?limit=1000") or {"decisions": []})["decisions"]
        return [one["why"] for one in found if one["moves"] and one["time"] > after]

    def run(self, seconds, ok, figure):
        self.prepare()
        caps, server = Caps(self.steady), str(uuid.uuid4())
        time.sleep(BEFORE_S)
        self.allocate(self.selling, server)
        before = list(caps.seen)
        clock = self.steady.get("/v1/host")["time"]
        self.cloud.kill()
        begun = time.monotonic()
        self.overload()
        # An idle host makes one request a minute. Without a sale it has something to publish, and notices.
        self.steady.sell(False)
        ok("while Placement is away, an offer is still sold to a server with an allocation",
           self.selling.start_server(server, True) and self.unverified() == {server}, [str(self.selling.contracts())])
        time.sleep(max(0.0, seconds - (time.monotonic() - begun)))
        until(lambda: self.published() == {"unreachable"}, READY_S, "three hosts that know that Placement is away")
        # so that the other hosts have room for a migration from the first moment on
        self.steady.sell(True)
        until(lambda: self.steady.offers("open"), READY_S, f"an offer of {self.steady.name}")
        away_s, asked = time.monotonic() - begun, self.nova.asked()
        broken = [one["id"] for one in self.broken.get("/v1/vgpus")["vgpus"] if one["broken"] or one["state"] == "overloaded"]
        self.cloud.start()
        back = time.monotonic()
        self.come_back(back, figure, away_s)
        ok("each gover-d knows that Placement is away", True)
        ok("no migration is asked for while Placement is away, although a promise is broken", asked == 0 and broken,
           [f"{asked} asked", f"broken: {broken}"])
        time.sleep(AFTER_S)
        seen, changes = caps.stop(), self.changes(self.steady, clock)
        ok("Placement's absence and return change no cap of a steady load", len(before) == 1 and seen == before and not changes,
           [f"before: {before}", f"all: {seen}", *changes])
        total, used, servers = self.selling.slots()
        contracts = self.selling.contracts()
        ok("afterwards, contracts and allocations agree", set(contracts) == servers == {server} and used == 1 and
           total == 1 + len(self.selling.offers("open")), [f"{sorted(contracts)}, {servers}, {used} of {total}"])

    def come_back(self, back, figure, away_s):
        """Waits for each thing that has to follow the return, and prints its time."""
        for text, goal, condition in (
                ("the three hosts are published", "10 s", lambda: self.published() == {"published"}),
                ("the overload is a trait", None, lambda: "CUSTOM_GOVER_OVERLOADED" in self.broken.traits()),
                ("the contract is verified", "10 s", lambda: not self.unverified()),
                ("the migration is asked for", None, lambda: self.nova.asked() == 1)):
            until(condition, RETURN_S, text)
            figure(f"real gover-d and gover-fleet, Placement away for {away_s:.0f} s: {text}",
                   f"{time.monotonic() - back:.1f} s after its first answer", goal)

    def close(self):
        for machine in self.machines:
            machine.close()
        self.nova.close()
