# SPDX-License-Identifier: MIT
# Withdrawals of offers against claims on hosts with the real gover-d and gover-fleet (machine.py), with kills of both and of Placement
# in between. In a round, a host sells or stops selling, servers end, and buyers allocate a slot in Placement and start a server as Nova
# and libvirt do. After the round, everything runs again, and the books of Placement, gover-d and libvirt must agree.
import http.client
import random
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

from machine import CLASS, Machine
from rounds import deal

BUYERS, SERVERS_MAX = 3, 4
# Of DECK rounds of a host one after the other, so many have a kill, in a random order.
DECK, KILLS = 10, {"gover-d": 2, "gover-fleet": 1, "both": 1, "Placement": 1}
SETTLE_S, ANSWER_S = 90, 60
NO_ANSWER = (OSError, http.client.HTTPException, ValueError, KeyError, TypeError)


class Cloud:
    """Placement for several hosts: one of them kills it, and all of them wait until it is back."""

    def __init__(self, placement):
        self.placement, self.lock = placement, threading.Lock()

    def kill(self):
        with self.lock:
            self.placement.kill()
            self.placement.start()

    def insist(self, call):
        """Repeats a request until Placement answers."""
        end = time.monotonic() + ANSWER_S
        while True:
            try:
                return call()
            except NO_ANSWER:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)


class Trade:
    """The rounds of one host."""

    def __init__(self, cloud, number, seed):
        self.cloud, self.machine = cloud, Machine(cloud.placement, number)
        self.random = random.Random(seed * 1000 + number)
        self.pool = ThreadPoolExecutor(BUYERS + 2)
        self.servers = set()  # that run
        self.problems = []
        self.done, self.granted, self.refused, self.started, self.ended, self.withdrawn, self.longest_s = 0, 0, 0, 0, 0, 0, 0.0
        self.kills, self.cards = dict.fromkeys(KILLS, 0), deal(self.random, DECK, KILLS)

    # --- servers ---

    def allocate(self, provider, server):
        """As Nova's scheduler. Returns true if the server has a slot, also if the answer was lost."""
        body = {"allocations": {provider: {"resources": {CLASS: 1}}}, "project_id": "p", "user_id": "u", "consumer_generation": None}
        placement = self.cloud.placement
        try:
            while True:
                status, reply = placement.call("PUT", f"/allocations/{server}", body)
                if status != 409 or reply["errors"][0]["code"] != "placement.concurrent_update":
                    return status == 204
        except NO_ANSWER:
            return bool(self.cloud.insist(lambda: placement.call("GET", f"/allocations/{server}")[1]["allocations"]))

    def deallocate(self, server):
        self.cloud.insist(lambda: self.cloud.placement.call("DELETE", f"/allocations/{server}"))

    def buy(self, provider, delay_s, with_specs):
        """Returns the server, if it runs."""
        server = str(uuid.uuid4())
        time.sleep(delay_s)
        if not self.allocate(provider, server):
            self.refused += 1
            return None
        self.granted += 1
        if self.machine.start_server(server, with_specs):
            self.started += 1
            return server
        # Nova removes the allocation of a server that could not start, and tries another host
        self.machine.end_server(server)
        self.deallocate(server)
        return None

    def remove(self, server):
        self.machine.end_server(server)
        self.deallocate(server)
        self.ended += 1

    # --- a round ---

    def kill(self, name, delay_s, withdraws):
        """Kills programs and starts them again."""
        time.sleep(delay_s)
        self.kills[name] += 1
        if name == "Placement":
            return self.cloud.kill()
        names = ("gover-d", "gover-fleet") if name == "both" else (name,)
        for one in names:
            self.machine.kill(one)
        if "gover-fleet" in names and withdraws:
            self.machine.withdraw()
        if "gover-d" in names:
            self.machine.start_gover()
        if "gover-fleet" in names:
            self.machine.start_fleet()
        return None

    def trade(self, provider):
        draw, tasks = self.random, []
        buyers = [self.pool.submit(self.buy, provider, draw.uniform(0, 0.3), draw.random() < 0.5) for _ in range(BUYERS)]
        kill = next(self.cards)
        moment_s, withdraws = draw.uniform(0, 0.4), draw.random() < 0.5
        if kill:
            tasks.append(self.pool.submit(self.kill, kill, moment_s, withdraws))
        ending = sorted(self.servers)
        draw.shuffle(ending)
        ending = ending[:max(len(ending) - SERVERS_MAX, draw.randint(0, 2))]
        time.sleep(draw.uniform(0, 0.3))
        if draw.random() < 0.5:
            self.withdrawn += 1
            self.machine.sell(False)
        for server in ending:
            self.remove(server)
            self.servers.discard(server)
        for task in tasks:
            task.result()
        self.servers.update(server for server in (buyer.result() for buyer in buyers) if server)

    def run(self, number):
        machine = self.machine
        self.sell_until_open()
        self.trade(self.cloud.insist(machine.provider))
        begun, difference = time.monotonic(), "?"
        while difference and time.monotonic() - begun < SETTLE_S:
            difference = self.cloud.insist(self.compare)
            if difference:
                time.sleep(0.2)
        self.longest_s = max(self.longest_s, time.monotonic() - begun)
        self.done += 1
        if difference:
            self.problems.append(f"{machine.name}, round {number}: {difference}")

    def sell_until_open(self):
        """Waits until Placement has a slot of this host to sell."""
        end = time.monotonic() + SETTLE_S
        self.machine.sell(True)
        while time.monotonic() < end:
            total, used, _ = self.cloud.insist(self.machine.slots)
            if total > used:
                return
            time.sleep(0.1)
        raise RuntimeError(f"{self.machine.name}: no offer in Placement after {SETTLE_S} s")

    def compare(self):
        """Returns a difference of the books, or None. Books that are read while something changes may differ for a moment."""
        machine = self.machine
        contracts, offers, domains = machine.contracts(), machine.offers(), machine.domains()
        total, used, servers = machine.slots()
        claimed = [offer["vgpu"] for offer in offers if offer.get("vgpu") in contracts]
        opened = sum(offer["state"] == "open" for offer in offers)
        if not set(contracts) == domains == servers == self.servers:
            return f"contracts {sorted(contracts)}, domains {sorted(domains or ())}, Placement {sorted(servers)}, servers {sorted(self.servers)}"
        if used > total or total != len(contracts) + opened:
            return f"Placement: {used} of {total} used; {len(contracts)} contracts, {opened} open offers"
        if sorted(claimed) != sorted(contracts):
            return f"contracts {sorted(contracts)}, but offers were sold to {sorted(claimed)}"
        doubts = [name for name, one in contracts.items() if one["labels"].get("unverified")]
        return f"unverified: {doubts}" if doubts else None

    def close(self):
        self.pool.shutdown()
        self.machine.close()


class Trades:
    """The rounds of several hosts at the same time."""

    def __init__(self, placement, number, seed):
        self.cloud = Cloud(placement)
        self.trades = [Trade(self.cloud, each + 1, seed) for each in range(number)]

    def run(self, rounds):
        with ThreadPoolExecutor(len(self.trades)) as pool:
            for done in [pool.submit(self.run_one, trade, rounds) for trade in self.trades]:
                done.result()

    @staticmethod
    def run_one(trade, rounds):
        trade.machine.start()
        for number in range(rounds):
            trade.run(number)

    def sum(self, name):
        return sum(getattr(trade, name) for trade in self.trades)

    def longest_s(self):
        return max(trade.longest_s for trade in self.trades)

    def kills(self):
        return {name: sum(trade.kills[name] for trade in self.trades) for name in KILLS}

    def problems(self):
        return [problem for trade in self.trades for problem in trade.problems]

    def close(self):
        for trade in self.trades:
            trade.close()
