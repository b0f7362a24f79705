# SPDX-License-Identifier: MIT
# The faults of tests/check-compute, on hosts with three tenants of weights 1:2:3. A fault makes a victim, or the arbiter, unable
# to behave. What must hold for the others afterwards, by the truth of the device double:
#   kill, stop: they have their shares again within one slice + 100 ms. In a window of WINDOW_S that begins then, each of them
#     gets at least  window x weight / sum of the weights that still want the device - allowance.
#   scribble: it costs them at most one slice + 100 ms in all. The time does not begin with the scribbling, because a wrong page
#     shows its effect in the next turn of its program, which begins when the others have had theirs. From the end of the
#     scribbling on, each of them gets at least  (time - one slice - 100 ms) x weight / sum of all weights - allowance.
#   arbiter killed or stopped: after 100 ms the device works without it and each tenant runs; when it is back, all have their
#     shares within one slice + 100 ms after the last program is under control.
# The allowance is ALLOWANCE_NS (a window can begin and end within turns of others: one slice and the longest kernel, and 2 ms
# for handovers), the time that the tenant waited for a CPU, and its share of the time that arbiter and other programs did, since
# shortly before the fault: a holder that does not run wastes its turn and pays for it later. If this leaves less than LEFT of
# what is due, the window is twice as long; after WINDOWS windows the share is not judged.
# Everything else is checked on any machine.
import glob
import os
import random
import signal
import time

from host import Broken, Host, Tenant, run_delay_ns, stolen_ns, until

SLICE_S = 0.006
AGAIN_S = SLICE_S + 0.1
OLD_S = 0.1  # COMPUTE_STAMP_OLD_NS: then a program submits without an arbiter
WINDOW_S = 0.1
ALLOWANCE_NS = 10_000_000
LEFT = 0.25
WINDOWS = 5  # the last one is 16 times as long as the first one
KERNELS_US = {"one": 500, "two": 1000, "three": 2000}
WEIGHTS = {"one": 1, "two": 2, "three": 3}


class Verdict:
    """What one fault has shown. @complaints: violated rules; @judged: shares were; @late: not in the first window."""

    def __init__(self, kind, number):
        self.kind, self.number = kind, number
        self.complaints, self.judged, self.late = [], True, False
        self.least = 1.0  # the worst share of the others, in proportion to what is due

    def complain(self, text):
        self.complaints.append(text)


class Site:
    """A host under faults."""

    def __init__(self, build, number):
        self.build, self.number = build, number
        self.host = None
        self.random = None
        self.waited = {}  # what programs had waited for a CPU when the fault began
        self.start()

    def start(self):
        self.host = Host(self.build, f"faults{self.number}")
        self.host.start_arbiter()
        for name, weight in WEIGHTS.items():
            tenant = Tenant(name, weight, us=KERNELS_US[name], options=["--depth", "4"])
            self.host.add(tenant)
            self.host.start(tenant)
        self.wait_all_run()

    def close(self):
        self.host.close()

    # --- conditions ---

    def wait_all_run(self):
        """Waits until each program has launched kernels since now, under the control of the arbiter."""
        before = self.host.truth.read()[1]

        def running():
            now = self.host.truth.read()[1]
            return all(now.get(each.name, {}).get("launches", 0) > before.get(each.name, {}).get("launches", 0)
                       for each in self.host.tenants)
        if not until(running):
            raise Broken("a tenant does not run")

    def controlled(self):
        accounts = self.host.accounts()
        return all(accounts.get(each.name, {}).get("clients") == 1 for each in self.host.tenants)

    def snapshot(self, at_s=0.0):
        """The truth of the double at @at_s or now."""
        time.sleep(max(0.0, at_s - time.monotonic()))
        device, tenants = self.host.truth.read()
        return {name: each["busy_ns"] for name, each in tenants.items()}, device["clock_ns"]

    def waits(self):
        """What programs have waited for a CPU so far, by tenant; None: the arbiter and the machine."""
        waited = {each.name: run_delay_ns(each.process.pid) for each in self.host.tenants}
        waited[None] = stolen_ns() // os.cpu_count() + run_delay_ns(self.host.arbiter.pid)
        return waited

    def since(self, before):
        """CPU time waited for since the fault began; device time of each tenant since a snapshot; time since it. In ns."""
        used, clock = self.snapshot()
        return ({name: max(0, ns - self.waited.get(name, 0)) for name, ns in self.waits().items()},
                {name: ns - before[0].get(name, 0) for name, ns in used.items()}, clock - before[1])

    def windows(self, verdict, before):
        """Yields what happened since a snapshot, until the caller has judged, after longer and longer times."""
        length_s, overslept_s = WINDOW_S, 0.0
        for attempt in range(WINDOWS):
            begun_s, pause_s = time.monotonic(), length_s if attempt == 0 else length_s / 2
            time.sleep(pause_s)
            overslept_s += time.monotonic() - begun_s - pause_s
            length_s *= 2
            verdict.late = verdict.late or attempt > 0
            waited, used, length_ns = self.since(before)
            waited[None] += int(overslept_s * 1e9)  # the machine itself may have been stopped
            yield waited, used, length_ns
        verdict.judged = False

    def check_shares(self, verdict, at_s, judged, competing, lost_ns=0):
        """From @at_s on, the tenants @judged have their shares among @competing, less @lost_ns of the device in all."""
        before = self.snapshot(at_s)
        time.sleep(lost_ns / 1e9)
        for happened in self.windows(verdict, before):
            if self.compare(verdict, happened, lost_ns, judged, competing):
                return

    def check_loss(self, verdict, judged):
        """From now on, the tenants @judged lose at most AGAIN_S of the device."""
        self.check_shares(verdict, 0.0, judged, self.host.tenants, AGAIN_S * 1e9)

    def compare(self, verdict, happened, lost_ns, judged, competing):
        """Checks that each of @judged got its share. Returns False if that cannot be judged."""
        waited, used, length_ns = happened
        total = sum(each.weight for each in competing)
        rows = []
        for tenant in judged:
            part = tenant.weight / total
            due_ns, own_ns = (length_ns - lost_ns) * part, waited.get(tenant.name, 0)
            floor_ns = due_ns - ALLOWANCE_NS - own_ns - (sum(waited.values()) - own_ns) * part
            if floor_ns < LEFT * due_ns:
                return False
            rows.append((tenant, used.get(tenant.name, 0), due_ns, floor_ns))
        counted = self.host.control("list", check=False) if any(row[1] < row[3] for row in rows) else ""
        verdict.complaints += counted.splitlines()
        for tenant, got_ns, due_ns, floor_ns in rows:
            verdict.least = min(verdict.least, got_ns / due_ns)
            if got_ns < floor_ns:
                verdict.complain(f"tenant {tenant.name} got {got_ns / 1e6:.1f} ms in {length_ns / 1e6:.1f} ms (due: "
                                 f"{due_ns / 1e6:.1f}, at least {floor_ns / 1e6:.1f}); all: "
                                 + ", ".join(f"{name} {ns / 1e6:.1f}" for name, ns in used.items()))
        return True

    def check_progress(self, verdict, at_s, tenants):
        """In a window from @at_s on, the device works and each of @tenants launches kernels."""
        for waited, used, length_ns in self.windows(verdict, self.snapshot(at_s)):
            waiting = sum(waited.values()) / length_ns
            if waiting > 0.5:
                continue
            busy = sum(used.get(each.name, 0) for each in tenants) / length_ns
            verdict.least = min(verdict.least, busy)
            if busy < 0.8 - waiting:
                verdict.complain(f"the device worked {100 * busy:.0f} % of {length_ns / 1e6:.0f} ms without the arbiter")
            verdict.complaints += [f"tenant {each.name} does not run without the arbiter"
                                   for each in tenants if used.get(each.name, 0) == 0]
            return

    # --- faults ---

    def run(self, kind, number, seed):
        """Injects one fault. Returns a Verdict."""
        self.random = random.Random(seed)
        verdict = Verdict(kind, number)
        try:
            if self.host is None:
                self.start()
            self.waited = self.waits()
            time.sleep(self.random.uniform(0, 0.04))
            FAULTS[kind](self, verdict)
            status = self.host.arbiter.poll()
            if status is not None:
                verdict.complain(f"gover-arbiter has ended with {status}")
            else:
                self.wait_all_run()
                if not until(self.controlled):
                    verdict.complain("a program does not come back under control")
        except (Broken, OSError) as error:
            verdict.complain(f"{error}")
        if verdict.complaints:
            verdict.complaints += self.host.log_tail().splitlines()
            self.host.close()
            self.host = None
        return verdict

    def choose(self):
        victim = self.random.choice(self.host.tenants)
        return victim, [each for each in self.host.tenants if each is not victim]

    def replace(self, victim, anew=False):
        """Starts the program again. @anew: its tenant is added again, without the device time that its page has claimed."""
        victim.end()
        if anew:
            self.host.add_anew(victim)
        self.host.start(victim)

    def page_of(self, tenant):
        for path in glob.glob(f"/proc/{tenant.process.pid}/fd/*"):
            try:
                if os.readlink(path).startswith("/memfd:gover-compute "):
                    return path
            except OSError:
                pass
        raise Broken(f"tenant {tenant.name} has no page")

    def scribble(self, victim, mode, where):
        milliseconds = self.random.choice((0, 1, 5, 20))
        program = [os.path.join(self.host.build, "tests/cl-scribble"), mode, where, str(self.random.randrange(1 << 48)),
                   str(milliseconds)]
        process = self.host.spawn(victim, program, layer=False)
        self.host.others.append(process)
        for line in process.stdout:
            if line == "done\n":
                return process
        raise Broken(f"cl-scribble has ended with {process.wait()}")

    def forget(self, process):
        process.kill()
        process.wait()
        process.stdout.close()
        self.host.others.remove(process)


def kill(site, verdict):
    victim, others = site.choose()
    victim.send(signal.SIGKILL)
    site.check_shares(verdict, time.monotonic() + AGAIN_S, others, others)
    site.replace(victim)


def stop_and_kill(site, verdict):
    victim, others = site.choose()
    victim.send(signal.SIGSTOP)
    site.check_shares(verdict, time.monotonic() + AGAIN_S, others, others)
    site.replace(victim)


def stop_and_continue(site, verdict):
    victim, others = site.choose()
    victim.send(signal.SIGSTOP)
    if site.random.random() < 0.5:
        time.sleep(site.random.uniform(0, 0.15))
    else:
        site.check_shares(verdict, time.monotonic() + AGAIN_S, others, others)
    victim.send(signal.SIGCONT)
    site.check_shares(verdict, time.monotonic() + AGAIN_S, others, site.host.tenants)


def scribble_in_page(site, verdict):
    victim, others = site.choose()
    process = site.scribble(victim, "page", site.page_of(victim))
    site.check_loss(verdict, others)
    site.forget(process)
    site.replace(victim, anew=True)


def scribble_as_client(site, verdict):
    victim, others = site.choose()
    process = site.scribble(victim, "client", site.host.socket)
    site.check_loss(verdict, others)
    site.forget(process)
    site.replace(victim, anew=True)


def kill_scribbling(site, verdict):
    victim, others = site.choose()
    process = site.scribble(victim, "client", site.host.socket)
    process.kill()
    victim.send(signal.SIGKILL)
    site.check_shares(verdict, time.monotonic() + AGAIN_S, others, others)
    site.forget(process)
    site.replace(victim, anew=True)


def kill_arbiter(site, verdict):
    tenants = site.host.tenants
    site.host.arbiter.kill()
    site.host.arbiter.wait()
    site.check_progress(verdict, time.monotonic() + OLD_S + 0.01, tenants)
    site.host.start_arbiter()
    site.host.adopt_tenants()
    if not until(site.controlled):
        verdict.complain("a program does not come back under control")
        return
    site.check_shares(verdict, time.monotonic() + AGAIN_S, tenants, tenants)


def stop_arbiter(site, verdict):
    tenants = site.host.tenants
    site.host.arbiter.send_signal(signal.SIGSTOP)
    site.check_progress(verdict, time.monotonic() + OLD_S + 0.01, tenants)
    site.host.arbiter.send_signal(signal.SIGCONT)
    if not until(site.controlled):
        verdict.complain("a program does not come back under control")
        return
    site.check_shares(verdict, time.monotonic() + AGAIN_S, tenants, tenants)


FAULTS = {
    "kill": kill,
    "stop-and-kill": stop_and_kill,
    "stop-and-continue": stop_and_continue,
    "scribble-in-page": scribble_in_page,
    "scribble-as-client": scribble_as_client,
    "kill-scribbling": kill_scribbling,
    "kill-arbiter": kill_arbiter,
    "stop-arbiter": stop_arbiter,
}

# How often a fault is injected, in percent.
PERCENT = {
    "kill": 24,
    "stop-and-kill": 16,
    "stop-and-continue": 16,
    "scribble-in-page": 16,
    "scribble-as-client": 12,
    "kill-scribbling": 10,
    "kill-arbiter": 3,
    "stop-arbiter": 3,
}
