# SPDX-License-Identifier: MIT
# The GPU programs of the guests. The guests have no GPU, so each server's program is a workload of the simulated GPU of the host on
# which libvirt runs the server: it follows the server at a migration.
import os
import threading
import time

import gover

EVERY_S, IDLE = 0.05, "idle"


class Guests:
    def __init__(self, hosts):
        self.hosts, self.lock = hosts, threading.Lock()
        self.wanted = {}  # workload by server
        self.running = {}  # workload by host and vGPU
        threading.Thread(target=self.follow, daemon=True).start()

    def draw(self, server, workload):
        """The program of the server draws like this from now on (sim/model/workload.h)."""
        with self.lock:
            self.wanted[server] = workload

    def follow(self):
        while True:
            for host in self.hosts:
                vgpus = {each["id"]: each["vm"] for each in gover.vgpus(host)}
                with self.lock:
                    wanted = dict(self.wanted)
                for place in [each for each in self.running if each[0] == host.name and each[1] not in vgpus]:
                    del self.running[place]
                for server, domain in vgpus.items():
                    workload = wanted.get(server, IDLE) if host.events.is_running(domain) else IDLE
                    if self.running.get((host.name, server), IDLE) != workload:
                        self.write(host, server, workload)
                        self.running[host.name, server] = workload
            time.sleep(EVERY_S)

    def forget(self, host):
        """The GPU of the host is new."""
        for place in [each for each in self.running if each[0] == host.name]:
            self.running.pop(place, None)

    @staticmethod
    def write(host, server, workload):
        path = host.path(f"/run/gover/gpu0/{server}.workload")
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(workload + "\n")
        os.rename(path + ".new", path)
