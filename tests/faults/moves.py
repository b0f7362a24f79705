# SPDX-License-Identifier: MIT
# The random requests of machine.py: each is a reference.Request. A part of them is wrong on purpose.
import dataclasses
import datetime

from reference import Request

VGPUS = 20
TOKENS_MAX, SILENCES_MAX = 8, 6
UNKNOWN = 10**9
# keys of the policy, with their values
POLICY = {"overload_pct": (90, 92, 95), "steal_fraction": (0.1, 0.2, 0.3), "quiet_periods": (1, 2, 3),
          "weight_qos": (1, 2, 3)}
# kind of a request (a method of Moves): its share
SHARES = {"sell": 8, "sell_with_key": 8, "repeat": 10, "repeat_changed": 4, "repeat_as_other": 3, "change": 12, "terms": 8,
          "hold": 6, "hold_in_force": 2, "release": 5, "remove": 9, "bad_contract": 6, "other_etag": 2, "claim": 40,
          "claim_sold": 3, "hold_offer": 12, "withdraw": 3, "gpu": 4, "bad_gpu": 2, "policy": 4, "bad_policy": 3, "token": 3,
          "token_removal": 3, "bad_token": 2, "read": 6, "silence": 3, "silence_removal": 3, "bad_silence": 2, "ack": 3}


def from_now(days):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")


def terms_of(offer):
    return (offer["gpu"], offer["initial_cap_pct"]) if offer else ()


class Moves:
    def __init__(self, rng, gpus):
        self.rng, self.gpus = rng, tuple(gpus)
        self.count = 0
        self.sales = []  # requests with a key that were made, the newest last
        self.secrets = {}  # name of a token, also of a deleted one: its text
        self.model = self.seen = None

    def next(self, model, read, now_s):
        """A random request. @model and @read: what is known now."""
        self.model, self.seen = model, read
        request = None
        while request is None:
            kind = self.rng.choices(list(SHARES), SHARES.values())[0]
            request = getattr(self, kind)()
        self.count += 1
        given = {"kind": kind, "number": self.count, "now_s": now_s}
        if kind not in ("repeat", "repeat_changed"):  # a key belongs to its caller
            given["token"] = self.caller()
        request = dataclasses.replace(request, **given)
        if request.key and kind in ("sell_with_key", "claim"):
            self.sales = self.sales[-60:] + [request]
        return request

    def caller(self):
        """The caller on the unix socket, or a token, seldom a deleted one."""
        valid = [name for name in self.model.tokens if name in self.secrets]
        deleted = [name for name in self.secrets if name not in self.model.tokens]
        if valid and self.rng.random() < 0.4:
            return self.rng.choice(valid)
        return self.rng.choice(deleted[-3:]) if deleted and self.rng.random() < 0.02 else ""

    def new_name(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    def some_vgpu(self):
        """The path of a vGPU that exists, seldom of one that may not exist."""
        known = sorted(self.model.contracts)
        if not known or self.rng.random() < 0.04:
            return f"/v1/vgpus/v{self.rng.randrange(VGPUS)}"
        return f"/v1/vgpus/{self.rng.choice(known)}"

    # --- vGPUs ---

    def contract(self):
        load_pct = self.rng.choice((1, 1, 2, 30))
        labels = {"workload": f"load:pct={load_pct}", "n": self.new_name("label")}
        return {"id": f"v{self.rng.randrange(VGPUS)}", "gpu": self.rng.choice(self.gpus),
                "initial_cap_pct": self.rng.choice((3, 5, 8, 10, 20, 30)), "min_cap_pct": self.rng.choice((0, 0, 1, 3)),
                "weight": self.rng.choice((1, 2, 0.5)), "target_fps": self.rng.choice((0, 0, 30)), "vm": self.new_name("vm"),
                "burst": self.rng.random() < 0.05, "labels": labels}

    def sell(self):
        return Request("POST", "/v1/vgpus", self.contract())

    def sell_with_key(self):
        return Request("POST", "/v1/vgpus", self.contract(), key=self.new_name("key-"))

    def repeat(self):
        return self.rng.choice(self.sales[-40:]) if self.sales else None

    def repeat_changed(self):
        first = self.repeat()
        if not first:
            return None
        if self.rng.random() < 0.3:  # the same key for another kind of sale
            return Request("POST", f"/v1/offers/{UNKNOWN}/claim", {"id": first.body["id"]}, first.token, first.key)
        return dataclasses.replace(first, body={**first.body, "vm": "another"})

    def repeat_as_other(self):
        """Another caller uses the same key: usually it is executed, because each caller has its own keys."""
        return self.repeat()

    def change(self):
        terms = self.contract()
        names = self.rng.sample(("vm", "weight", "target_fps"), 2)
        return Request("PATCH", self.some_vgpu(), {name: terms[name] for name in names})

    def terms(self):
        return Request("PATCH", self.some_vgpu(), {"initial_cap_pct": self.rng.choice((2, 3, 5, 10, 20, 40)),
                                                   "min_cap_pct": self.rng.choice((0, 0, 1, 4))})

    def hold(self):
        return Request("PATCH", self.some_vgpu(), {"held": True, "held_cap_pct": self.rng.choice((1, 2, 3, 5, 10, 25))})

    def hold_in_force(self):
        return Request("PATCH", self.some_vgpu(), {"held": True})

    def release(self):
        held = [name for name, each in self.model.contracts.items() if each["held"]]
        return Request("PATCH", f"/v1/vgpus/{self.rng.choice(held)}" if held else self.some_vgpu(), {"held": False})

    def remove(self):
        if len(self.model.contracts) < 4:
            return None
        return Request("DELETE", self.some_vgpu())

    def bad_contract(self):
        terms = self.contract()
        return self.rng.choice((
            Request("POST", "/v1/vgpus", b'{"id": "x"', fault=400),
            Request("POST", "/v1/vgpus", {**terms, "colour": "blue"}, fault=422),
            Request("POST", "/v1/vgpus", {**terms, "initial_cap_pct": 101}, fault=422),
            Request("POST", "/v1/vgpus", {**terms, "id": "../x"}, fault=422),
            Request("POST", "/v1/vgpus", terms, key="two words", fault=400),
            Request("POST", "/v1/vgpus", {**terms, "gpu": "gpu9"}),
            Request("POST", "/v1/vgpus", {name: value for name, value in terms.items() if name != "gpu"}),
            Request("POST", "/v1/vgpus", {**terms, "initial_cap_pct": 3, "min_cap_pct": 9}),
            Request("PATCH", self.some_vgpu(), b"[]", fault=400),
            Request("PATCH", self.some_vgpu(), {"weight": -1}, fault=422),
            Request("PATCH", self.some_vgpu(), {"gpu": "gpu1"}, fault=422),
            Request("PATCH", self.some_vgpu(), {"initial_cap_pct": 2, "min_cap_pct": 9}),
            Request("PATCH", self.some_vgpu(), {"held": False, "held_cap_pct": 5})))

    def other_etag(self):
        return Request("PATCH", self.some_vgpu(), {"weight": 1}, match='"of-another-time"')

    # --- offers ---

    def offer_path(self, offer, verb=""):
        return f"/v1/offers/{offer}{verb}"

    def some_offer(self, state="open"):
        offers = [each for each in self.seen["offers"] if each["state"] == state]
        return self.rng.choice(offers[-4:]) if offers else None

    def claim(self):
        offer = self.some_offer()
        if not offer:
            return None
        key = self.model.holds.get(offer["id"], ("",))[0]
        if not key or self.rng.random() < 0.2:
            key = self.rng.choice(("", self.new_name("key-")))
        body = {"id": f"v{self.rng.randrange(VGPUS)}", "vm": self.new_name("vm")}
        return Request("POST", self.offer_path(offer["id"], "/claim"), body, key=key, offer=terms_of(offer))

    def claim_sold(self):
        offer = self.rng.choice([None, *self.seen["offers"][-12:]])
        path = self.offer_path(offer["id"] if offer else UNKNOWN, "/claim")
        return Request("POST", path, {"id": f"v{self.rng.randrange(VGPUS)}"}, key=self.new_name("key-"),
                       offer=terms_of(offer))

    def hold_offer(self):
        offer = self.some_offer()
        if not offer:
            return None
        holder = self.rng.choice((self.model.holds.get(offer["id"], ("",))[0], "")) or self.new_name("key-")
        body = {"holder": holder, "ttl_s": self.rng.choice((1, 10, 30))}
        return Request("POST", self.offer_path(offer["id"], "/hold"), body, offer=terms_of(offer))

    def withdraw(self):
        offer = self.some_offer(self.rng.choice(("open", "open", "closed")))
        path = self.offer_path(offer["id"] if offer else UNKNOWN)
        return Request("DELETE", path, offer=terms_of(offer))

    # --- the rest of the state ---

    def gpu(self):
        sells = [{"selling": "on", "mode": "act"}] * 5  # most of the time, there are offers
        body = self.rng.choice((*sells, {"selling": "on"}, {"selling": "off"}, {"mode": "act"}, {"mode": "observe"},
                                {"mode": "frozen"}))
        return Request("PATCH", f"/v1/gpus/{self.rng.choice(self.gpus)}", body)

    def bad_gpu(self):
        return self.rng.choice((Request("PATCH", "/v1/gpus/gpu9", {"selling": "on"}),
                                Request("PATCH", "/v1/gpus/gpu0", {"mode": "fast"}, fault=422),
                                Request("PATCH", "/v1/gpus/gpu1", b"{", fault=400)))

    def policy(self):
        names = self.rng.sample(sorted(POLICY), self.rng.choice((1, 1, 2)))
        return Request("PATCH", "/v1/policy", {name: self.rng.choice((None, *POLICY[name])) for name in names})

    def bad_policy(self):
        return self.rng.choice((Request("PATCH", "/v1/policy", {"overload_pct": 90, "colour": 1}),
                                Request("PATCH", "/v1/policy", {"quiet_periods": 4, "overload_pct": -1}, fault=422),
                                Request("PATCH", "/v1/policy", {"steal_fraction": []}, fault=422)))

    def token(self):
        if len(self.model.tokens) >= TOKENS_MAX:
            return None
        scope = self.rng.choice(("read", "operate", "operate", "admin"))
        return Request("POST", "/v1/tokens", {"name": self.new_name("t"), "scope": scope})

    def token_removal(self):
        return Request("DELETE", f"/v1/tokens/{self.rng.choice([*sorted(self.model.tokens), 'nobody'])}")

    def bad_token(self):
        known = sorted(self.model.tokens)
        if known and self.rng.random() < 0.5:
            return Request("POST", "/v1/tokens", {"name": self.rng.choice(known), "scope": "read"})
        return Request("POST", "/v1/tokens", {"name": self.new_name("t"), "scope": "all"}, fault=422)

    def read(self):
        return Request("GET", self.rng.choice(("/v1/host", "/v1/tokens", "/v1/audit?limit=3")))

    def silence(self):
        if len(self.model.silences) >= SILENCES_MAX:
            return None
        return Request("POST", "/v1/silences", self.new_silence())

    def new_silence(self):
        return {"gpu": self.rng.choice(self.gpus), "until": from_now(1), "reason": self.new_name("reason")}

    def silence_removal(self):
        numbers = [number for number in self.model.silences.values() if number]
        return Request("DELETE", f"/v1/silences/{self.rng.choice([*numbers, UNKNOWN])}")

    def bad_silence(self):
        good = self.new_silence()
        wrong = self.rng.choice(({**good, "until": from_now(-1)}, {**good, "gpu": ""}, {**good, "gpu": "gpu9"}))
        return Request("POST", "/v1/silences", wrong, fault=422)

    def ack(self):
        raised = [alert["id"] for alert in self.seen["alerts"] if not alert["cleared_at"]]
        return Request("POST", f"/v1/alerts/{self.rng.choice([*raised[-6:], UNKNOWN])}/ack")
