# SPDX-License-Identifier: MIT
# One fault on one host: runs it, waits until everything holds again, and returns what was lost, how long REST did not
# answer, and how long the recovery took.
import dataclasses
import os
import random
import shutil
import time
import traceback

import clients
import oracle
import rest
import tree
import world as worlds

ALERT_S = 10.0  # generous: an alert is raised within a few periods
STUCK_S = 1.0
LOST_S = 3.0  # if the daemon works normally, lost objects do not come back
TIDY_S = 20.0
AUDIT_S = 10.0
OWN_KILL = -9


@dataclasses.dataclass
class Fault:
    """A row of the table. @run gets an Attempt and returns False if the fault did not happen."""

    name: str
    run: callable
    alert: str = ""  # the alert that names the fault: "name" or "name: words of its text"
    or_alert: str = ""  # the alert that names the fault instead, if no contract is concerned
    why: str = ""  # without an alert: why none is needed
    recovers: str = "at once"  # what recovery means
    forgives: tuple = ()  # kinds of objects that this fault may lose, see ledger.py
    bound_s: float = 20.0  # generous bound of the recovery
    exits: tuple = ()  # exit statuses with which the daemon may end
    spoils: bool = False  # the damage may show later, so the host is not used again
    stops: bool = False  # REST cannot answer meanwhile: the process itself is stopped
    outside: bool = False  # needs vGPUs outside the daemon
    share: float = 1.0  # share of the time, relative to the other rows
    group: str = ""  # FAULTS=NAME runs the rows of a group only


@dataclasses.dataclass
class Result:
    name: str
    number: int
    policy: str = ""  # the policy under which the fault happened; empty: as configured
    happened: bool = True
    lost: int = 0
    stuck: bool = False
    longest_s: float = 0.0
    recovered_s: float = 0.0
    spent_s: float = 0.0
    complaints: list = dataclasses.field(default_factory=list)


class Attempt:
    """What a fault can use: the host, its clients, random numbers, and the rules of the injector."""

    def __init__(self, fault, number, host, seed):
        self.fault = fault
        self.number = number
        self.policy = ""
        self.world = host.world
        self.clients = host.clients
        self.page = host.world.page
        self.host = host
        self.wait_quiet()
        self.rng = self.clients.rng = random.Random(seed)
        self.alerts = set()  # (name, text) of all alerts that were seen since the fault began
        self.old_alerts = {each["id"] for each in self.world.get("/v1/alerts?all=true")["alerts"]}
        self.ended_at = None
        self.complaints = []

    def wait_quiet(self):
        """Waits until the alert of the fault is not raised: it would hide the alert of this attempt."""
        name = self.fault.alert.partition(":")[0]
        if name:
            tree.until(lambda: not self.host.is_raised(name), ALERT_S, 0.02)

    def let_act(self):
        """Sets all GPUs to mode act, in which the daemon repeats cap writes that have failed."""
        self.clients.let_act()
        self.wait_quiet()

    def acts(self, n, kind=None):
        """@n changes of clients. Stops when the daemon has ended. Returns the answers."""
        answers = []
        for _ in range(n):
            answers.append(self.clients.act(kind))
            if self.world.daemon.ended() is not None:
                break
        return answers

    def end(self):
        """Ends the fault. Recovery is measured from here."""
        self.page.clear()
        self.ended_at = time.monotonic()

    def note_alerts(self, listed):
        self.alerts.update((each["name"], each["text"]) for each in listed if each["id"] not in self.old_alerts)

    def has_alert(self, wanted):
        name, _, words = wanted.partition(": ")
        return any(each == name and words in text for each, text in self.alerts)

    def is_named(self):
        """True if an alert has named the fault."""
        return self.has_alert(self.fault.alert) or bool(self.fault.or_alert and self.has_alert(self.fault.or_alert))

    def poll_alert(self):
        try:
            self.note_alerts(self.world.get("/v1/alerts?all=true", timeout=1)["alerts"])
        except rest.NoAnswer:
            pass
        return self.is_named()

    def wait_alert(self, seconds=ALERT_S):
        """Waits for the alert that names the fault."""
        if self.fault.alert:
            tree.until(self.poll_alert, seconds, 0.02)

    def wait_hit(self, rule, hits=1, seconds=5.0):
        """Waits until the rule met @hits calls, or the daemon ended. True if it did."""
        return bool(tree.until(lambda: rule.hits >= hits or self.world.daemon.ended() is not None, seconds))

    def wait_stalls(self, rules, seconds):
        """Waits until calls that stall have ended."""
        if any(rule.hits for rule in rules):
            time.sleep(seconds)

    def periods(self, n):
        """Waits for @n more periods."""
        time.sleep(n * worlds.PERIOD_S)


def unreadable(folder, names):
    """The names that cannot be copied: FIFOs and sockets."""
    paths = {name: os.path.join(folder, name) for name in names}
    return [name for name, path in paths.items() if not (os.path.islink(path) or os.path.isdir(path) or os.path.isfile(path))]


class Host:
    """A world with its clients, used for many faults. Replaced after a fault that it did not survive."""

    def __init__(self, build, number):
        self.build = build
        self.number = number
        self.world = self.clients = None
        self.begun_at = 0  # size of the log before the current fault

    def ready(self):
        if self.world:
            return
        self.world = worlds.World(self.build, self.number)
        try:
            self.clients = clients.Clients(self.world)
            self.clients.rng = random.Random(self.number)
            for vgpu in self.world.vgpus:
                self.clients.add(vgpu)
            snapshot = tree.until(self.whole, 20, 0.05)
            if not snapshot:
                raise tree.Broken(f"the host is not healthy at its start: {self.look()[1]}")
            self.settle(snapshot)
        except BaseException:
            self.close()
            raise

    def settle(self, snapshot):
        self.clients.ledger.settle(snapshot.actual(clients.POLICY))
        self.clients.accepted = []
        self.clients.unanswered = []
        self.clients.violations = []
        self.log_at = self.world.log_size()
        log = tree.until(lambda: oracle.audit_log(self.world, "limit=1"), AUDIT_S, 0.02)
        if not log:
            raise tree.Broken("REST cannot read the history")
        self.audit_at = log["next_after"]  # the largest id

    def unrecorded(self):
        """Complaints about the rows of the audit log. Rows may wait for the next write of the history."""

        def wrong():
            return oracle.recorded(self.world, self.clients.accepted, self.clients.unanswered, self.audit_at)

        tree.until(lambda: not wrong(), AUDIT_S, 0.05)
        return wrong()

    def look(self):
        """The Snapshot (None without an answer) and the complaints about it, without those of the ledger at the start."""
        try:
            snapshot = oracle.Snapshot(self.world)
        except rest.NoAnswer as error:
            return None, [f"health: {error}"]
        ledger = self.clients.ledger
        found = oracle.complaints(snapshot, ledger, clients.POLICY)
        if not hasattr(self, "log_at"):
            found = [each for each in found if not each.startswith("lost: ")]
        return snapshot, found

    def close(self):
        if self.world:
            self.world.close()
        self.world = None
        if hasattr(self, "log_at"):
            del self.log_at

    # --- one fault ---

    def run(self, fault, number, seed):
        """Returns the Result of one fault."""
        result, begun = Result(fault.name, number), time.monotonic()
        try:
            self.ready()
            self.begun_at = self.world.log_size()
            attempt = Attempt(fault, number, self, seed)
            self.clients.ledger.forgiven = set(fault.forgives)
            self.measure(attempt, result)
        except tree.Broken as error:
            result.complaints.append(str(error))
        except rest.NoAnswer as error:
            result.complaints.append(f"no answer: {error}")
        except Exception:  # an error of the harness must not end the process that runs the faults
            result.complaints.append(traceback.format_exc())
        if result.complaints:
            self.keep(result)
        if result.complaints or fault.spoils:
            self.close()
        result.spent_s = time.monotonic() - begun
        return result

    def keep(self, result):
        """Keeps the state directory, and what the daemon logged since the fault began, in the build folder."""
        if not self.world:
            return
        folder = os.path.join(self.build, "faults", f"{result.name}-{result.number}")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.world.state, folder, symlinks=True, ignore=unreadable)
        with open(os.path.join(folder, "log"), "w") as file:
            file.write(self.world.log_text(self.begun_at))

    def measure(self, attempt, result):
        world, fault = self.world, attempt.fault
        if not fault.stops:
            world.prober.watch(world.daemon.pid)
        try:
            result.happened = fault.run(attempt) is not False
        finally:
            result.policy = attempt.policy
            result.complaints += attempt.complaints
        if attempt.ended_at is None:
            attempt.end()
        self.recover(attempt, result)
        result.longest_s = world.prober.longest_s
        world.prober.pause()
        if result.longest_s > STUCK_S:
            result.stuck = True
            result.complaints.append(f"stuck: /healthz was not answered for {result.longest_s:.1f} s")
        if result.happened and fault.alert and not attempt.is_named():
            raised = "".join(f"\n{name}: {text}" for name, text in sorted(attempt.alerts))
            result.complaints.append(f"alert: none with \"{fault.alert}\"; raised:{raised}")

    def recover(self, attempt, result):
        """Waits until everything holds again. Starts the daemon again when it has ended."""
        deadline = attempt.ended_at + attempt.fault.bound_s
        while True:
            status = self.world.revive()
            if status is not None and not attempt.fault.stops:
                self.world.prober.follow(self.world.daemon.pid)
            if status is not None and status != OWN_KILL and status not in attempt.fault.exits:
                result.complaints.append(f"the daemon ended with status {status}:\n{self.world.log_tail()}")
            snapshot, found = self.look()
            if snapshot:
                attempt.note_alerts(snapshot.alerts)
            if not found:
                break
            if all(each.startswith(("lost: ", "cap: ")) for each in found):
                deadline = min(deadline, time.monotonic() + LOST_S)
            if time.monotonic() > deadline:
                result.complaints += [f"not recovered: {each}" for each in found]
                break
            time.sleep(0.02)
        result.recovered_s = time.monotonic() - attempt.ended_at
        self.conclude(result, snapshot, found)

    def conclude(self, result, snapshot, found):
        result.lost = sum(each.startswith("lost: ") for each in found)
        if snapshot and not found and self.clients.newcomers:
            self.clients.repeat_claims()
        result.complaints += self.clients.violations
        if "audit" not in self.clients.ledger.forgiven:
            missing = list(oracle.audited(self.world, self.clients.accepted, self.log_at))
            if not {"sale", "silence"} & self.clients.ledger.forgiven:  # the fault does not lose the history
                missing += self.unrecorded()
            result.lost += len(missing)
            result.complaints += missing
        if result.complaints:
            return
        if self.clients.newcomers:
            self.clients.remove_newcomers()
            snapshot = tree.until(self.whole, 20, 0.02)
        if snapshot:
            self.tidy()
            self.settle(snapshot)
        else:
            result.complaints.append(f"the vGPUs of the claims could not be removed: {self.look()[1]}")

    def tidy(self):
        """Does what an operator does: acknowledges out_of_memory, and removes damaged files, until their alert is cleared."""
        for each in self.world.get("/v1/host")["alerts"]:
            if each["name"] == "out_of_memory" and not each["acked_at"]:
                self.world.ask("POST", f"/v1/alerts/{each['id']}/ack")
        for name in os.listdir(self.world.state):
            if ".damaged-" in name:
                path = self.world.file(name)
                shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
        if not tree.until(lambda: not self.is_raised("history_damaged"), TIDY_S, 0.02):
            raise tree.Broken("history_damaged is still raised, although no damaged file is left")

    def is_raised(self, alert):
        return any(each["name"] == alert for each in self.world.get("/v1/host")["alerts"])

    def whole(self):
        """The Snapshot if there is nothing to complain about."""
        snapshot, found = self.look()
        return None if found else snapshot
