# SPDX-License-Identifier: MIT
# make check-faults: tries the faults of table.py on several hosts at the same time until FAULTS_S seconds are over, and
# checks after each fault that everything holds (oracle.py). FAULT=NAME tries only that fault (or several, separated by
# commas), SEED=N repeats a run.
# Prints one TAP line for each fault, writes the table to $B/faults.txt and ends with the totals.
import collections
import itertools
import multiprocessing
import os
import random
import sys
import time
from multiprocessing.connection import wait

sys.dont_write_bytecode = True
import table  # noqa: E402
from attempt import Host  # noqa: E402
from world import tree_of  # noqa: E402

MISSES_MAX = 50  # a fault that does not happen in as many tries is skipped
SHOWN = 3  # failures shown for each fault


def setting(name, default):
    return int(os.environ.get(name) or default)


def serve(pipe, build, number, seed):
    """A process with one host: runs the faults that the parent names."""
    host = Host(build, number)
    faults = {fault.name: fault for fault in table.FAULTS}
    try:
        while True:
            task = pipe.recv()
            if not task:
                break
            name, count = task
            pipe.send(host.run(faults[name], count, f"{seed}:{name}:{count}"))
    finally:
        host.close()
        pipe.close()


class Tally:
    """The results of one fault."""

    def __init__(self, fault):
        self.fault = fault
        self.given = self.tries = self.missed = self.lost = self.stuck = 0
        self.spent_s = 0.0
        self.recovered, self.failed = [], []

    def add(self, result):
        self.spent_s += result.spent_s
        if not result.happened and not result.complaints:
            self.missed += 1
            return
        self.tries += 1
        self.lost += result.lost
        self.stuck += result.stuck
        self.recovered.append(result.recovered_s)
        if result.complaints:
            self.failed.append(result)

    @property
    def skipped(self):
        return self.tries == 0 and self.given > 0

    def row(self):
        times = sorted(self.recovered) or [0.0]
        return (f"{self.fault.name:28} {self.tries:7} {self.lost:5} {self.stuck:6} {len(self.failed):7} "
                f"{times[len(times) // 2]:8.2f} / {times[-1]:.2f}")


class Silence:
    """What must not happen while the GPU is silent: the faults in which it happened, for each fault and for each policy."""

    KINDS = ("sold", "kept", "held", "not recovered", "alert")

    def __init__(self):
        self.counts = {}  # name of a fault or policy: a Counter

    def add(self, result):
        if not result.policy:
            return
        kinds = {each.partition(": ")[0] for each in result.complaints}
        found = [kind if kind in self.KINDS else "other" for kind in kinds]
        for name in (result.name, f"policy {result.policy}", "all"):
            self.counts.setdefault(name, collections.Counter()).update({"tries", *found})

    def lines(self):
        columns = ("tries", *self.KINDS, "other")
        rows = [[name, *(str(counts[column]) for column in columns)] for name, counts in sorted(self.counts.items())]
        form = "{:28} {:>7} {:>6} {:>6} {:>6} {:>14} {:>6} {:>6}"
        return [form.format(*row) for row in ([["silence", *columns], *rows] if rows else [])]


class Runner:
    def __init__(self, faults, seconds, most, seed, hosts, build):
        self.tallies = {fault.name: Tally(fault) for fault in faults}
        self.seed, self.build = seed, build
        self.end_at = time.monotonic() + seconds
        self.most = most
        self.silence = Silence()
        self.hosts = hosts
        self.pipes = {}

    def start(self, number):
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.Process(target=serve, args=(theirs, self.build, number, self.seed))
        process.start()
        theirs.close()
        self.pipes[ours] = (number, process)
        self.give(ours)

    def collect(self, pipe):
        """Takes a result and gives the next task. Forgets a process that has ended."""
        try:
            result = pipe.recv()
        except EOFError:
            self.pipes.pop(pipe)[1].join()
            return
        self.tallies[result.name].add(result)
        self.silence.add(result)
        self.show(result)
        self.give(pipe)

    def next_fault(self, host):
        """The fault that has had the least time so far, in relation to its share."""
        outside = tree_of(host).outside
        possible = [each for each in self.tallies.values()
                    if (each.tries or each.missed < MISSES_MAX) and (outside or not each.fault.outside)]
        if not possible:
            return None
        return min(possible, key=lambda each: (each.spent_s + 0.2 * each.given) / each.fault.share)

    def give(self, pipe):
        over = time.monotonic() >= self.end_at or self.begun() >= self.most
        tally = None if over else self.next_fault(self.pipes[pipe][0])
        if not tally:
            pipe.send(None)
            return
        pipe.send((tally.fault.name, tally.given))
        tally.given += 1

    def run(self):
        numbers = (number for number in itertools.count(1) if self.next_fault(number))
        for number in itertools.islice(numbers, self.hosts):
            self.start(number)
        while self.pipes:
            for pipe in wait(list(self.pipes)):
                self.collect(pipe)

    def begun(self):
        return sum(each.given - each.missed for each in self.tallies.values())

    def show(self, result):
        tally = self.tallies[result.name]
        if result.complaints and len(tally.failed) <= SHOWN:
            again = f"FAULT={result.name} SEED={self.seed} FAULTS_S=60 make check-faults"
            print(f"# {result.name} failed in try {result.number} (repeat: {again}; its state: $B/faults/)")
            for complaint in result.complaints[:6]:
                print("".join(f"#   {line}\n" for line in complaint.splitlines()), end="")
            sys.stdout.flush()

    def report(self):
        """Prints the TAP lines and writes the table. Returns the numbers of passed, failed and skipped faults."""
        lines = [f"{'fault':28} {'tries':>7} {'lost':>5} {'stuck':>6} {'failed':>7}  recovered in s, p50 / max"]
        counts = {"passed": 0, "failed": 0, "skipped": 0}
        for number, tally in enumerate(self.tallies.values(), 1):
            lines.append(tally.row())
            state = "failed" if tally.failed else "skipped" if not tally.tries else "passed"
            counts[state] += 1
            text = f"{number} - {tally.fault.name}: {tally.tries} tries, {len(tally.failed)} failed"
            skip = " # SKIP did not happen on this host" if state == "skipped" else ""
            print(("not ok " if state == "failed" else "ok ") + text + skip)
        tries = sum(each.tries for each in self.tallies.values())
        lines += self.silence.lines()
        lines.append(f"{tries} faults of {len(self.tallies)} kinds, seed {self.seed}")
        with open(os.path.join(self.build, "faults.txt"), "w") as file:
            file.write("\n".join(lines) + "\n")
        print("\n".join("# " + line for line in lines))
        print(f"1..{len(self.tallies)}")
        return counts


def main():
    build = os.path.abspath(os.environ.get("B") or "build")
    seed = setting("SEED", random.SystemRandom().randrange(1_000_000))
    wanted = os.environ.get("FAULT", "").replace(",", " ").split()
    group = os.environ.get("FAULTS", "")
    # The faults of a group need a quiet machine: readings that are too late for their short periods count as failures.
    faults = [fault for fault in table.FAULTS if (fault.name in wanted if wanted else fault.group == group)]
    if not faults:
        names = ", ".join(fault.name for fault in table.FAULTS)
        groups = ", ".join({fault.group for fault in table.FAULTS if fault.group})
        raise SystemExit(f"FAULT={' '.join(wanted)} FAULTS={group}: no such fault (allowed: {names}; FAULTS: {groups})")
    if not os.access("/dev/fuse", os.W_OK):
        print("# skipped: no permission to use /dev/fuse")
        print(f"0 passed, 0 failed, {len(faults)} skipped")
        return
    hosts = setting("FAULTS_HOSTS", 3 * (os.cpu_count() or 1))
    print(f"# SEED={seed} FAULTS_S={setting('FAULTS_S', 900)} FAULTS_HOSTS={hosts}", flush=True)
    runner = Runner(faults, setting("FAULTS_S", 900), setting("FAULTS_N", sys.maxsize), seed, hosts, build)
    runner.run()
    counts = runner.report()
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    sys.exit(0 if counts["failed"] == 0 and counts["passed"] else 1)


if __name__ == "__main__":
    main()
