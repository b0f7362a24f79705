# SPDX-License-Identifier: MIT
# The GPU programs of the guests. The guests have no GPU, so each server's program is a workload of the simulated GPU of the host on
# which the server has its vGPU: it follows the server at a migration.
import os
import threading
import time

import gover

EVERY_S = 0.05


class Guests:
    def __init__(self, hosts):
        self.hosts, self.lock = hosts, threading.Lock()
        self.wanted, self.running = {}, {}
        threading.Thread(target=self.follow, daemon=True).start()

    def draw(self, server, workload):
        """The program of the server draws like this from now on (sim/model/workload.h)."""
        with self.lock:
            self.wanted[server] = workload
            for place in [each for each in self.running if each[1] == server]:
                del self.running[place]

    def follow(self):
        while True:
            for host in self.hosts:
                vgpus = {each["id"] for each in gover.vgpus(host)}
                with self.lock:
                    for place in [each for each in self.running if each[0] == host.name and each[1] not in vgpus]:
                        del self.running[place]
                    for server in vgpus & set(self.wanted):
                        if self.running.get((host.name, server)) != self.wanted[server]:
                            self.write(host, server, self.wanted[server])
                            self.running[host.name, server] = self.wanted[server]
            time.sleep(EVERY_S)

    @staticmethod
    def write(host, server, workload):
        path = host.path(f"/run/gover/gpu0/{server}.workload")
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(workload + "\n")
        os.rename(path + ".new", path)
