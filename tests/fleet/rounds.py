# Withdrawals of offers against buyers of them, with kills of the publisher and of Placement in between. A round is one host
# that offers SLOTS slots: BUYERS buyers allocate one slot each while the host publishes another number of offers. Each
# round is judged by what Placement granted, and all rounds together by the database.
import http.client
import random
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

from hosts import SLOT, Hosts

CLASS = SLOT + "50"
SLOTS, BUYERS = 2, 4
# Of DECK rounds one after the other, so many have a kill, in a random order.
DECK, KILLS = 75, {"publisher": 6, "worker of Placement": 2, "Placement": 1}


def deal(random_number, deck, kills):
    """Yields the program to kill in each round, or None."""
    while True:
        cards = [name for name, number in kills.items() for _ in range(number)]
        cards += [None] * (deck - len(cards))
        random_number.shuffle(cards)
        yield from cards


BUY_LIMIT_S = 60
BUY_TRIES = 50


class Rounds:
    def __init__(self, placement, hosts, threads, seed):
        self.placement, self.hosts, self.threads = placement, hosts, threads
        self.random = random.Random(seed)
        self.buyers = ThreadPoolExecutor(BUYERS)
        rows = placement.sql("select name, uuid from resource_providers where name like 'host-%\\_gover\\_gpu0'")
        self.providers = {int(name[5:9]): number for name, number in rows}
        self.sold, self.totals = {}, {}  # of each host that had a round
        self.problems, self.refused, self.granted = [], 0, 0
        self.kills, self.cards = dict.fromkeys(KILLS, 0), deal(self.random, DECK, KILLS)

    def buy(self, provider):
        """Allocates one slot as Nova does. Returns the number of slots that it got, normally 0 or 1."""
        lost, until = [], time.monotonic() + BUY_LIMIT_S
        while time.monotonic() < until:
            consumer = str(uuid.uuid4())
            try:
                granted = self.allocate(provider, consumer)
            except (OSError, http.client.HTTPException, ValueError):
                # A killed worker may leave the consumer without allocations, and Placement then refuses this consumer. So the
                # next try is made by another one, and the slots of both are counted.
                lost.append(consumer)
                time.sleep(0.05)
                if not self.allocated(consumer):
                    continue
                granted = False
            return granted + sum(self.allocated(consumer) for consumer in lost)
        raise RuntimeError("a buyer got no answer")

    def allocate(self, provider, consumer):
        body = {"allocations": {provider: {"resources": {CLASS: 1}}}, "project_id": "p", "user_id": "u",
                "consumer_generation": None}
        for _ in range(BUY_TRIES):
            status, reply = self.placement.call("PUT", f"/allocations/{consumer}", body)
            if status == 204:
                return True
            if status != 409:
                raise ValueError(f"HTTP status {status}")
            if reply["errors"][0]["code"] != "placement.concurrent_update":
                return False
        raise ValueError("always a concurrent update")

    def allocated(self, consumer):
        """Returns true if the consumer has a slot. Waits until Placement answers."""
        until = time.monotonic() + BUY_LIMIT_S
        while time.monotonic() < until:
            try:
                return bool(self.placement.call("GET", f"/allocations/{consumer}")[1]["allocations"])
            except (OSError, http.client.HTTPException, ValueError, KeyError):
                time.sleep(0.05)
        raise RuntimeError("Placement does not answer")

    def used(self, provider):
        return self.placement.call("GET", f"/resource_providers/{provider}/usages")[1]["usages"].get(CLASS, 0)

    def restart_hosts(self):
        self.hosts.kill()
        self.hosts = Hosts(self.placement.url, self.hosts.number, self.threads)

    def publish(self, host, wanted, kill):
        """Publishes, and kills something at a random moment. Returns the result of the publisher."""
        version = self.hosts.publish(host, host, wanted)
        if kill:
            time.sleep(self.random.uniform(0, 0.03))
            self.kills[kill] += 1
        if kill == "publisher":
            self.restart_hosts()
            version = self.hosts.publish(host, host, wanted)
        elif kill == "worker of Placement":
            self.placement.kill_worker(self.random.choice)
        elif kill == "Placement":
            self.placement.kill()
            self.placement.start()
        results = self.hosts.wait(version, 1)
        return results[0] if results else {"result": None}

    def run(self, host):
        provider, offers, kill = self.providers[host], self.random.choice([0, 0, 1, 3]), next(self.cards)
        trades = [self.buyers.submit(self.buy, provider) for _ in range(BUYERS)]
        time.sleep(self.random.uniform(0, 0.01))
        result = self.publish(host, f"gpu0:50=0+{offers}:-", kill)
        granted = sum(trade.result() for trade in trades)
        used = self.used(provider)
        self.expect(host, result["result"] == 0, f"published: {result}")
        self.expect(host, granted == used, f"{granted} granted, {used} allocated")
        self.expect(host, used <= max(SLOTS, offers), f"{used} sold, {max(SLOTS, offers)} offered")
        late = self.buy(provider)
        self.expect(host, late == (used < offers), f"a buyer after the withdrawal to {offers} with {used} sold: {late}")
        used += late
        left = max(0, offers - used)
        result = self.publish(host, f"gpu0:50={used}+{left}:-", None)
        self.expect(host, result["result"] == 0 and result["used"] == used and result["leaks"] == 0, f"claimed: {result}")
        self.granted += used
        self.refused += BUYERS + 1 - used
        self.sold[host], self.totals[host] = used, used + left

    def oversell(self, host):
        """
        Lets the buyers buy at the same time while nothing else happens. Returns whether Placement allocated more than the
        total, and whether the publisher reports that.
        """
        provider, sold = self.providers[host], self.sold.get(host, 0)
        self.hosts.run(f"publish {host} {host} 0 0 - gpu0:50={sold}+{SLOTS}:-")
        trades = [self.buyers.submit(self.buy, provider) for _ in range(BUYERS)]
        self.sold[host] = sold + sum(trade.result() for trade in trades)
        result = self.hosts.run(f"check {host} {host} 0")[0]
        return self.used(provider) > sold + SLOTS, result["leaks"] > 0

    def expect(self, host, condition, text):
        if not condition:
            self.problems.append(f"host {host}: {text}")

    def compare_database(self):
        """Returns differences between what buyers and hosts know and the database."""
        rows = self.placement.sql(
            "select p.name, i.total - i.reserved, (select coalesce(sum(a.used), 0) from allocations a where "
            "a.resource_provider_id = p.id) from resource_providers p join inventories i on i.resource_provider_id = p.id "
            "where p.name like 'host-%'")
        found = {int(name[5:9]): (int(total), int(used)) for name, total, used in rows}
        return [f"host {host}: total and sold {found.get(host)}, not {(self.totals[host], self.sold[host])}"
                for host in self.sold if found.get(host) != (self.totals[host], self.sold[host])]

    def close(self):
        self.buyers.shutdown()
