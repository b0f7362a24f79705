# SPDX-License-Identifier: MIT
# The state in which a fault of silence begins: contracts with targets, programs that report frames, loads, and one policy. A
# Watch reads the host during the fault and notes what must not happen: an offer that is open, a promise that is kept without
# service, a vGPU that is held although no client held it.
import time

import clients
import rest
from attempt import ALERT_S
from tree import Broken, until

POLICIES = ("gover", "qos", "fair", "credit", "static", "none", "p99", "nsigma", "max")
FIXED = ("static", "none")
# Short windows, so that a policy that reads silence as calm sells within the fault.
SHORT = {"predict_periods": 20, "predict_warm_periods": 5, "fund_window_s": 1, "none_vgpus": 3, "static_ratio": 2,
         "min_newcomer_pct": 10, "probation_s": 3}
TARGET_FPS, FPS = 60, 66
NEWCOMER_LOAD = 8
# Without an offer: the loads, or the contracts and the number of vGPUs, leave no room under any policy.
FULL = {"load": (31, 32), "contract": (62, 66), "none_vgpus": 3}
OPEN = {"load": (4, 8), "contract": (28, 32), "none_vgpus": 4}

SETTLED_S = 60.0  # generous: the daemon connects to a new port within 2 s
OFFER_S = 3.0
RECOVERED_S = 30.0
# Periods until the daemon must have noticed. A vGPU that vanished is missing in the next list. A rate of 0 is known after
# two messages (540 ms), later than a busy time that does not grow. The rest is margin for late readings.
VANISHED, STALLED = 8, 20
LOOK_S = 0.08
FLAVOR_PCT = 20

OWN_ALERTS = ("vgpu_missing", "gpu_stalled", "telemetry_stale")


def ticks(world):
    return world.get("/v1/host")["ticks"]


class Scene:
    """The contracts, loads and frame rates of the host during one fault."""

    def __init__(self, attempt):
        self.attempt = attempt
        self.world, self.clients, self.rng = attempt.world, attempt.clients, attempt.rng
        self.tree = self.world.tree
        self.policy = attempt.policy = POLICIES[attempt.number % len(POLICIES)]
        self.vgpus = list(self.world.vgpus)
        self.full = self.rng.random() < 0.5
        self.loads, self.contracts = {}, {}
        self.offer = None  # an open offer at the begin of the fault
        self.caps = {}  # under a policy whose caps depend on no reading: the caps before the fault
        self.claimed = None  # an offer in probation at the begin of the fault

    # --- before the fault ---

    def prepare(self):
        """Sets the scene. It has no offer (full), or an open one if the policy sells."""
        terms = FULL if self.full else OPEN
        self.set_policy({"name": self.policy, **SHORT, "none_vgpus": terms["none_vgpus"]})
        self.set_selling("off")  # no offer remains from other loads
        for vgpu in self.vgpus:
            self.sell(vgpu, self.rng.randint(*terms["contract"]))
            self.loads[vgpu] = self.rng.randint(*terms["load"])
        self.serve(self.vgpus)
        if not until(self.is_served, SETTLED_S, 0.05):
            raise Broken(f"the promises are not kept before the fault: {self.promises()}")
        self.set_selling("on")
        if self.full:
            self.attempt.periods(5)
        else:
            until(self.find_offer, OFFER_S, 0.02)
        if self.policy in FIXED:
            self.caps = {vgpu: self.tree.cap(vgpu) for vgpu in self.vgpus}

    def set_selling(self, selling):
        for gpu in clients.GPUS:
            self.clients.change_gpu(gpu, {"mode": "act", "selling": selling})

    def set_policy(self, params):
        """These values are not in the ledger: finish() resets them."""
        answer = self.world.ask("PATCH", "/v1/policy", params)
        if answer.status != 200:
            raise Broken(f"PATCH /v1/policy {params}: {answer.status} {answer.body[:200]!r}")

    def sell(self, vgpu, pct):
        self.contracts[vgpu] = pct
        if not self.clients.ledger.known(("vgpu", vgpu)):
            self.clients.add(vgpu)
        terms = {"initial_cap_pct": pct, "min_cap_pct": 0, "target_fps": TARGET_FPS, "weight": 1, "burst": False,
                 "held": False}
        answer = self.clients.change_vgpu(vgpu, terms, {**terms, "held_cap_pct": 0})
        if not answer or answer.status != 200:
            raise Broken(f"contract of {vgpu}: {answer and answer.body[:200]!r}")

    def find_offer(self):
        """Notes the open offer of the first GPU."""
        offers = self.world.get("/v1/offers")["offers"]
        self.offer = next((each for each in offers if each["state"] == "open" and each["gpu"] == "gpu0"), None)
        return self.offer

    def claim(self):
        """Claims the open offer, so that the fault meets a probation."""
        if self.offer and self.clients.claim() == 1:
            self.claimed, self.offer = self.offer["id"], None

    # --- the work of the vGPUs ---

    def serve(self, vgpus):
        """The vGPUs do their work again."""
        for vgpu in vgpus:
            self.tree.load(vgpu, self.loads.get(vgpu, NEWCOMER_LOAD))
        self.world.reporters.set_fps({vgpu: FPS for vgpu in vgpus if vgpu in self.contracts})

    def stall(self, vgpus):
        """The GPU completes nothing more for the vGPUs; their programs stay connected."""
        self.world.reporters.set_fps({vgpu: 0 for vgpu in vgpus if vgpu in self.contracts})
        for vgpu in vgpus:
            self.tree.load(vgpu, 0)

    def create(self, vgpus):
        """The driver creates the vGPUs with their initial caps."""
        for vgpu in vgpus:
            self.tree.create(vgpu, self.tree.gpu_of[vgpu], 25)
        self.serve(vgpus)

    # --- after the fault ---

    def promises(self):
        listed = self.world.get("/v1/vgpus")["vgpus"]
        return {each["id"]: each["promise"] for each in listed if each["id"] in self.contracts}

    def is_served(self):
        return all(promise == "kept" for promise in self.promises().values())

    def trouble(self):
        """Returns the differences from the state before the fault."""
        host = self.world.get("/v1/host")
        found = [f"alert {each['name']}: {each['text']}" for each in host["alerts"] if each["name"] in OWN_ALERTS]
        for vgpu in host["vgpus"]:
            if vgpu["id"] in self.contracts and (vgpu["promise"] != "kept" or vgpu["state"] == "missing"):
                found.append(f"vGPU {vgpu['id']} is {vgpu['state']}, its promise {vgpu['promise']} ({vgpu['cause']})")
        for vgpu, cap in self.caps.items() if not self.clients.newcomers else ():
            if self.tree.cap(vgpu) != cap:
                found.append(f"the cap of vGPU {vgpu} is {self.tree.cap(vgpu)}, before the fault {cap}")
        if self.offer and not self.find_offer():
            gpu = host["gpus"][0]
            caps = {each["cap_pct"]: (each["load_pct"], each["overloaded"]) for each in host["vgpus"]}
            found.append("no offer is open, although one was before the fault: "
                         f"calm for {gpu['calm_periods']} periods, readings {gpu['telemetry_valid']}, "
                         f"loads by cap {caps}")
        return found

    def recover(self):
        """Waits until all is as before the fault, without any request that changes something."""
        had = self.offer
        if until(lambda: self.is_well(had), RECOVERED_S, 0.05) is None:
            self.offer = had
            for each in self.trouble():
                self.attempt.complaints.append(f"not recovered: {self.policy}: {each}")

    def is_well(self, had):
        self.offer = had
        try:
            return not self.trouble()
        except rest.NoAnswer:
            return False

    def finish(self):
        """Ends what other faults do not expect: targets and another policy."""
        for vgpu in self.contracts:
            self.clients.change_vgpu(vgpu, {"target_fps": 0})
        self.set_policy({name: None for name in ("name", *SHORT)})


class Watch:
    """
    Reads the host while vGPUs are silent. @missing: these have vanished. @stalled: these get nothing although their programs
    run; then nothing may be sold on @gpus at all. @after: periods in which the daemon may not have noticed yet.
    """

    def __init__(self, scene, gpus, missing=(), stalled=(), after=VANISHED):
        self.scene, self.world, self.attempt = scene, scene.world, scene.attempt
        self.gpus, self.missing, self.stalled = set(gpus), set(missing), set(stalled)
        self.before = {each["id"] for each in self.world.get("/v1/offers?all=true")["offers"]}
        self.after = after
        self.noticed_at = ticks(self.world) + after
        self.reported = set()
        self.read_at = {}  # of each vGPU: the last period with a reading

    def complain(self, kind, what, text):
        """One complaint for each object."""
        if (kind, what) not in self.reported:
            self.reported.add((kind, what))
            self.attempt.complaints.append(f"{kind}: {self.scene.policy}: {text}")

    def for_periods(self, periods):
        """Looks until the daemon must have noticed, and for @periods more."""
        end_at = self.noticed_at + periods
        until(lambda: self.look() >= end_at, 30)

    def until_named(self):
        """Looks until the alert of the fault is raised."""
        until(self.sees_alert, ALERT_S)

    def sees_alert(self):
        self.look()
        return self.attempt.is_named()

    def look(self):
        """Checks the present state. Returns the number of the period."""
        host = self.world.get("/v1/host")
        self.attempt.note_alerts(host["alerts"])
        self.holds(host)
        if host["ticks"] >= self.noticed_at:
            self.promises(host)
            self.offers(host)
        time.sleep(LOOK_S)
        return host["ticks"]

    def holds(self, host):
        for vgpu in host["vgpus"]:
            if vgpu["held"]:
                self.complain("held", vgpu["id"], f"vGPU {vgpu['id']} is on hold, and no client held it")
        for alert in host["alerts"]:
            if alert["name"] == "foreign_write":
                self.complain("held", alert["vgpu"], f"alert foreign_write: {alert['text']}")

    def is_late(self, host, vgpu):
        """True if the last sweeps were late, so that the promise is that of an earlier period. At most @after periods."""
        if vgpu["fps"] is not None and vgpu["load_pct"] is not None:
            self.read_at[vgpu["id"]] = host["ticks"]
            return False
        return host["ticks"] - self.read_at.setdefault(vgpu["id"], host["ticks"]) < self.after

    def promises(self, host):
        for vgpu in host["vgpus"]:
            name = vgpu["id"]
            if name in self.missing:
                what = "it is missing"
            elif name in self.stalled and not self.is_late(host, vgpu):
                what = f"it gets nothing (FPS {vgpu['fps']}, load {vgpu['load_pct']})"
            else:
                continue
            if vgpu["promise"] == "kept":
                self.complain("kept", name, f"the promise to vGPU {name} is \"kept\", but {what}")

    def offers(self, host):
        for offer in host["offers"]:
            if offer["gpu"] not in self.gpus or offer["state"] != "open":
                continue
            if offer["id"] in self.before:
                self.sold(offer, "is still open")
            elif self.stalled or not self.has_room(host, offer):
                self.sold(offer, f"was opened, with {offer['fundable_pct']} %")

    def sold(self, offer, text):
        self.complain("sold", offer["id"], f"offer {offer['id']} of GPU {offer['gpu']} {text}")
        if ("claimed", "") in self.reported:
            return
        self.reported.add(("claimed", ""))
        if not self.missing and self.scene.clients.claim():
            self.complain("sold", "claim", f"a claim of offer {offer['id']} was accepted")

    def has_room(self, host, offer):
        """
        True if the contracts of the missing vGPUs leave room for what the offer sells. Under qos a missing vGPU counts at
        least with its past, the load that it had.
        """
        own = self.scene.contracts
        vgpus = [each for each in host["vgpus"] if each["gpu"] == offer["gpu"] and each["id"] in own]
        missing = [each["id"] for each in vgpus if each["state"] == "missing"]
        contracts = sum(own[each["id"]] for each in vgpus)
        if self.scene.policy == "none":
            return len(vgpus) < (FULL if self.scene.full else OPEN)["none_vgpus"]
        if self.scene.policy == "static":
            return contracts + FLAVOR_PCT <= 100 * SHORT["static_ratio"]
        past = self.scene.loads if self.scene.policy == "qos" else own
        taken = sum(past[each] for each in missing)
        present = sum(each["load_pct"] or 0 for each in vgpus if each["id"] not in missing)
        return taken + present + offer["fundable_pct"] <= 100

    def end(self):
        """Checks what the fault leaves behind, before it ends."""
        if not self.scene.claimed or not self.stalled:
            return
        offers = {each["id"]: each for each in self.world.get("/v1/offers?all=true")["offers"]}
        if offers[self.scene.claimed]["state"] == "kept":
            self.complain("sold", "probation", f"the probation of offer {self.scene.claimed} passed")
