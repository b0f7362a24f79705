# SPDX-License-Identifier: MIT
# The story of make check-openstack, on a cloud with two hosts. usage: story.py ROOT OUT [stay]; with "stay", the cloud stays until
# a signal.
import os
import signal
import sys
import time

sys.dont_write_bytecode = True
import api  # noqa: E402
import cloud  # noqa: E402
import gover  # noqa: E402
from cloud import until  # noqa: E402
from commands import Document  # noqa: E402
from guests import Guests  # noqa: E402
from record import Record, Sampler  # noqa: E402

SLOT, OVERLOADED = "CUSTOM_GOVER_SLOT_HALF", "CUSTOM_GOVER_OVERLOADED"
LIGHT, HEAVY = "frame:gpu_ms=4,cpu_ms=4,fps_max=31", "frame:gpu_ms=15,cpu_ms=4,fps_max=31"
SHORT_S, LONG_S = 60, 300
AFTER_S = 5  # in the picture, after the end of the story
UPDATE_S = 12  # nova-compute writes its inventory each 10 s (nova.conf)


class Story:
    def __init__(self, root, out):
        self.record = Record(out)
        self.cloud = cloud.Cloud(root, os.path.join(out, "log"), 2)
        self.first, self.second = self.cloud.hosts
        self.document = Document(out)
        self.admin, self.guests, self.sampler = None, None, None
        self.names = {}  # servers by UUID

    # --- observations ---

    def slots(self, host):
        """The capacity of the class on a host, or nothing."""
        provider = api.answers(self.admin.provider, f"{host.name}_gover_gpu0")
        found = provider and (api.answers(self.admin.inventories, provider["uuid"]) or {}).get(SLOT)
        return found["total"] - found["reserved"] if found else 0

    def traits(self, host):
        provider = api.answers(self.admin.provider, f"{host.name}_gover_gpu0")
        return (api.answers(self.admin.traits, provider["uuid"]) or []) if provider else []

    def candidates(self):
        """The hosts on which Nova could put a server now."""
        query = f"/allocation_candidates?resources={SLOT}:1&required=!{OVERLOADED}"
        found = api.answers(self.admin.call, api.PLACEMENT, "GET", query) or {"provider_summaries": {}}
        return len(found["provider_summaries"])

    def consumers(self, host):
        """The servers that have a slot of a host in Placement."""
        provider = self.admin.provider(f"{host.name}_gover_gpu0")
        if not provider:
            return set()
        return set(self.admin.call(api.PLACEMENT, "GET", f"/resource_providers/{provider['uuid']}/allocations")["allocations"])

    def books(self, host):
        """What gover-d, libvirt and Placement say of a host: three sets of servers."""
        return {one["id"] for one in gover.vgpus(host)}, host.domains(), self.consumers(host)

    def agree(self, text):
        def same():
            return all(len({frozenset(book) for book in self.books(host)}) == 1 for host in self.cloud.hosts)

        try:
            until(same, SHORT_S, "books")
            passed = True
        except cloud.Failed:
            passed = False
        shown = [" = ".join("{" + " ".join(sorted(self.names.get(one, one) for one in book)) + "}" for book in self.books(host))
                 for host in self.cloud.hosts]
        for host, line in zip(self.cloud.hosts, shown):
            self.record.log(f"{host.name}: gover-d = libvirt = Placement: {line}")
        self.record.ok(f"the books of gover-d, libvirt and Placement agree {text}", passed)

    def wait_status(self, server, status, seconds=LONG_S):
        def there():
            found = self.admin.state(server)
            if found[0] == "ERROR" and status != "ERROR":
                raise cloud.Failed(f"server {self.names[server]}: {self.admin.server(server).get('fault', {}).get('message')}")
            return found if found[0] == status else None

        return until(there, seconds, f"server {self.names[server]} {status}")[1]

    # --- the parts ---

    def follow(self, number):
        """Runs the commands of a section of docs/openstack.md."""
        title = self.document.run(number, self.cloud.controller, self.cloud.hosts)
        self.record.ok(f"docs/openstack.md: the commands of section {number} work ({title})", True)

    def first_server(self):
        self.follow("4")
        server = self.admin.find_server("first")
        self.names[server] = "first"
        self.wait_status(server, "ACTIVE", SHORT_S)
        self.agree("after the first server")
        self.follow("5")
        self.agree("after its end")

    def boot(self):
        self.record.log("starting the cloud")
        self.follow("2")
        self.cloud.start_controller(self.record.log)
        self.admin = api.Session()
        self.cloud.start_nova()
        self.follow("1")
        self.cloud.wait_port("the API of Nova", 8774, self.record.log)
        until(lambda: len(api.answers(self.admin.hypervisors) or ()) == 2, LONG_S, "two hypervisors", 0.5)
        self.record.log("Nova knows both hosts")

    def plain(self):
        """Servers without a slot need no contract. They also bring the image to both hosts."""
        self.admin.make_flavor("plain")
        servers = [self.admin.make_server("plain", self.admin.flavor("plain"), host.name) for host in self.cloud.hosts]
        self.names.update((server, "plain") for server in servers)
        for server in servers:
            self.wait_status(server, "ACTIVE")
        self.record.ok("servers of a flavor without a slot start on both hosts, and gover has no contract for them",
                       not any(gover.vgpus(host) for host in self.cloud.hosts))
        for server in servers:
            self.remove(server)

    def remove(self, server):
        self.admin.remove_server(server)
        until(lambda: self.admin.state(server)[0] is None, LONG_S, "the removal of a server", 0.2)

    def hosts(self):
        """gover starts on both hosts; the second one does not sell yet."""
        for host in self.cloud.hosts:
            gover.start(host, until)
        self.second.run("gover-ctl", "drain", "gpu0")
        self.guests = Guests(self.cloud.hosts)
        for host in self.cloud.hosts:
            gover.start_fleet(host)
        offer = until(lambda: next(iter(gover.offers(self.first)), None), SHORT_S, "an offer")
        self.record.mark(1, "offer", gover.clock(offer["created_at"]))
        until(lambda: self.slots(self.first) == 1, SHORT_S, "capacity")
        self.record.ok("the offer of host1 is capacity of its class in Placement", True)

    def order(self, name):
        """Asks Nova for a server whose program draws little."""
        server = self.admin.make_server(name, self.admin.flavor("half-gpu"))
        self.names[server] = name
        self.guests.draw(server, LIGHT)
        return server

    def sell(self, name):
        """A server is asked for. Nova finds the slot, and the hook claims the offer before the guest runs."""
        until(lambda: self.candidates() > 0, LONG_S, "an offer in Placement")
        asked = time.time()
        server = self.order(name)
        self.record.mark(0, f"{name} ordered", asked)
        host = self.wait_status(server, "ACTIVE")
        active = time.time()
        domain = self.admin.domain(server)
        place = next(one for one in self.cloud.hosts if one.name == host)
        vgpu = next((one for one in gover.vgpus(place) if one["id"] == server), None)
        started = place.events.first(domain, "Started")
        self.record.ok(f"Nova puts server {name} on {host}, which has a contract for it", vgpu is not None)
        claimed = gover.clock(vgpu["created_at"]) if vgpu else 0
        self.record.mark(place.number, f"{name}: contract", claimed)
        self.record.log(f"{host}: {name}: the guest starts", started)
        self.record.ok(f"the contract of {name} was in force {started - claimed:.3f} s before the guest's first instruction", 0 < claimed < started)
        self.record.figure(f"{name}: order to ACTIVE", active - asked)
        return server

    def severe(self, host):
        return next((one for one in gover.alerts(host) if one["name"] == "severe_overload" and one["vgpu"]), None)

    def overload(self, servers):
        """The programs of all servers of the first host draw more than its GPU has. gover asks Nova to move one of them."""
        self.second.run("gover-ctl", "thaw", "gpu0")
        until(lambda: self.slots(self.second) > 0, LONG_S, "capacity of host2")
        self.record.mark(2, "offer")
        until(lambda: not gover.offers(self.first, "probation"), LONG_S, "the end of the last probation")
        for server in servers:
            self.guests.draw(server, HEAVY)
        self.record.mark(1, "load rises")
        until(lambda: any(one["broken"] for one in gover.vgpus(self.first)), LONG_S, "a broken promise", 0.02)
        self.record.mark(1, "promise broken")
        alert = until(lambda: self.severe(self.first), LONG_S, "severe overload", 0.02)
        raised = gover.clock(alert["raised_at"])
        moved, answered, took = until(lambda: self.cloud.asked_to_migrate(servers), SHORT_S, "a request for a migration")
        asked = answered - took
        until(lambda: OVERLOADED in self.traits(self.first), SHORT_S, "the trait")
        # a request of the test for each look would delay those of gover-fleet
        uuid = self.admin.provider(f"{self.first.name}_gover_gpu0")["uuid"]
        trait, room = (self.cloud.answered(request, raised) or 0 for request in
                       (f"PUT /resource_providers/{uuid}/traits", r"GET /allocation_candidates\?limit=64&"))
        name = self.names[moved]
        self.record.mark(1, "overload", raised)
        self.record.log(f"host1: alert {alert['name']}: {alert['text']}", raised)
        self.record.log(f"host1: trait {OVERLOADED} is set", trait)
        self.record.mark(0, f"{name}: migration asked", asked)
        self.record.ok(f"an overload of host1 sets its trait, finds room, and then asks Nova to migrate {name}", 0 < trait < asked and 0 < room < asked,
                       f"trait {trait - raised:.3f} s, room {room - raised:.3f} s, request {asked - raised:.3f} s after the alert")
        domain = self.admin.domain(moved)
        running = until(lambda: self.second.events.first(domain, "Resumed", raised), LONG_S, "the guest on host2", 0.02)
        self.record.mark(2, f"{name} runs here", running)
        until(lambda: self.admin.state(moved) == ("ACTIVE", "host2"), LONG_S, f"{name} ACTIVE on host2")
        done = time.time()
        self.record.ok(f"server {name} runs on host2, which has a contract for it", moved in {one["id"] for one in gover.vgpus(self.second)})
        until(lambda: moved not in {one["id"] for one in gover.vgpus(self.first)}, SHORT_S, f"the end of the contract of {name} on host1", 0.02)
        self.record.figure("guest left to end of its contract", time.time() - self.first.events.first(domain, "Stopped", raised))
        self.record.figure("overload to trait", trait - raised)
        self.record.figure("overload to the answer that another host has room", room - raised)
        self.record.figure("overload to migration requested", asked - raised)
        self.record.figure("overload to accepted by Nova", answered - raised)
        self.record.figure("overload to running on the other host", running - raised)
        self.record.figure("overload to completed in Nova", done - raised)
        until(lambda: not any(one["broken"] for host in self.cloud.hosts for one in gover.vgpus(host)), LONG_S, "all promises kept")
        self.record.mark(1, "promises kept")
        until(lambda: OVERLOADED not in self.traits(self.first), LONG_S, "the trait is removed")
        self.record.ok("all promises are kept again, and the trait is removed", True)
        return moved

    def restart_compute(self, host):
        provider = self.admin.provider(f"{host.name}_gover_gpu0")
        slots = self.slots(host)
        host.services["nova-compute"].stop()
        stopped = time.time()
        host.start_compute()
        until(lambda: self.admin.compute(host.name)[1] > stopped + 1, LONG_S, f"nova-compute of {host.name}", 0.5)
        self.record.log(f"{host.name}: nova-compute is restarted")
        time.sleep(UPDATE_S)
        after = self.admin.provider(f"{host.name}_gover_gpu0")
        self.record.ok(f"gover's provider of {host.name} stays as it is when nova-compute restarts",
                       bool(after) and after["uuid"] == provider["uuid"] and self.slots(host) == slots)

    def remake_compute(self, host):
        """The service of an empty host is deleted, with the provider of the compute node and all below it, and made anew."""
        before = self.admin.provider(f"{host.name}_gover_gpu0")["uuid"]
        host.services["nova-compute"].stop()
        self.admin.remove_compute(self.admin.compute(host.name)[0])
        self.record.log(f"{host.name}: the service nova-compute is deleted")
        self.record.ok(f"Nova deletes gover's provider with the compute node of {host.name}", not self.admin.provider(f"{host.name}_gover_gpu0"))
        host.start_compute()
        until(lambda: self.admin.provider(host.name), LONG_S, f"the provider of {host.name}", 0.2)
        root = time.time()
        self.record.log(f"{host.name}: nova-compute is new, and so is the provider of the compute node")
        until(lambda: self.slots(host) > 0, LONG_S, "gover's provider")
        self.record.figure("new compute node to gover's capacity", time.time() - root)
        after = self.admin.provider(f"{host.name}_gover_gpu0")
        self.record.ok(f"gover's provider of {host.name} comes back by itself, below the new compute node",
                       after["uuid"] != before and after["parent_provider_uuid"] == self.admin.provider(host.name)["uuid"])

    def withdraw(self, host):
        """gover-fleet ends, as its unit ends it, and starts again."""
        until(lambda: self.slots(host) > len(gover.vgpus(host)), LONG_S, f"an offer of {host.name} in Placement")
        gover.withdraw(host)
        self.record.ok("gover-fleet ends: only the contracts stay in Placement", self.slots(host) == len(gover.vgpus(host)))
        begun = time.time()
        gover.start_fleet(host)
        until(lambda: self.slots(host) > len(gover.vgpus(host)), LONG_S, "capacity")
        self.record.figure("start of gover-fleet to capacity", time.time() - begun)

    def crash(self, host):
        """gover-d is killed. The guests go on, and its contracts and the capacity are the same afterwards."""
        before = {one["id"] for one in gover.vgpus(host)}
        host.services["gover-d"].stop(signal.SIGKILL)
        gover.start(host, until)
        self.guests.forget(host)
        self.record.log(f"{host.name}: gover-d was killed and is ready again")
        self.record.ok("gover-d has the same contracts after a crash", {one["id"] for one in gover.vgpus(host)} == before)

    def refuse(self, name):
        """The offer closes between Nova's decision and the start of the guest: the hook refuses, and Nova takes the other host."""
        for host in self.cloud.hosts:
            until(lambda host=host: self.slots(host) > len(gover.vgpus(host)), LONG_S, f"an offer of {host.name} in Placement")
        server = self.order(name)
        providers = {self.admin.provider(f"{host.name}_gover_gpu0")["uuid"]: host for host in self.cloud.hosts}
        chosen = until(lambda: next((providers[one] for one in self.admin.allocations(server) if one in providers), None), SHORT_S,
                       "an allocation", 0.01)
        chosen.run("gover-ctl", "drain", "gpu0")
        self.record.mark(chosen.number, f"{name}: the offer closes, the claim is refused")
        host = self.wait_status(server, "ACTIVE")
        self.record.mark(0, f"{name}: rescheduled to {host}")
        self.record.ok(f"after the refused claim on {chosen.name}, Nova starts {name} on the other host", host != chosen.name)
        chosen.run("gover-ctl", "thaw", "gpu0")
        return server

    def offer_again(self, host, rounds):
        """The time from an offer to capacity that Nova can choose, for several offers."""
        provider, times = self.admin.provider(f"{host.name}_gover_gpu0")["uuid"], []

        def total():
            found = self.admin.inventories(provider)[SLOT]
            return found["total"] - found["reserved"]

        sold = len(gover.vgpus(host))
        for _ in range(rounds):
            offer = until(lambda: next(iter(gover.offers(host)), None), LONG_S, "an offer", 0.01)
            until(lambda: total() > sold, LONG_S, "capacity")
            gover.ask(host, "DELETE", f"/v1/offers/{offer['id']}")
            until(lambda: total() == sold, LONG_S, "no capacity")
            offer = until(lambda: next(iter(gover.offers(host)), None), LONG_S, "an offer", 0.005)
            until(lambda: total() > sold, LONG_S, "capacity", 0.002)
            times.append(time.time() - gover.clock(offer["created_at"]))
        times.sort()
        self.record.figure(f"offer to schedulable, median of {rounds}", times[rounds // 2])
        self.record.figure(f"offer to schedulable, longest of {rounds}", times[-1])

    def run(self):
        self.boot()
        self.hosts()
        self.plain()
        self.follow("3")
        self.first_server()
        self.sampler = Sampler(self.record, self.cloud.hosts, SLOT, self.names)
        servers = [self.sell(name) for name in "abc"]
        self.agree("after three sales")
        moved = self.overload(servers)
        self.agree("after the migration")
        time.sleep(AFTER_S)
        self.sampler.stop()
        self.restart_compute(self.first)
        self.agree("after a restart of nova-compute")
        for server in servers:
            self.guests.draw(server, LIGHT)
        self.remove(moved)
        self.agree(f"after the removal of {self.names[moved]}")
        self.remake_compute(self.second)
        self.withdraw(self.second)
        self.crash(self.first)
        self.agree("after a crash of gover-d and an end of gover-fleet")
        self.refuse("d")
        self.agree("after a refused claim")
        self.offer_again(self.second, 10)


def main():
    root, out, *options = sys.argv[1:]
    story = Story(root, out)
    try:
        story.run()
    except (cloud.Failed, api.Refused) as error:
        story.record.ok("the story goes to its end", False, str(error))
    passed = story.record.finish()
    if "stay" in options:
        signal.pause()
    return not passed


if __name__ == "__main__":
    sys.exit(main())
