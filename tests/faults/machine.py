#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# make check-machine: random requests to one gover-d with two simulated GPUs, for MACHINE_S seconds. reference.py says which
# answers are possible and what each answer changes; agree.py compares the whole state and the audit rows with it, every few
# requests and after each restart. Several clients send requests at the same time: their answers must be possible in some
# order. The daemon is killed at any time, stopped, and reloaded. After a kill, the answer of a request may be unknown: all
# possible models are kept until a comparison shows which one holds. SEED=N repeats the random numbers of a run.
# Prints one TAP line for each property, and counts of requests, restarts and comparisons.
import collections
import itertools
import os
import random
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
import agree  # noqa: E402
import moves  # noqa: E402
import reference  # noqa: E402
import rest  # noqa: E402
from tree import PARENTS, READY_S, Broken, SimTree, until  # noqa: E402
from world import Daemon  # noqa: E402

CONFIG = """[daemon]
socket = {folder}/sock
listen = 127.0.0.1:{port}
state_dir = {folder}/state
period_ms = 100
{gpus}[offer]
flavor_cap_pct = 5
max_vgpus = 16
ttl_s = 5
probation_s = 1
[access]
requests_per_s = 0
[fps]
socket = {folder}/fps.sock
[policy]
lowload_pct = 90
min_newcomer_pct = 3
{policy}"""
PORTS = range(20000, 32000)  # below the ports that the kernel gives to clients
CLIENTS = 3
COMPARE_EVERY = 12  # batches
SETTLED_S = 10.0  # generous: the history is written by another thread
SUM_TICKS = 6  # sum_over_100 is raised in the second period
SHOWN = 12
# chances per batch
KILL, STOP, RELOAD, WRITE = 0.03, 0.003, 0.01, 0.01
PROPERTIES = ("answers", "idempotency keys", "tokens", "state", "offers", "acknowledgements", "audit", "sum of caps",
              "restarts")


def free_port(rng):
    while True:
        port = rng.choice(PORTS)
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


class Host:
    """gover-d and its files."""

    def __init__(self, build, rng):
        self.folder = tempfile.mkdtemp(prefix="gover-machine.", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        self.socket = os.path.join(self.folder, "sock")
        self.tree = SimTree(build, self.folder, "speed = 10\n")
        self.port = free_port(rng)
        self.daemon = Daemon(build, self.folder)

    def configure(self, policy):
        text = CONFIG.format(folder=self.folder, port=self.port, gpus=self.tree.config(),
                             policy="".join(f"{name} = {value}\n" for name, value in policy.items()))
        with open(os.path.join(self.folder, "conf"), "w") as file:
            file.write(text)

    def start(self):
        self.daemon.start()
        if not until(self.is_ready, READY_S):
            raise Broken(f"gover-d is not ready; its log ends:\n{self.daemon.log_text()[-1500:]}")

    def is_ready(self):
        try:
            return rest.ask(self.socket, "GET", "/readyz", timeout=1).status == 200
        except rest.NoAnswer:
            return False

    def get(self, target):
        return rest.get(self.socket, target)

    def send(self, request, secrets):
        """Sends a reference.Request. Returns the Answer, or None."""
        headers = {"Idempotency-Key": request.key} if request.key else {}
        if request.match:
            headers["If-Match"] = request.match
        address = self.socket
        if request.token:
            address = ("127.0.0.1", self.port)
            headers["Authorization"] = f"Bearer {secrets[request.token]}"
        try:
            return rest.ask(address, request.method, request.path, request.body, headers)
        except rest.NoAnswer:
            return None

    def close(self):
        if self.daemon.process and self.daemon.ended() is None:
            self.daemon.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class SumWatch(threading.Thread):
    """Reads the host all the time: caps that add up to more than 100 % are named by an alert within SUM_TICKS periods."""

    def __init__(self, host):
        super().__init__(daemon=True)
        self.host = host
        self.since = {}  # GPU: the tick since which the sum is above 100 % without the alert
        self.looks = self.above = 0
        self.complaints = []

    def run(self):
        while True:
            try:
                self.look(self.host.get("/v1/host"))
            except rest.NoAnswer:
                self.since = {}  # the daemon starts again
            time.sleep(0.1)

    def look(self, host):
        self.looks += 1
        alerts = {alert["gpu"] for alert in host["alerts"] if alert["name"] == "sum_over_100"}
        for gpu in (each["name"] for each in host["gpus"]):
            total = sum(vgpu["cap_pct"] or 0 for vgpu in host["vgpus"] if vgpu["gpu"] == gpu)
            self.above += total > 100
            if total <= 100 or gpu in alerts:
                self.since.pop(gpu, None)
            elif host["ticks"] - self.since.setdefault(gpu, host["ticks"]) > SUM_TICKS:
                self.complaints.append(f"the caps of {gpu} add up to {total} % without alert sum_over_100")
                self.since.pop(gpu)


class Machine:
    def __init__(self, host, seed):
        self.host = host
        self.rng = random.Random(seed)
        self.file = {name: values[0] for name, values in moves.POLICY.items()}
        root = "root" if os.geteuid() == 0 else f"uid {os.geteuid()}"
        self.candidates = [reference.Model(root, PARENTS, self.file)]
        self.moves = moves.Moves(self.rng, PARENTS)
        self.counts = collections.Counter()
        self.kinds, self.statuses = collections.Counter(), collections.Counter()
        self.failed = collections.Counter()
        self.known_rows = set()
        self.answered = threading.Event()
        self.crashed = False  # since the last comparison
        self.seen = None
        self.last = collections.deque(maxlen=4)  # the last batches, for the messages
        host.configure(self.file)
        host.start()
        self.watch = SumWatch(host)
        self.watch.start()
        self.seen = self.read()

    def complain(self, name, text):
        self.failed[name] += 1
        if self.failed[name] <= SHOWN:
            text += "".join(f"\n  before: {line}" for line in self.last)
            print("".join(f"# {name}: {line}\n" for line in text.splitlines()), end="", flush=True)

    # --- requests ---

    def batch(self):
        """Requests that are sent at the same time. Sometimes one is sent twice."""
        now_s = time.monotonic()
        clients = self.rng.choice((1, 1, 2, CLIENTS))
        requests = [self.moves.next(self.candidates[0], self.seen, now_s) for _ in range(clients)]
        if self.rng.random() < 0.1 and requests[0].kind != "silence":  # the reason names a silence
            requests = [requests[0]] * 2
        return requests

    def send(self, requests, killer=None):
        """Returns the answers, None for each request without one."""
        answers = [None] * len(requests)

        def one(index):
            answers[index] = self.host.send(requests[index], self.moves.secrets)
            self.answered.set()

        self.answered.clear()
        threads = [threading.Thread(target=one, args=(index,)) for index in range(len(requests))]
        for thread in threads + ([killer] if killer else []):
            thread.start()
        for thread in threads + ([killer] if killer else []):
            thread.join()
        return answers

    def advance(self, requests, answers):
        """The candidates after the answers, which must be possible in some order."""
        statuses = [answer.status if answer else None for answer in answers]
        after = {}
        for order in itertools.permutations(range(len(requests))):
            models = self.candidates
            for index in order:
                request, status = requests[index], statuses[index]
                models = [each for model in models
                          for each in (model.outcomes(request) if status is None else model.after(request, status))]
            after.update({model.identity(): model for model in models})
        self.note(requests, answers)
        if after:
            self.candidates = list(after.values())
            return
        self.complain(*self.explain(requests, answers))
        if self.host.daemon.ended() is None:
            self.adopt()

    def explain(self, requests, answers):
        """Names the property that does not hold, with the answers that are not possible, or are not possible together."""
        model, name, lines = self.candidates[0], "answers", []
        for request, answer in zip(requests, answers):
            expected = sorted(model.answers(request))
            lines.append(f"{request.kind}: {request}: {answer.status if answer else 'none'}; possible: {expected}; "
                         f"{answer.body[:300] if answer else ''!r}")
            if answer and answer.status not in expected:
                keyed = request.kind.startswith("repeat")
                scoped = request.token and model.refusal(request)
                return "idempotency keys" if keyed else "tokens" if scoped else name, lines[-1]
        return name, "\n".join(lines)

    def note(self, requests, answers):
        pairs = list(zip(requests, answers))
        self.last.append(" | ".join(f"{request}: {answer.status if answer else 'none'}" for request, answer in pairs))
        for request, answer in pairs:
            self.kinds[request.kind] += 1
            self.statuses[answer.status if answer else "none"] += 1
            if answer and answer.status == 201 and request.path == "/v1/tokens":
                self.moves.secrets[request.body["name"]] = answer.json()["token"]
            if answer and answer.status in (200, 201) and request.path.startswith("/v1/vgpus"):
                got = answer.json().get("id")
                if got != (request.body["id"] if request.method == "POST" else request.path.split("/")[3]):
                    self.complain("answers", f"{request}: the answer is about vGPU {got}")

    # --- comparisons ---

    def read(self):
        """The whole state, in the form that agree.py needs."""
        get, host = self.host.get, self.host.get("/v1/host")
        contracts = {}
        for vgpu in host["vgpus"]:
            contract = {name: vgpu[name] for name in ("gpu", *reference.CONTRACT) if name != "held_cap_pct"}
            held_pct = get(f"/v1/vgpus/{vgpu['id']}/contract")["held_cap_pct"] if vgpu["held"] else 0
            contracts[vgpu["id"]] = {**contract, "held_cap_pct": held_pct}
        silences = {each["reason"]: each["id"] for each in get("/v1/silences")["silences"]}
        policy = get("/v1/policy")["params"]
        rows = {row["id"]: (row["who"], row["method"], row["path"], row["status"] or 0)
                for row in get("/v1/audit?limit=1000")["audit"]}
        return {"state": {"contracts": contracts,
                          "gpus": {gpu["name"]: {"mode": gpu["mode"], "selling": gpu["selling"]} for gpu in host["gpus"]},
                          "policy": {name: policy[name] for name in moves.POLICY},
                          "tokens": {each["name"]: each["scope"] for each in get("/v1/tokens")["tokens"]},
                          "silences": dict.fromkeys(silences, True)},
                "silences": silences, "offers": get("/v1/offers?all=true")["offers"],
                "alerts": get("/v1/alerts?all=true")["alerts"], "now_s": time.monotonic(), "crashed": self.crashed,
                "row_ids": set(rows),
                "rows": [row for number, row in sorted(rows.items()) if number not in self.known_rows]}

    def differences(self, model):
        return [(name, text) for name, check in agree.CHECKS.items() for text in check(model, self.seen)]

    def agreeing(self):
        """The candidates with which everything that was read agrees."""
        self.seen = self.read()
        return [model for model in self.candidates if not self.differences(model)]

    def compare(self):
        """
        Compares the state with the candidates. Audit rows may be late. After a disagreement, what was read holds.
        """
        self.counts["comparisons"] += 1
        agreeing = until(self.agreeing, 0 if self.only_now() else SETTLED_S, 0.05)
        if agreeing:
            self.candidates = [agree.learned(model, self.seen) for model in agreeing]
            self.candidates = list({model.identity(): model for model in self.candidates}.values())
            self.known_rows |= self.seen["row_ids"]
            self.crashed = False
            return
        for name, text in min(map(self.differences, self.candidates), key=self.weight):
            self.complain(name, text)
        self.adopt()

    @staticmethod
    def weight(differences):
        """The order of the candidates: a lost audit row explains more than a lost change."""
        return sum(name != "audit" for name, _ in differences), len(differences)

    def only_now(self):
        """True if something else than the audit rows disagrees with each candidate: no time changes that."""
        self.seen = self.read()
        return all({name for name, _ in self.differences(model)} - {"audit"} for model in self.candidates)

    def adopt(self):
        self.seen = self.read()
        self.candidates = [agree.adopted(self.candidates[0], self.seen)]
        self.known_rows |= self.seen["row_ids"]
        self.crashed = False

    # --- what happens to the daemon ---

    def kill_soon(self):
        """A thread that kills the daemon while the requests of a batch are answered, or right after an answer."""
        pause_s = self.rng.choice((0, 0.001, 0.002, 0.004, 0.008, 0.02)) * self.rng.random()
        waits = self.rng.random() < 0.5

        def kill():
            if waits:
                self.answered.wait(rest.TIMEOUT_S)
            else:
                time.sleep(pause_s)
            self.host.daemon.kill()

        return threading.Thread(target=kill)

    def restart(self):
        """Starts the daemon that has ended. Sometimes the start is killed too."""
        while self.rng.random() < 0.15:
            self.counts["kills"] += 1
            self.crashed = True
            self.host.daemon.start()
            time.sleep(self.rng.random() * 0.2)
            self.host.daemon.kill()
        try:
            self.host.start()
        except Broken as error:
            self.complain("restarts", str(error))
            raise
        self.compare()

    def step(self):
        """One batch of requests, with or without a kill."""
        kills = self.rng.random() < KILL
        requests = self.batch()
        answers = self.send(requests, self.kill_soon() if kills else None)
        self.advance(requests, answers)
        if kills:
            self.counts["kills"] += 1
            self.crashed = True
            self.counts["answers unknown"] += answers.count(None)
            self.restart()
        elif self.host.daemon.ended() is not None:
            self.complain("restarts", f"the daemon ended with status {self.host.daemon.ended()}:\n{self.host.daemon.log_text()[-1500:]}")
            self.restart()

    def stop(self):
        self.counts["stops"] += 1
        if not self.host.daemon.stop():
            self.complain("restarts", f"SIGTERM does not stop the daemon:\n{self.host.daemon.log_text()[-1500:]}")
        self.restart()

    def reload(self):
        """Changes a key in the configuration file, validly or not, and sends SIGHUP."""
        self.counts["reloads"] += 1
        name = self.rng.choice(sorted(moves.POLICY))
        value = self.rng.choice([each for each in moves.POLICY[name] if each != self.file[name]])
        bad = self.rng.random() < 0.3
        offset = self.host.daemon.log_size()
        self.host.configure({**self.file, name: "nonsense" if bad else value})
        self.host.daemon.process.send_signal(signal.SIGHUP)
        if bad:
            if not until(lambda: "the configuration was not reloaded" in self.host.daemon.log_text(offset), SETTLED_S, 0.02):
                self.complain("state", "an invalid configuration was reloaded, or its message is missing")
            self.host.configure(self.file)
            return
        self.file[name] = value
        self.candidates = [model.reloaded(self.file) for model in self.candidates]
        wanted = self.candidates[0].state()["policy"]
        until(lambda: self.read()["state"]["policy"] == wanted and (
            name not in self.candidates[0].live or f"{name} stays" in self.host.daemon.log_text(offset)), SETTLED_S, 0.02)
        self.compare()

    def write(self):
        """Another program writes a cap: the vGPU is on hold at it, and the caps may add up to more than 100 %."""
        names = sorted(self.candidates[0].contracts)
        if len(self.candidates) > 1 or not names:
            return
        name, cap_pct = self.rng.choice(names), self.rng.choice((2, 15, 55, 90))
        gpu = self.candidates[0].contracts[name]["gpu"]
        if self.host.get(f"/v1/vgpus/{name}")["cap_pct"] == cap_pct:
            return
        self.counts["caps written by another program"] += 1
        path = os.path.join(self.host.tree.poke, gpu, f"{name}.cap")
        with open(path + ".new", "w") as file:
            file.write(str(cap_pct))
        os.rename(path + ".new", path)
        if until(lambda: self.host.get(f"/v1/vgpus/{name}/contract")["held_cap_pct"] == cap_pct, SETTLED_S, 0.02):
            self.candidates = [model.written(name, cap_pct) for model in self.candidates]
        else:
            self.complain("state", f"vGPU {name} is not on hold at {cap_pct} %, a cap that another program wrote")
        self.compare()

    def run(self, seconds):
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            self.counts["batches"] += 1
            self.step()
            for chance, happens in ((STOP, self.stop), (RELOAD, self.reload), (WRITE, self.write)):
                if self.rng.random() < chance:
                    happens()
            if self.counts["batches"] % COMPARE_EVERY == 0:
                self.compare()
            else:
                self.seen = {**self.seen, "offers": self.host.get("/v1/offers?all=true")["offers"]}
        self.compare()
        self.stop()


def report(machine):
    """Prints the counts and the TAP lines. Returns the number of properties that do not hold."""
    for text in machine.watch.complaints:
        machine.complain("sum of caps", text)
    for title, counts in (("requests", machine.kinds), ("answers", machine.statuses), ("other", machine.counts)):
        print(f"# {title}: " + ", ".join(f"{name} {number}" for name, number in sorted(counts.items(), key=str)))
    above, looks = machine.watch.above, machine.watch.looks
    print(f"# {sum(machine.kinds.values())} requests, {machine.counts['kills']} kills, "
          f"{machine.counts['comparisons']} comparisons, {sum(machine.failed.values())} disagreements; "
          f"caps were above 100 % in {above} of {looks} looks")
    for number, name in enumerate(PROPERTIES, 1):
        print(f"{'not ok' if machine.failed[name] else 'ok'} {number} - {name}: {machine.failed[name]} disagreements")
    print(f"1..{len(PROPERTIES)}")
    return sum(machine.failed[name] > 0 for name in PROPERTIES)


def main():
    build = os.path.abspath(os.environ.get("B") or "build")
    seconds = int(os.environ.get("MACHINE_S") or 3600)
    seed = int(os.environ.get("SEED") or random.SystemRandom().randrange(1_000_000))
    print(f"# SEED={seed} MACHINE_S={seconds}", flush=True)
    host = Host(build, random.Random(seed))
    try:
        machine = Machine(host, seed)
        try:
            machine.run(seconds)
        except (Broken, rest.NoAnswer) as error:
            machine.complain("restarts", str(error))
        return 1 if report(machine) else 0
    finally:
        host.close()


if __name__ == "__main__":
    sys.exit(main())
