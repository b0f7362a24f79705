# SPDX-License-Identifier: MIT
# The clients of a host: random requests that change something, each noted in the ledger with its result.
import datetime
import threading

import ledger as books
import rest
from tree import PARENTS, VGPUS_MAX, until

GPUS = tuple(PARENTS)

OFFER_S = 3.0
CONTRACT = {"initial_cap_pct": None, "min_cap_pct": 0, "target_fps": 0, "weight": 1, "burst": False, "vm": "",
            "labels": {}, "held": False, "held_cap_pct": 0}
# keys of the policy that clients change, with their values
POLICY = {"overload_pct": (90, 95), "steal_fraction": (0.1, 0.2, 0.3), "quiet_periods": (3, 4), "weight_qos": (1, 2)}
CHANGES = ("change", "change", "raise_cap", "raise_cap", "hold", "sell", "gpu", "policy", "token", "silence")


def tomorrow():
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")


def merged(members):
    return lambda value: None if value is None else {**value, **members}


class Clients:
    def __init__(self, world):
        self.world = world
        self.rng = None  # the random numbers of the current fault
        self.ledger = books.Ledger()
        self.counter = 0
        self.accepted = []  # (method, target, status) of each answer with 2xx
        self.unanswered = []  # (method, target) of each request without an answer
        self.violations = []  # promises that were broken before the eyes of a client
        self.later = None
        self.newcomers = []  # vGPUs that were created for a claim

    # --- one request ---

    def send(self, method, target, body, key, change, headers=None):
        """Sends a request that changes the object @key. Returns its Answer or None."""
        try:
            answer = self.world.ask(method, target, body, headers)
        except rest.NoAnswer:
            answer = None
            self.unanswered.append((method, target))
        self.ledger.note(key, change, books.outcome(answer and answer.status))
        if answer and 200 <= answer.status < 300:
            self.accepted.append((method, target, answer.status))
        return answer

    def act(self, kind=None):
        """One random change, or one of the given kind (a method of this class). Returns its Answer or None."""
        kind = kind or self.rng.choice(CHANGES)
        if kind in ("change", "raise_cap", "hold") and not self.ledger.names("vgpu"):
            kind = "sell"  # a change would turn a vGPU without a contract into one with a contract
        return getattr(self, kind)()

    def act_later(self, kind):
        """Starts a change that may take long; finish_later() waits for its answer."""
        self.later = threading.Thread(target=self.act, args=(kind,))
        self.later.start()

    def finish_later(self):
        self.later.join()

    def name(self, prefix):
        self.counter += 1
        return f"{prefix}{self.counter}"

    # --- contracts ---

    def contract_terms(self):
        initial = self.rng.randint(15, 45)
        return {"initial_cap_pct": initial, "min_cap_pct": self.rng.randint(0, 5), "weight": self.rng.choice((1, 2, 0.5)),
                "vm": self.name("vm"), "labels": {"n": self.name("label"), **self.world.tree.labels()}}

    def add(self, vgpu):
        """A contract for a vGPU that has none."""
        terms = self.contract_terms()
        value, body = {**CONTRACT, **terms}, {"id": vgpu, "gpu": self.world.tree.gpu_of[vgpu], **terms}
        return self.send("POST", "/v1/vgpus", body, ("vgpu", vgpu), lambda _: value)

    def change_vgpu(self, vgpu, members, stored=None):
        return self.send("PATCH", f"/v1/vgpus/{vgpu}", members, ("vgpu", vgpu), merged(stored or members))

    def change(self):
        """Changes some terms of a contract."""
        vgpu = self.some_contract()
        terms = self.contract_terms()
        for name in self.rng.sample(sorted(terms), self.rng.randint(0, 3)):
            terms.pop(name)
        return self.change_vgpu(vgpu, terms)

    def change_for_sure(self):
        """Changes the name of a virtual machine, which is never rejected."""
        names = self.ledger.names("vgpu")
        return self.change_vgpu(names[0], {"vm": self.name("vm")}) if names else self.add(self.world.vgpus[0])

    def raise_cap(self):
        """Raises or lowers only the sold cap."""
        return self.change_vgpu(self.some_contract(), {"initial_cap_pct": self.rng.randint(10, 60)})

    def hold(self):
        """Holds the cap of a vGPU, or releases it."""
        vgpu = self.some_contract()
        value = self.ledger.known(("vgpu", vgpu)) or {}
        if value.get("held"):
            return self.change_vgpu(vgpu, {"held": False}, {"held": False, "held_cap_pct": 0})
        ceiling = 100 if value.get("burst") else value.get("initial_cap_pct", 10)
        members = {"held": True, "held_cap_pct": self.rng.randint(1, min(ceiling, 25))}
        return self.change_vgpu(vgpu, members)

    def hold_otherwise(self):
        """Holds a vGPU at another cap than now, so that a cap changes for sure."""
        vgpu = self.some_contract()
        cap_pct = self.world.get(f"/v1/vgpus/{vgpu}")["cap_pct"]
        return self.change_vgpu(vgpu, {"held": True, "held_cap_pct": 5 if cap_pct != 5 else 6})

    def sell(self):
        """Ends a contract, or sells a vGPU that has none."""
        vgpu = self.rng.choice(self.world.vgpus)
        if self.ledger.known(("vgpu", vgpu)) is None:
            return self.add(vgpu)
        return self.send("DELETE", f"/v1/vgpus/{vgpu}", None, ("vgpu", vgpu), lambda _: None)

    def some_contract(self):
        return self.rng.choice(self.ledger.names("vgpu"))

    # --- the rest of the state ---

    def gpu(self):
        members = self.rng.choice(({"selling": "off"}, {"selling": "on"}, {"mode": "observe", "selling": "on"},
                                   {"mode": "act"}, {"mode": "act", "selling": "on"}))
        return self.change_gpu(self.rng.choice(GPUS), members)

    def change_gpu(self, gpu, members):
        return self.send("PATCH", f"/v1/gpus/{gpu}", members, ("gpu", gpu), merged(members))

    def policy(self):
        name = self.rng.choice(sorted(POLICY))
        value = self.rng.choice(POLICY[name])
        return self.send("PATCH", "/v1/policy", {name: value}, ("policy", name), lambda _: value)

    def token(self):
        """Creates a token, or revokes one if there are several."""
        names = self.ledger.names("token")
        if len(names) > 3:
            name = self.rng.choice(names)
            return self.send("DELETE", f"/v1/tokens/{name}", None, ("token", name), lambda _: None)
        name, scope = self.name("token"), self.rng.choice(("read", "operate", "admin"))
        return self.send("POST", "/v1/tokens", {"name": name, "scope": scope}, ("token", name), lambda _: scope)

    def silence(self):
        """Adds a silence, or ends one if there are several. The reason identifies a silence, because a client that got no
        answer does not know the id."""
        listed = {}
        try:
            listed = {each["reason"]: each["id"] for each in self.world.get("/v1/silences")["silences"]}
        except rest.NoAnswer:
            pass
        reasons = [reason for reason in self.ledger.names("silence") if reason in listed]
        if len(reasons) > 3:
            reason = self.rng.choice(reasons)
            return self.send("DELETE", f"/v1/silences/{listed[reason]}", None, ("silence", reason), lambda _: None)
        reason = self.name("reason")
        body = {"alert": "fps_missing", "until": tomorrow(), "reason": reason}
        return self.send("POST", "/v1/silences", body, ("silence", reason), lambda _: True)

    # --- offers ---

    def let_act(self):
        """Sets all GPUs to mode act, in which the daemon repeats cap writes that fail, and sells a vGPU if none is sold."""
        if not self.ledger.names("vgpu"):
            self.add(self.world.vgpus[0])
        for gpu in GPUS:
            if (self.ledger.known(("gpu", gpu)) or {}).get("mode") != "act":
                self.change_gpu(gpu, {"mode": "act"})

    def act_until_offer(self):
        """Waits until the daemon makes an offer; lets it sell if it may not. Returns False without an offer."""
        sells = {"mode": "act", "selling": "on"}
        for gpu in GPUS:
            if self.ledger.known(("gpu", gpu)) != sells:
                self.change_gpu(gpu, sells)
        return bool(until(self.open_offer, OFFER_S, 0.02))

    def open_offer(self):
        """An open offer, or None; also None if the daemon has ended."""
        try:
            offers = self.world.get("/v1/offers")["offers"]
        except rest.NoAnswer:
            return None
        return next((each for each in offers if each["state"] == "open"), None)

    def claim_soon(self):
        """Two clients claim the next offer."""
        return self.claim(2) if self.act_until_offer() else None

    def claim(self, claimants=1):
        """
        Creates vGPUs on the bus as an orchestrator does, and lets @claimants claim the open offer at the same time. Returns
        the number of claims that were accepted, or None if no offer is open.
        """
        offer = self.open_offer()
        if not offer:
            return None
        room = VGPUS_MAX - sum(gpu == offer["gpu"] for vgpu, gpu in self.world.tree.gpu_of.items()
                               if vgpu in self.world.vgpus + self.newcomers)
        if room < 1:
            return None
        vgpus = [self.world.new_vgpu(offer["gpu"], 5) for _ in range(min(room, claimants))]
        self.newcomers += vgpus
        answers = [None] * claimants
        threads = [threading.Thread(target=self.claim_one, args=(offer["id"], vgpu, answers, i))
                   for i, vgpu in enumerate(vgpus)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self.note_claims(offer, vgpus, answers)

    def claim_one(self, offer, vgpu, answers, index):
        try:
            answers[index] = self.world.ask("POST", f"/v1/offers/{offer}/claim", {"id": vgpu}, {"Idempotency-Key": vgpu})
        except rest.NoAnswer:
            pass

    def note_claims(self, offer, vgpus, answers):
        results = [books.outcome(answer and answer.status) for answer in answers]
        terms = {**CONTRACT, "initial_cap_pct": offer["initial_cap_pct"], "target_fps": offer["target_fps"]}
        for vgpu, result in zip(vgpus, results):
            self.ledger.note(("vgpu", vgpu), lambda _: terms, result)
            self.ledger.note(("sale", str(offer["id"])), lambda _, vgpu=vgpu: vgpu, result)
            if result == books.DONE:
                self.accepted.append(("POST", f"/v1/offers/{offer['id']}/claim", 200))
        if results.count(books.DONE) > 1:
            self.violations.append(f"offer {offer['id']}: sold {results.count(books.DONE)} times")
        return results.count(books.DONE)

    def repeat_claims(self):
        """
        Repeats the claims of the newcomers after a fault: the same key gets the same vGPU, another key is rejected. A claim
        that was not executed is not repeated.
        """
        for offer in self.world.get("/v1/offers?all=true")["offers"]:
            if offer["vgpu"] not in self.newcomers:
                continue
            for key, vgpu, allowed in ((offer["vgpu"], offer["vgpu"], (200, 201)), ("another", "another", (409,))):
                answer = self.world.ask("POST", f"/v1/offers/{offer['id']}/claim", {"id": vgpu}, {"Idempotency-Key": key})
                sold = answer.json().get("vgpu") or {}
                if answer.status not in allowed or sold.get("id", offer["vgpu"]) != offer["vgpu"]:
                    self.violations.append(f"offer {offer['id']}, sold to {offer['vgpu']}: a claim with key {key} is "
                                           f"answered with {answer.status} {answer.body[:200]!r}")

    def remove_newcomers(self):
        """Removes the vGPUs of claims and their contracts, so that the next offer finds room."""
        for vgpu in self.newcomers:
            if self.ledger.possible.get(("vgpu", vgpu), [None]) != [None]:
                self.send("DELETE", f"/v1/vgpus/{vgpu}", None, ("vgpu", vgpu), lambda _: None)
            self.world.tree.remove(vgpu)
        self.newcomers = []
        self.ledger.forget("sale")
