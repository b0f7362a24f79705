# SPDX-License-Identifier: MIT
# The record of a story: a log with times, TAP lines, figures, and samples for the picture.
import csv
import os
import threading
import time

import api
import gover

GOVER_EVERY_S, PLACEMENT_EVERY_S = 0.25, 0.5


class Record:
    def __init__(self, out):
        self.out, self.begun = out, time.time()
        self.number, self.failed, self.figures = 0, 0, []

    def seconds(self, at=None):
        return (at or time.time()) - self.begun

    def log(self, text, at=None):
        """A line of the log, at the time of the event if that was earlier."""
        print(f"# {self.seconds(at):7.2f} s  {text}", flush=True)

    def mark(self, host, text, at=None):
        """A line of the log that is also in the picture; host: 1, 2, or 0 for both."""
        with open(os.path.join(self.out, "marks.tsv"), "a", encoding="utf-8") as file:
            file.write(f"{self.seconds(at):.2f}\t{host}\t{text}\n")
        self.log((f"host{host}: " if host else "") + text, at)

    def ok(self, text, passed, why=""):
        self.number += 1
        self.failed += not passed
        print(f"{'ok' if passed else 'not ok'} {self.number} - {text}", flush=True)
        if not passed and why:
            print(f"# {why}", flush=True)
        return passed

    def figure(self, name, seconds):
        self.figures.append((name, seconds))

    def finish(self):
        for name, seconds in self.figures:
            print(f"# {name:<45} {seconds * 1000:>7.0f} ms")
        print(f"1..{self.number}\n{self.number - self.failed} passed, {self.failed} failed", flush=True)
        return self.failed == 0


class Sampler:
    """Writes the state of each host in gover-d to hosts.tsv and in Placement to slots.tsv, and the frame rates to servers.tsv."""

    HOSTS = ("seconds", "host", "util_pct", "contracts", "offers")
    SLOTS = ("seconds", "host", "offered", "sold")
    SERVERS = ("seconds", "host", "server", "fps", "target_fps")

    def __init__(self, record, hosts, resource_class, names):
        self.record, self.hosts, self.resource_class, self.names = record, hosts, resource_class, names
        self.admin, self.stopped = api.Session(), threading.Event()
        self.threads = [threading.Thread(target=one, daemon=True) for one in (self.read_gover, self.read_placement)]
        for thread in self.threads:
            thread.start()

    def table(self, name, columns):
        file = open(os.path.join(self.record.out, name), "w", encoding="utf-8", newline="", buffering=1)
        rows = csv.writer(file, "excel-tab", lineterminator="\n")
        rows.writerow(columns)
        return file, rows

    def read_gover(self):
        hosts_file, hosts = self.table("hosts.tsv", self.HOSTS)
        servers_file, servers = self.table("servers.tsv", self.SERVERS)
        with hosts_file, servers_file:
            while not self.stopped.wait(GOVER_EVERY_S):
                for host in self.hosts:
                    at, vgpus = f"{self.record.seconds():.2f}", gover.vgpus(host)
                    gpus = gover.get(host, "/v1/gpus").get("gpus") or [{}]
                    hosts.writerow((at, host.number, gpus[0].get("util_pct") or 0, len(vgpus), len(gover.offers(host))))
                    for one in vgpus:
                        fps = "NaN" if one["fps"] is None else one["fps"]
                        servers.writerow((at, host.number, self.names.get(one["id"], one["id"]), fps, one["target_fps"]))

    def read_placement(self):
        """Less often, because its answers cost as much as those that the test measures."""
        file, slots = self.table("slots.tsv", self.SLOTS)
        with file:
            while not self.stopped.wait(PLACEMENT_EVERY_S):
                for host in self.hosts:
                    slots.writerow((f"{self.record.seconds():.2f}", host.number, *self.slots(host)))

    def slots(self, host):
        try:
            provider = self.admin.provider(f"{host.name}_gover_gpu0")
            if not provider:
                return 0, 0
            found = self.admin.inventories(provider["uuid"]).get(self.resource_class, {"total": 0, "reserved": 0})
            used = self.admin.usages(provider["uuid"]).get(self.resource_class, 0)
            return found["total"] - found["reserved"], used
        except api.Refused:
            return "NaN", "NaN"

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join()
