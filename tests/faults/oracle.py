# SPDX-License-Identifier: MIT
# What must hold after every fault: the answers of the daemon, its files and the vGPUs agree, no cap is outside
# [floor, contract], nothing that a client knows is lost, no offer is sold twice, and the daemon reports no fault any more.
import collections
import json

import rest
from tree import read_journal

# alerts that report a fault of the daemon or its host; they end when the fault ends
FAULT_ALERTS = {"contracts_unsaved", "write_failed", "history_failing", "telemetry_stale", "vgpu_missing", "foreign_write",
                "gpu_stalled", "fps_over_limit", "socket_unusable", "cap_unreadable", "tokens_unreadable", "certificate_unreadable",
                "utilization_unknown", "vgpu_not_adopted"}
FILE_FIELDS = ("gpu", "vm", "labels", "initial_cap_pct", "min_cap_pct", "target_fps", "fps_limit", "weight", "burst", "held",
               "found")
MOST = {"load_pct": 400, "util_pct": 100000, "fps": 1e6, "frame_p99_ms": 1e7}  # generous upper bounds of readings


class Snapshot:
    """The state of a host, read once. Raises NoAnswer while the daemon does not answer."""

    def __init__(self, world):
        self.outside = world.tree.outside
        self.caps_before = self.caps(world)
        self.host = world.get("/v1/host")
        self.caps_after = self.caps(world)
        self.vgpus = {each["id"]: each for each in self.host["vgpus"]}
        self.contracts = world.json_file("contracts.json") or {}
        self.filed = {each["id"]: each for each in self.contracts.get("vgpus", [])}
        policy = world.get("/v1/policy")
        self.policy, self.live = policy["params"], set(policy["differs"])
        self.tokens = {each["name"]: each["scope"] for each in world.get("/v1/tokens")["tokens"]}
        stored = (world.json_file("tokens.json") or {}).get("tokens", [])
        self.filed_tokens = {each["name"]: each["scope"] for each in stored}
        self.silences = {each["reason"]: True for each in world.get("/v1/silences")["silences"]}
        self.offers = world.get("/v1/offers?all=true")["offers"]
        self.alerts = world.get("/v1/alerts?all=true")["alerts"]
        self.journal = read_journal(world.file("caps"))

    @staticmethod
    def caps(world):
        return {vgpu: world.tree.cap(vgpu) for vgpu in world.tree.vgpus()}

    def actual(self, watched):
        """The values of the objects that the ledger knows; @watched: the keys of the policy that clients change."""
        values = {("vgpu", name): self.contract(name) for name, each in self.vgpus.items() if not each["found"]}
        for gpu in self.host["gpus"]:
            values["gpu", gpu["name"]] = {"mode": gpu["mode"], "selling": gpu["selling"]}
        values.update({("policy", name): self.policy[name] for name in watched})
        values.update({("token", name): scope for name, scope in self.tokens.items()})
        values.update({("silence", reason): True for reason in self.silences})
        values.update({("sale", str(each["id"])): each["vgpu"] for each in self.offers if each["vgpu"] in self.vgpus})
        return values

    def contract(self, name):
        """A contract as clients know it."""
        vgpu = self.vgpus[name]
        fields = ("initial_cap_pct", "min_cap_pct", "target_fps", "weight", "burst", "vm", "labels", "held")
        held_cap = self.filed.get(name, {}).get("held_cap_pct", 0)
        value = {field: vgpu[field] for field in fields}
        return {**value, "vm": value["vm"] or "", "held_cap_pct": held_cap}


# --- complaints, each a sentence that begins with its kind ---


def files(snapshot):
    """The contracts file and the tokens file contain what the daemon answers."""
    if set(snapshot.vgpus) != set(snapshot.filed):
        yield f"books: REST has vGPUs {sorted(snapshot.vgpus)}, contracts.json {sorted(snapshot.filed)}"
    for name in set(snapshot.vgpus) & set(snapshot.filed):
        for field in FILE_FIELDS:
            answered, stored = snapshot.vgpus[name][field], snapshot.filed[name].get(field)
            if (answered or None) != (stored or None):
                yield f"books: vGPU {name}: {field} is {answered} in REST, {stored} in contracts.json"
    filed = {each["name"]: each for each in snapshot.contracts.get("gpus", [])}
    for gpu in snapshot.host["gpus"]:
        stored = filed.get(gpu["name"])
        if not stored or stored["mode"] != gpu["mode"] or stored["selling"] != (gpu["selling"] == "on"):
            yield f"books: GPU {gpu['name']} is {gpu['mode']}, {gpu['selling']} in REST, {stored} in contracts.json"
    settings = set(snapshot.contracts.get("settings", {}))
    if snapshot.live != settings:
        yield f"books: live settings in REST are {sorted(snapshot.live)}, in contracts.json {sorted(settings)}"
    silences = {each["reason"] for each in snapshot.contracts.get("silences", {}).get("list", [])}
    if set(snapshot.silences) != silences:
        yield f"books: silences in REST are {sorted(snapshot.silences)}, in contracts.json {sorted(silences)}"
    if snapshot.tokens != snapshot.filed_tokens:
        yield f"books: REST has tokens {snapshot.tokens}, tokens.json {snapshot.filed_tokens}"


def tree(snapshot):
    """REST, the cap journal and the tree have the same vGPUs with the same caps."""
    acts = all(gpu["mode"] == "act" for gpu in snapshot.host["gpus"])
    present = {name for name, vgpu in snapshot.vgpus.items() if vgpu["state"] != "missing"}
    if snapshot.outside and present != set(snapshot.caps_after):
        yield f"books: REST has vGPUs {sorted(present)}, the tree {sorted(snapshot.caps_after)}"
    for name in present & set(snapshot.caps_after):
        cap, in_tree = snapshot.vgpus[name]["cap_pct"], snapshot.caps_after[name]
        if in_tree is None:
            continue
        if cap not in (in_tree, snapshot.caps_before.get(name)) and (cap, in_tree) != (100, 0):
            yield f"books: vGPU {name}: the cap is {cap} in REST, {in_tree} in the tree"
        # The journal has the caps that the daemon wrote; in mode observe it writes none, also if a lease has ended.
        if acts and name in snapshot.journal and in_tree not in snapshot.journal[name]:
            yield f"books: vGPU {name}: the cap is {in_tree} in the tree, {snapshot.journal[name]} in the cap journal"


def bounds(snapshot):
    """No cap is outside [floor, contract], or for a held vGPU different from the held cap."""
    acting = {gpu["name"] for gpu in snapshot.host["gpus"] if gpu["mode"] == "act"}  # other GPUs keep the caps they have
    for name, vgpu in snapshot.vgpus.items():
        cap, before = snapshot.caps_after.get(name), snapshot.caps_before.get(name)
        if not snapshot.outside:
            cap = before = vgpu["cap_pct"]
        if cap is None or vgpu["found"] or cap != before or vgpu["gpu"] not in acting or vgpu["state"] == "missing":
            continue
        cap = cap or 100
        held_cap = snapshot.filed.get(name, {}).get("held_cap_pct", 0)
        low, high = vgpu["floor_pct"], 100 if vgpu["burst"] else vgpu["initial_cap_pct"]
        if vgpu["held"] and held_cap:
            low = high = held_cap
        if not low <= cap <= high:
            yield f"cap: vGPU {name}: the cap in force is {cap}, outside {low}..{high}"


def readings(snapshot):
    """No reading is impossible."""
    for name, vgpu in snapshot.vgpus.items():
        for field, most in MOST.items():
            if vgpu[field] is not None and not 0 <= vgpu[field] <= most:
                yield f"reading: vGPU {name}: {field} is {vgpu[field]}"


def sales(snapshot):
    """No two contracts were sold through the same offer."""
    sold = {}
    for name, contract in snapshot.filed.items():
        offer = contract.get("offer", 0)
        if offer and offer in sold:
            yield f"sold: offer {offer} was sold to {sold[offer]} and {name}"
        sold[offer] = name


def health(snapshot):
    """The daemon works normally again."""
    for gpu in snapshot.host["gpus"]:
        if not gpu["telemetry_valid"]:
            yield f"health: the telemetry of GPU {gpu['name']} is invalid"
    if not snapshot.host["history"]["enabled"] or snapshot.host["history"]["error"]:
        yield f"health: history {json.dumps(snapshot.host['history'])}"
    idle = {gpu["name"] for gpu in snapshot.host["gpus"] if gpu["mode"] != "act"}  # their leases end, and nothing is written
    for alert in snapshot.host["alerts"]:
        if alert["name"] in FAULT_ALERTS and not (alert["name"] == "write_failed" and alert["gpu"] in idle):
            yield f"health: alert {alert['name']}: {alert['text']}"
    if not snapshot.host["ready"]:
        yield "health: not ready"


def complaints(snapshot, ledger, watched):
    """Everything that does not hold now."""
    found = ["lost: " + text for text in ledger.lost(snapshot.actual(watched))]
    for check in (files, tree, bounds, readings, sales, health):
        found += check(snapshot)
    return found


def audited(world, accepted, since):
    """Complaints about accepted requests without an audit row in the log after the offset @since."""
    rows = [line.partition("): ")[2] for line in world.log_text(since).splitlines() if "): " in line]
    for method, target, status in accepted:
        line = f"{method} {target}: {status}"
        if line in rows:
            rows.remove(line)
        else:
            yield f"audit: no row for {line}"


def audit_log(world, query):
    """The answer of /v1/audit, or None if the history cannot be read."""
    try:
        return world.get(f"/v1/audit?{query}")
    except rest.NoAnswer:
        return None


def recorded(world, accepted, unanswered, after):
    """
    Complaints about rows of the audit log above the id @after: each accepted request has one, and only a request without
    an answer may have another one. A start stores a row without a status if it does not know the answer.
    """
    log = audit_log(world, f"limit=1000&after={after}")
    if not log:
        return ["audit: REST cannot read the history"]
    found = collections.Counter((row["method"], row["path"]) for row in log["audit"]
                                if row["status"] is None or row["status"] < 300)
    least = collections.Counter((method, target) for method, target, _ in accepted)
    most = least + collections.Counter(unanswered)
    return [f"audit: REST has {found[each]} rows for {least[each]} changes {' '.join(each)}" for each in sorted(least)
            if not least[each] <= found[each] <= most[each]]


def answers(world):
    """True if REST answers at all."""
    try:
        return world.ask("GET", "/healthz", timeout=1).status == 200
    except rest.NoAnswer:
        return False
