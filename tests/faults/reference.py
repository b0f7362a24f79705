# SPDX-License-Identifier: MIT
# The reference model of gover-d for machine.py: which answers a request may get, and what each answer changes. Pure: reads
# no clock and does no I/O. The values of a Model are replaced, never changed in place, so that a copy is cheap.
#
# Where the policy or the time decides, more than one answer is possible: a contract may or may not fit if the contracts of
# its GPU add up to more than 100 %, and an offer may end at any time.
import dataclasses
import json

SCOPES = ("none", "read", "operate", "admin")
KEYS_KNOWN = 200  # the daemon keeps the newest 256 keys; older ones than these are not repeated
CAP_FIELDS = {"initial_cap_pct", "min_cap_pct", "burst", "held", "held_cap_pct"}
CONTRACT = {"vm": "", "labels": {}, "initial_cap_pct": None, "min_cap_pct": 0, "target_fps": 0, "weight": 1, "burst": False,
            "held": False, "held_cap_pct": 0}
ANY = "any"  # held_cap_pct while it is unknown: a client has held the cap in force
MARGIN_S = 5.0  # a hold of an offer lasts at least until so many seconds before its end
OVER = {409: None, 404: None}  # the answers to a request about an offer that has ended
FIRST = ("PATCH /v1/vgpus/",)  # here the object is looked up before the body is checked


@dataclasses.dataclass(frozen=True)
class Request:
    method: str
    path: str
    body: object = None  # bytes: sent as they are
    token: str = ""  # name of the token of the caller; "": the caller on the unix socket
    key: str = ""  # Idempotency-Key
    match: str = ""  # If-Match
    kind: str = ""  # for the counts
    fault: int = 0  # status of the answer to a body that is wrong in itself
    offer: tuple = ()  # GPU and cap of the offer that a claim claims; empty: no such offer
    number: int = 0  # counts the requests
    now_s: float = 0.0

    def __str__(self):
        words = [self.method, self.path, str(self.body), f"caller {self.token or 'root'}", self.key and f"key {self.key}"]
        return ", ".join(word for word in words if word)


@dataclasses.dataclass(frozen=True, order=True)
class Row:
    """An audit row."""

    who: str
    method: str
    path: str
    status: int  # 0: the row of a request that a crash has interrupted


@dataclasses.dataclass(frozen=True)
class Sale:
    """The first request of an idempotency key."""

    path: str
    body: str
    vgpu: str
    number: int  # of the request


def text_of(body):
    return json.dumps(body, sort_keys=True)


def most_pct(contract):
    """The largest cap that the vGPU may have."""
    if contract["held"] and contract["held_cap_pct"] != ANY:
        return contract["held_cap_pct"]
    return 100 if contract["burst"] else contract["initial_cap_pct"]


def least_pct(contract):
    """The smallest cap that the vGPU may have."""
    if contract["held"] and contract["held_cap_pct"] != ANY:
        return contract["held_cap_pct"]
    return max(1, contract["min_cap_pct"])


class Model:
    def __init__(self, root, gpus, policy):
        self.root = root  # name of the caller on the unix socket
        self.contracts = {}  # id: contract, with "gpu" and the number of the request that sold it
        self.gpus = {gpu: {"mode": "act", "selling": "on"} for gpu in gpus}
        self.file = dict(policy)  # values of the configuration file
        self.live = {}  # values that clients have changed
        self.tokens = {}  # name: scope
        self.silences = {}  # reason: id; None until it is read
        self.keys = {}  # (owner, key): Sale, in the order of the sales
        self.sold = {}  # id of an offer: id of the vGPU
        self.withdrawn = {}  # id of an offer: True
        self.holds = {}  # id of an offer: (holder, end in s)
        self.acked = {}  # id of an alert: True
        self.rows = ()  # audit rows since the last comparison

    def copy(self):
        other = object.__new__(Model)
        other.__dict__ = {name: dict(value) if isinstance(value, dict) else value for name, value in self.__dict__.items()}
        return other

    def state(self):
        """What clients read, in the form of machine.Reading.state."""
        contracts = {name: {field: each[field] for field in ("gpu", *CONTRACT)} for name, each in self.contracts.items()}
        return {"contracts": contracts, "gpus": self.gpus, "policy": {**self.file, **self.live}, "tokens": self.tokens,
                "silences": dict.fromkeys(self.silences, True)}

    def identity(self):
        values = {name: sorted(value.items(), key=repr) if isinstance(value, dict) else value
                  for name, value in self.__dict__.items()}
        return repr({**values, "rows": sorted(self.rows)})

    # --- answers ---

    def answers(self, request):
        """The possible answers: {status: change}. A change is a function of the Model that it changes, or None."""
        refusal = self.refusal(request)
        if refusal:
            return dict.fromkeys(refusal)
        parts = request.path.partition("?")[0].strip("/").split("/")[1:]
        return getattr(self, f"{request.method.lower()}_{parts[0]}")(request, *parts[1:])

    def after(self, request, status):
        """The Models after an answer: none if this answer is not possible."""
        answers = self.answers(request)
        return [self.changed(request, status, answers[status])] if status in answers else []

    def outcomes(self, request):
        """The Models that are possible after a request without an answer."""
        changes = [change for change in self.answers(request).values() if change]
        return [self] + [self.changed(request, 0, change) for change in changes]

    def changed(self, request, status, change):
        if not change:
            return self
        model = self.copy()
        change(model)
        model.rows += (Row(self.who(request), request.method, request.path, status),)
        return model

    def who(self, request):
        return f"token {request.token}" if request.token else self.root

    def refusal(self, request):
        """The statuses of a request that is refused because of its caller or its body."""
        admin = request.path.startswith(("/v1/tokens", "/v1/audit"))
        wanted = "admin" if admin else "read" if request.method == "GET" else "operate"
        scope = self.tokens.get(request.token, "none") if request.token else "admin"
        if scope == "none":
            return (401, 429)  # many invalid tokens block their address
        if SCOPES.index(scope) < SCOPES.index(wanted):
            return (403,)
        late = f"{request.method} {request.path}".startswith(FIRST) and request.fault != 400
        return (request.fault,) if request.fault and not late else ()

    def get_host(self, _):
        return {200: None}

    get_tokens = get_audit = get_host

    # --- vGPUs ---

    def fits(self, name, contract):
        """Whether the GPU has room for a contract: (True,), (False,), or both if the policy decides."""
        others = [each for other, each in self.contracts.items() if each["gpu"] == contract["gpu"] and other != name]
        if sum(map(most_pct, others)) + most_pct(contract) <= 100:
            return (True,)
        grows = name not in self.contracts or least_pct(contract) > most_pct(self.contracts[name])
        full = sum(map(least_pct, others)) + least_pct(contract) > 100
        return (False,) if grows and full else (True, False)

    def replay(self, request):
        """The answers to a request whose key is known, or None."""
        sale = self.keys.get((self.who(request), request.key)) if request.key else None
        if not sale:
            return None
        if (sale.path, sale.body) != (request.path, text_of(request.body)):
            return {422: None}
        if self.contracts.get(sale.vgpu, {}).get("number") != sale.number:
            return {410: None}
        return {201 if request.path == "/v1/vgpus" else 200: None}

    def sell(self, request, terms):
        """The change of a sale."""
        contract = {**CONTRACT, **terms, "number": request.number}
        name = contract.pop("id")

        def change(model):
            model.contracts[name] = contract
            if request.key:
                owner = (model.who(request), request.key)
                model.keys.pop(owner, None)
                model.keys[owner] = Sale(request.path, text_of(request.body), name, request.number)
                while len(model.keys) > KEYS_KNOWN:
                    model.keys.pop(next(iter(model.keys)))

        return change

    def post_vgpus(self, request):
        terms = request.body
        replayed = self.replay(request)
        if replayed:
            return replayed
        known = self.contracts.get(terms["id"], {})
        if terms.get("gpu", known.get("gpu")) not in self.gpus or terms.get("min_cap_pct", 0) > terms["initial_cap_pct"]:
            return {422: None}
        if known:
            return {409: None}
        fits = self.fits(terms["id"], {**CONTRACT, **terms})
        return {201 if fit else 409: self.sell(request, terms) if fit else None for fit in fits}

    def patch_vgpus(self, request, name):
        before, body = self.contracts.get(name), request.body
        if not before:
            return {404: None}
        if request.fault or request.match:
            return {request.fault or 412: None}
        after = {**before, **body}
        if not after["held"]:
            after["held_cap_pct"] = 0
        elif after["held_cap_pct"] == 0:
            after["held_cap_pct"] = ANY
        if not self.allowed(body, after):
            return {422: None}

        def change(model):
            model.contracts[name] = after

        if not CAP_FIELDS & set(body):
            return {200: change}
        if after["held_cap_pct"] == ANY:  # perhaps above a ceiling that was lowered
            return {200: change, 422: None, 409: None} if set(body) != {"held"} else {200: change}
        return {200 if fit else 409: change if fit else None for fit in self.fits(name, after)}

    @staticmethod
    def allowed(body, after):
        """Whether the terms of a contract are consistent. They are only checked if the request changes one of them."""
        if "held_cap_pct" in body and not after["held"]:
            return False
        if not CAP_FIELDS & set(body):
            return True
        if after["min_cap_pct"] > after["initial_cap_pct"]:
            return False
        ceiling = 100 if after["burst"] else after["initial_cap_pct"]
        return not after["held"] or after["held_cap_pct"] == ANY or after["held_cap_pct"] <= ceiling

    def delete_vgpus(self, _, name):
        return {204: lambda model: model.contracts.pop(name)} if name in self.contracts else {404: None}

    def written(self, name, cap_pct):
        """The Model after another program has written a cap: the vGPU is on hold."""
        model = self.copy()
        model.contracts[name] = {**self.contracts[name], "held": True, "held_cap_pct": cap_pct}
        return model

    # --- offers: each may end at any time and is forgotten later, and a claim may not fit ---

    def refused_offer(self, request, number, holder):
        """The answers to a request about an offer that certainly refuses it, or None."""
        if not request.offer:
            return {404: None}
        if number in self.sold or number in self.withdrawn:
            return OVER
        by, until_s = self.holds.get(number, ("", 0))
        if holder is not None and by != holder and request.now_s < until_s - MARGIN_S:
            return OVER
        return None

    def post_offers(self, request, text, verb):
        return getattr(self, f"{verb}_offer")(request, int(text))

    def claim_offer(self, request, number):
        answers = self.replay(request) or self.refused_offer(request, number, request.key)
        if answers:
            return answers
        gpu, cap_pct = request.offer
        sell = self.sell(request, {**request.body, "gpu": gpu, "initial_cap_pct": cap_pct})

        def change(model):
            sell(model)
            model.sold[number] = request.body["id"]
            model.holds.pop(number, None)

        return OVER if request.body["id"] in self.contracts else {200: change, **OVER}

    def hold_offer(self, request, number):
        holder, end_s = request.body["holder"], request.now_s + request.body["ttl_s"]

        def change(model):
            by, until_s = model.holds.get(number, ("", 0))
            model.holds[number] = (holder, max(end_s, until_s) if by == holder else end_s)

        return self.refused_offer(request, number, holder) or {200: change, **OVER}

    def delete_offers(self, request, text):
        def change(model):
            model.withdrawn[int(text)] = True
            model.holds.pop(int(text), None)

        return self.refused_offer(request, int(text), None) or {204: change, **OVER}

    # --- the rest of the state ---

    def patch_gpus(self, request, name):
        def change(model):
            model.gpus[name] = {**model.gpus[name], **request.body}

        return {200: change} if name in self.gpus else {404: None}

    def patch_policy(self, request):
        if not set(request.body) <= set(self.file):
            return {422: None}

        def change(model):
            for name, value in request.body.items():
                model.live.pop(name, None)
                if value not in (None, model.file[name]):
                    model.live[name] = value

        return {200: change}

    def reloaded(self, values):
        """The Model after a reload of the configuration, or a start with it."""
        model = self.copy()
        model.file = dict(values)
        return model

    def post_tokens(self, request):
        name, scope = request.body["name"], request.body["scope"]
        if name in self.tokens:
            return {409: None}
        return {201: lambda model: model.tokens.update({name: scope})}

    def delete_tokens(self, _, name):
        return {204: lambda model: model.tokens.pop(name)} if name in self.tokens else {404: None}

    def post_silences(self, request):
        return {201: lambda model: model.silences.update({request.body["reason"]: None})}

    def delete_silences(self, _, text):
        reason = next((reason for reason, number in self.silences.items() if number == int(text)), None)
        return {204: lambda model: model.silences.pop(reason)} if reason else {404: None}

    def post_alerts(self, request, text, _):
        known = {200: lambda model: model.acked.update({int(text): True})}
        return known if int(text) < 10**9 else {404: None}
