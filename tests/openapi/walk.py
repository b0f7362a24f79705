# SPDX-License-Identifier: MIT
# walk.py PLACE FOLDER WALK: sends requests to the daemon on a socket or HOST:PORT and compares the answers with its REST
# description. Adds the answers that occurred to FOLDER/seen. Prints each difference and then fails.
# rest/openapi.sh starts the daemons.
import json
import os
import re
import sys
import time

sys.dont_write_bytecode = True
from described import Described, connect, exchange  # noqa: E402

METHODS = ("GET", "POST", "PATCH", "PUT", "DELETE")
WORKING = {"initial_cap_pct": 40, "target_rate": 60.5, "labels": {"workload": "frame:gpu_ms=1,cpu_ms=4,fps_max=62"}}
SOLD = {"initial_cap_pct": 40, "target_fps": 60, "labels": {"workload": "frame:gpu_ms=1,cpu_ms=4,fps_max=62"}}


def until(seconds, found):
    """Waits until found() returns a true value and returns it; the limit is generous, not a measurement."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = found()
        if value:
            return value
        time.sleep(0.05)
    raise SystemExit(f"no result within {seconds} s")


class unsaved:
    """Prevents the replacement of a file, even by root."""

    def __init__(self, folder, name="contracts.json"):
        self.path = os.path.join(folder, "state", name + ".new")

    def __enter__(self):
        os.mkdir(self.path)

    def __exit__(self, *_):
        os.rmdir(self.path)


def an_address(path, name="never", number="999999999"):
    number = number if path.split("/")[2:3] in (["alerts"], ["offers"], ["silences"]) else name
    return path.replace("{name}", name).replace("{id}", number).replace("{file}", name)


def a_body(operation):
    return b"{}" if "requestBody" in operation else None


# --- walks for all routes ---


def wrong_methods(api, folder):
    """Undescribed methods are answered with 405 and Allow, undescribed paths with 404."""
    for path, item in api.document["paths"].items():
        allowed = {method.upper() for method in item}
        allowed |= {"HEAD"} if "GET" in allowed else set()
        for method in METHODS:
            if method in allowed:
                continue
            answer = api.ask(method, an_address(path), status=405)
            said = {word.strip() for word in (answer.headers.get("Allow") or "").split(",")}
            if said != allowed:
                api.complain(f"{method} {path}: Allow contains {said}, the description {allowed}")
        if "GET" in allowed:
            got = api.ask("GET", an_address(path))
            head = api.ask("HEAD", an_address(path))
            if (head.status, head.type) != (got.status, got.type):
                api.complain(f"HEAD {path}: {head.status} {head.type}, GET: {got.status} {got.type}")
    for path in ("/v1", "/v1/", "/v1/host/", "/v1/vgpus/a/b", "/v2/host", "/openapi.yaml", "/web"):
        api.ask("GET", path, status=404)


def wrong_requests(api, folder):
    """Queries, content types and bodies that every route rejects."""
    json_type = {"Content-Type": "application/json"}
    for method, path, operation in api.operations():
        at = an_address(path, "gpu0" if path.startswith("/v1/gpus") else "a")
        api.ask(method, at + "?no_such=1", status=400)
        if "404" in operation["responses"] and "{" in path:
            body = {"/claim": {"id": "new"}, "/hold": {"holder": "a", "ttl_s": 1},
                    "/migration": {"state": "failed"}}.get(path[path.rindex("/"):], {})
            api.ask(method, an_address(path), body if a_body(operation) else None, status=404)
        if not a_body(operation):
            continue
        api.ask(method, at, b"{", json_type, status=400)
        api.ask(method, at, b"[]", json_type, status=400)
        api.ask(method, at, b"{}", {"Content-Type": "text/plain"}, status=415)
        api.ask(method, at, b"{}", status=415)
        api.ask(method, at, b" " * (65 * 1024), json_type, status=413)
        api.ask(method, at, {"no_such": 1}, status=422)


def beyond(schema):
    """Values that the schema of a member forbids."""
    if "minimum" in schema:
        yield schema["minimum"] - 1
    if "maximum" in schema:
        yield schema["maximum"] + 1
    if "maxLength" in schema:
        yield "x" * (schema["maxLength"] + 1)
    if "enum" in schema:
        yield "no_such"
    if schema.get("pattern", "").startswith("^[A-Za-z0-9_]"):
        yield from ("", ".a", "-a", "a/b", "a" * 64)
    types = schema.get("type", [])
    if "integer" in types:
        yield schema.get("minimum", 0) + 0.5
    if "null" not in types and types:
        yield None
    yield [1]


def within(schema):
    if "minimum" in schema:
        yield schema["minimum"]
    if "maximum" in schema:
        yield schema["maximum"]
    yield from schema.get("enum", [])
    if "maxLength" in schema:
        yield "7" * schema["maxLength"]
    if schema.get("type") == "boolean":
        yield from (True, False)
    if "null" in schema.get("type", []):
        yield None


# Limits that are allowed only together with these members.
TOGETHER = {
    "held_cap_pct": {"held": True},
    "cap_floor_pct": {"flavor_cap_pct": 100},
    "min_newcomer_pct": {"flavor_cap_pct": 100},
    "flavor_cap_pct": {"min_newcomer_pct": 1, "cap_floor_pct": 1},
}


def tag(api, path):
    return api.ask("GET", path, status=200).headers["ETag"]


def limits(api, folder):
    """Each member of a change accepts what its schema allows, up to its limits, and nothing else."""
    unit = api.ask("GET", "/v1/gpus", status=200).json()["gpus"][0]["unit"]
    other = {"frames": ("target_rate",), "work": ("target_fps", "fps_limit")}[unit]
    api.ask("POST", "/v1/vgpus", {"id": "limits", "initial_cap_pct": 100}, status=201)
    for path, name in (("/v1/vgpus/limits", "VgpuChange"), ("/v1/gpus/gpu0", "GpuChange"), ("/v1/policy", "PolicyChange")):
        for member, schema in api.document["components"]["schemas"][name]["properties"].items():
            schema = api.resolve(schema)
            for value in beyond(schema):
                if api.fits({"$ref": f"#/components/schemas/{name}"}, {member: value}):
                    api.complain(f"{name}.{member}: the schema allows {value}")
                api.ask("PATCH", path, {member: value}, status=422)
            for value in within(schema):
                body = {member: value, **TOGETHER.get(member, {})}
                if member == "flavor" and "vgpus" in path:
                    continue  # must be the name of a configured flavour
                status = 200
                if member == "fund_window_s":
                    status = (200, 422)  # 422 if the window has too many periods
                elif member in (*other, "memory_mib") and value > 0:
                    status = 422  # a promise or a limit in the other unit, or a limit that the backend sim does not have
                api.ask("PATCH", path, body, {"If-Match": tag(api, path)}, status)
            if name == "PolicyChange":
                api.ask("PATCH", path, {key: None for key in {member, *TOGETHER.get(member, {})}}, status=200)
            if member == "min_cap_pct":
                api.ask("PATCH", path, {member: 0}, status=200)
            if member == "initial_cap_pct":
                api.ask("PATCH", path, {member: 100}, status=200)
    api.ask("PATCH", "/v1/gpus/gpu0", {"mode": "act", "selling": "on"}, status=200)
    api.ask("DELETE", "/v1/vgpus/limits", status=204)


# --- walks through the life of a host ---


def open_offer(api):
    """Waits for an open offer and returns its id."""

    def found():
        offers = api.ask("GET", "/v1/offers", status=200).json()["offers"]
        return next((offer["id"] for offer in offers if offer["state"] == "open"), None)

    return until(60, found)


def life(api, folder):
    """Creates vGPUs, changes them and sells one, also while changes cannot be saved."""
    light = dict(SOLD)
    for name in ("a", "b"):
        api.ask("POST", "/v1/vgpus", {"id": name, **light}, {"Idempotency-Key": name}, 201)
        repeated(api, name, {"id": name, **light})
    removed(api, "gone", {"id": "gone", **light})
    api.ask("POST", "/v1/vgpus", {"id": "a", **light}, status=409)
    api.ask("POST", "/v1/vgpus", {"id": "x", "gpu": "never", "initial_cap_pct": 5}, status=422)
    api.ask("PATCH", "/v1/vgpus/a", {"vm": "vm-a", "cid": 7, "weight": 2, "flavor": "small"}, status=200)
    api.ask("PATCH", "/v1/vgpus/a", {"held": True, "held_cap_pct": 40}, status=200)
    api.ask("PATCH", "/v1/vgpus/b", {"held": True, "held_cap_pct": 40}, status=200)
    for path in ("/v1/vgpus/b", "/v1/vgpus/b/contract"):
        api.ask("PATCH", path, {"initial_cap_pct": 100, "held_cap_pct": 90}, status=409)
    api.ask("GET", "/v1/vgpus?gpu=gpu0", status=200)
    api.ask("GET", "/v1/vgpus?gpu=never", status=404)
    for name in ("a", "b"):
        api.ask("PATCH", f"/v1/vgpus/{name}", {"held": False}, status=200)
    later = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    quiet = {"vgpu": "a", "until": later, "reason": "a walk"}
    made = api.ask("POST", "/v1/silences", quiet, status=201)
    silence = made.json()["id"]
    located(api, made)
    first = open_offer(api)
    with unsaved(folder):
        api.ask("PATCH", "/v1/vgpus/a", {"weight": 3}, status=507)
        api.ask("PATCH", "/v1/vgpus/a/contract", {"weight": 3}, status=507)
        api.ask("PATCH", "/v1/gpus/gpu0", {"selling": "on"}, status=507)
        api.ask("POST", "/v1/vgpus", {"id": "c", "initial_cap_pct": 5}, status=507)
        api.ask("DELETE", "/v1/vgpus/a", status=507)
        api.ask("PATCH", "/v1/policy", {"ttl_s": 70}, status=507)
        api.ask("POST", "/v1/silences", quiet, status=507)
        api.ask("DELETE", f"/v1/silences/{silence}", status=507)
        api.ask("DELETE", f"/v1/offers/{first}", status=507)
        api.ask("POST", f"/v1/offers/{first}/hold", {"holder": "walk-1", "ttl_s": 5}, status=507)
        alert = until(60, lambda: api.ask("GET", "/v1/alerts", status=200).json()["alerts"])[0]["id"]
        api.ask("POST", f"/v1/alerts/{alert}/ack", status=507)
    api.ask("POST", f"/v1/alerts/{alert}/ack", status=200)
    api.ask("DELETE", f"/v1/silences/{silence}", status=204)
    api.ask("GET", "/v1/alerts?all=true", status=200)
    api.ask("DELETE", f"/v1/offers/{first}", status=204)
    api.ask("DELETE", f"/v1/offers/{first}", status=409)
    sale(api, folder, open_offer(api))


def located(api, made):
    """The path in Location is that of the created object."""
    found, new = api.ask("GET", made.headers["Location"], status=200).json(), made.json()
    if any(new[name] != value for name, value in found.items()):
        api.complain(f"{made.headers['Location']}: {found}, created: {new}")


def repeated(api, key, body):
    """A repeated request with the same key is not executed again. A different request with this key is rejected."""
    again = api.ask("POST", "/v1/vgpus", body, {"Idempotency-Key": key}, 201)
    if again.headers["Location"] != f"/v1/vgpus/{body['id']}" or again.json()["id"] != body["id"]:
        api.complain(f"the repeated request for {body['id']} returned {again.headers['Location']}")
    api.ask("POST", "/v1/vgpus", {**body, "weight": 7}, {"Idempotency-Key": key}, 422)
    api.ask("POST", "/v1/vgpus", body, {"Idempotency-Key": "a key"}, 400)


def removed(api, key, body):
    """After the removal of its vGPU, a repeated request is not executed again."""
    api.ask("POST", "/v1/vgpus", body, {"Idempotency-Key": key}, 201)
    api.ask("DELETE", f"/v1/vgpus/{body['id']}", status=204)
    api.ask("POST", "/v1/vgpus", body, {"Idempotency-Key": key}, 410)
    api.ask("GET", f"/v1/vgpus/{body['id']}", status=404)


def hold(api, offer):
    """Holds an offer for the key walk-1."""
    path = f"/v1/offers/{offer}/hold"
    held = api.ask("POST", path, {"holder": "walk-1", "ttl_s": 600}, status=200).json()
    if held["held_by"] != "walk-1" or held["held_until"] is None:
        api.complain(f"the offer is not held: {held}")
    api.ask("POST", path, {"holder": "walk-1", "ttl_s": 1}, status=200)
    api.ask("POST", path, {"holder": "walk-2", "ttl_s": 1}, status=409)
    for wrong in ({"holder": "", "ttl_s": 1}, {"holder": "a b", "ttl_s": 1}, {"holder": "x" * 128, "ttl_s": 1},
                  {"holder": "a", "ttl_s": 0}, {"holder": "a", "ttl_s": 601}, {"holder": "a"}, {"ttl_s": 1}):
        api.ask("POST", path, wrong, status=422)
    api.ask("POST", f"/v1/offers/{offer}/claim", {"id": "new"}, {"Idempotency-Key": "walk-2"}, status=409)


def sale(api, folder, offer):
    key = {"Idempotency-Key": "walk-1"}
    hold(api, offer)
    claim = {"id": "new", "vm": "vm-new", "target_fps": 0, "labels": {"workload": "idle"}}
    with unsaved(folder):
        api.ask("POST", f"/v1/offers/{offer}/claim", claim, key, status=507)
    api.ask("POST", f"/v1/offers/{offer}/claim", claim, key, status=200)
    api.ask("POST", f"/v1/offers/{offer}/claim", claim, key, status=200)
    api.ask("POST", f"/v1/offers/{offer}/claim", {**claim, "vm": "other"}, key, status=422)
    api.ask("GET", "/v1/host", status=200)
    api.ask("POST", f"/v1/offers/{offer}/claim", claim, {"Idempotency-Key": "walk-2"}, status=409)
    api.ask("DELETE", "/v1/vgpus/new", status=204)
    api.ask("POST", f"/v1/offers/{offer}/claim", claim, key, status=410)
    if api.ask("GET", "/v1/vgpus/new/diagnosis", status=200).json()["state"] != "removed":
        api.complain("the diagnosis of a removed vGPU has another state")


REPORT = {"state": "published", "cloud": "https://cloud", "problem": None, "unverified": 0,
          "leaks": [{"gpu": "gpu0", "flavor": "HALF", "used": 2, "sold": 1}],
          "migrations": {"requested": 2, "completed": 1, "failed": 1}, "ttl_s": 60}


def fleet(api, folder):
    """Reports of gover-fleet, and facts about migrations."""
    if api.ask("GET", "/v1/fleet", status=200).json()["state"] is not None:
        api.complain("a state without a report")
    answer = api.ask("PUT", "/v1/fleet", REPORT, status=200).json()
    if {**REPORT, "reported_at": answer["reported_at"], "migration": None, "last_migration": None} != answer:
        api.complain(f"the report {REPORT} is answered with {answer}")
    for name, value in (("state", "gone"), ("state", None), ("cloud", "x" * 256), ("unverified", -1), ("leaks", {}),
                        ("leaks", [{"gpu": "gpu0"}]), ("leaks", REPORT["leaks"] * 65), ("migrations", {"requested": 1}),
                        ("ttl_s", 9), ("ttl_s", 3601), ("more", 1)):
        api.ask("PUT", "/v1/fleet", {**REPORT, name: value}, status=422)
    path = "/v1/vgpus/a/migration"
    api.ask("POST", path, {"state": "requested", "duration_ms": None, "to": None, "reason": "overload"}, status=204)
    api.ask("POST", path, {"state": "requested", "to": "host2"}, status=204)
    answer = api.ask("GET", "/v1/fleet", status=200).json()["migration"]
    if (answer["vgpu"], answer["to"]) != ("a", "host2"):
        api.complain(f"another migration in progress: {answer}")
    api.ask("POST", path, {"state": "failed", "duration_ms": 1500, "to": None, "reason": None}, status=204)
    for wrong in ({}, {"state": "done"}, {"state": "failed", "duration_ms": -1}, {"state": "failed", "to": "x" * 256}):
        api.ask("POST", path, wrong, status=422)
    if api.ask("GET", "/v1/decisions?vgpu=a", status=200).json()["decisions"][-1]["kind"] != "migration":
        api.complain("the migration is not the last decision")
    answer = api.ask("GET", "/v1/fleet", status=200).json()
    if answer["migration"] is not None or answer["last_migration"]["duration_ms"] != 1500:
        api.complain(f"a migration has not ended: {answer}")
    last = api.ask("GET", "/v1/vgpus/a/diagnosis", status=200).json()["migration"]
    if not last["text"].endswith("failed after 1.5 s"):
        api.complain(f"another last migration: {last}")


def look(api, folder):
    """Reads all objects of a host with vGPUs."""
    until(60, lambda: api.ask("GET", "/v1/vgpus/a/history?step=1").json()["points"])
    for method, path, operation in api.operations():
        if method == "GET" and "{" not in path:
            api.ask("GET", path, status=200)
    for path in ("/v1/vgpus/a", "/v1/vgpus/a/diagnosis", "/v1/vgpus/b/history", "/v1/gpus/gpu0/history", "/v1/gpus/gpu0/load",
                 "/v1/decisions?vgpu=a&limit=2", "/v1/decisions?after=0", "/v1/offers?all=true", "/v1/economics?from=0",
                 "/v1/gpus/gpu0/history?from=0", "/v1/gpus/gpu0/load?from=0&to=9", "/v1/vgpus/a/history?from=0&to=9"):
        api.ask("GET", path, status=200)
    columns = api.document["components"]["schemas"]["Samples"]["properties"]["columns"]["items"]["enum"]
    answer = api.ask("GET", "/v1/gpus/gpu0/history", status=200).json()["columns"]
    if answer != columns:
        api.complain(f"columns {answer} in another order than {columns}")
    for path in ("/v1/vgpus/a/history?from=yesterday", "/v1/vgpus/a/history?from=0&step=1", "/v1/decisions?limit=1001"):
        api.ask("GET", path, status=400)


def pages(api, folder):
    """Each list read in pages equals the list read at once."""
    for method, path, operation in api.operations():
        names = {api.resolve(parameter)["name"] for parameter in operation.get("parameters", [])}
        said = api.resolve(operation["responses"].get("200", {})).get("content", {}).get("application/json", {})
        if "limit" not in names or "next" not in api.resolve(said["schema"])["properties"]:
            continue
        more = "?all=true&" if "all" in names else "?"
        begin = "after=0&" if path == "/v1/decisions" else ""  # without after, this list begins with the newest decision
        whole = api.ask("GET", f"{path}{more}{begin}limit=1000", status=200).json()
        key = next(name for name, value in whole.items() if isinstance(value, list))
        gathered, at = [], begin
        while True:
            page = api.ask("GET", f"{path}{more}{at}limit=1", status=200).json()
            gathered += page[key]
            if page["next"] is None or len(gathered) > 2 * len(whole[key]) + 9:
                break
            at = f"after={page['next']}&"
        name = "name" if key == "gpus" else "id"
        ids = [thing[name] for thing in whole[key]]
        gathered = [thing[name] for thing in gathered]
        # Entries created meanwhile are at the end.
        if gathered[: len(ids)] != ids or len(set(gathered)) < len(gathered) or not ids:
            api.complain(f"{path}: {ids}, in pages {gathered}")
        for wrong in ("limit=0", "limit=1001", "limit=x", "after=%20"):
            api.ask("GET", f"{path}?{wrong}", status=400)


def conditions(api, folder):
    """A conditional change is rejected after another change; changed measurements do not matter."""
    for path, first, second in (
        ("/v1/vgpus/a", {"target_fps": 20}, {"target_fps": 30}),
        ("/v1/vgpus/a/contract", {"weight": 7}, {"weight": 8}),
        ("/v1/gpus/gpu0", {"selling": "off"}, {"selling": "on"}),
        ("/v1/policy", {"ttl_s": 70}, {"ttl_s": None}),
    ):
        before = tag(api, path)
        ticks = api.ask("GET", "/v1/host").json()["ticks"]
        until(60, lambda: api.ask("GET", "/v1/host").json()["ticks"] > ticks + 2)
        if tag(api, path) != before:
            api.complain(f"{path}: ETag changed without a change")
        after = api.ask("PATCH", path, first, {"If-Match": before}, status=200).headers["ETag"]
        if after == before or after != tag(api, path):
            api.complain(f"{path}: ETag {before}, after a change {after}, then {tag(api, path)}")
        api.ask("PATCH", path, second, {"If-Match": before}, status=412)
        if not after.startswith("W/"):
            api.ask("PATCH", path, second, {"If-Match": f"W/{after}"}, status=412)
        for none in ("*", after, f'"other", {after}'):
            api.ask("PATCH", path, second, {"If-None-Match": none}, status=412)
        api.ask("PATCH", path, second, {"If-Match": "no tag"}, status=400)
        api.ask("PATCH", path, second, {"If-Match": f'"other", {after}'}, status=200)
        api.ask("PATCH", path, second, {"If-Match": "*"}, status=200)
    api.ask("DELETE", "/v1/vgpus/a", headers={"If-Match": '"0123456789abcdef"'}, status=412)
    for path in ("/v1/vgpus/a", "/v1/vgpus/a/contract", "/v1/gpus/gpu0", "/v1/policy", "/openapi.json", "/"):
        if not api.find("GET", path)[0]:
            continue
        current = tag(api, path)
        api.ask("GET", path, headers={"If-None-Match": current}, status=304)
        api.ask("GET", path, headers={"If-None-Match": "W/" + current.removeprefix("W/")}, status=304)
        api.ask("GET", path, headers={"If-None-Match": '"0123456789abcdef"'}, status=200)


def unable(api, folder):
    """Requests to a dry run without a history."""
    repeated(api, "b", {"id": "b", **SOLD})
    for path in {"/v1/vgpus/a/history", "/v1/vgpus/never/diagnosis", "/v1/gpus/gpu0/history", "/v1/gpus/gpu0/load",
                 "/v1/economics", "/v1/audit"}:
        if api.find("GET", path)[0]:
            api.ask("GET", path, status=503)
    api.ask("POST", "/v1/vgpus", {"id": "x", "initial_cap_pct": 5}, status=409)
    api.ask("DELETE", "/v1/vgpus/a", status=409)
    if "/v1/tokens/{name}" in api.document["paths"]:
        api.ask("DELETE", "/v1/tokens/read", status=409)


def page(api, folder):
    """The web page and each of its files."""
    for path in re.findall('(?:href|src)="(/web/[^"]*)"', api.ask("GET", "/", status=200).bytes.decode()):
        was = api.ask("GET", path, status=200).headers["ETag"]
        api.ask("GET", path, headers={"If-None-Match": was}, status=304)
        plain = {"Accept-Encoding": "identity"}
        plain_tag = api.ask("GET", path, headers=plain, status=200).headers["ETag"]
        if plain_tag == was:
            api.complain(f"GET {path}: the compressed file has the same ETag {was}")
        api.ask("GET", path, headers={**plain, "If-None-Match": plain_tag}, status=304)


def silences(api, folder):
    later = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    quiet = {"vgpu": "a", "until": later, "reason": "a walk"}
    for _ in range(256):
        made = api.ask("POST", "/v1/silences", quiet, status=201).json()
    api.ask("POST", "/v1/silences", quiet, status=409)
    api.ask("GET", "/v1/silences", status=200)
    api.ask("POST", "/v1/silences", {"until": later, "reason": "all"}, status=422)
    api.ask("DELETE", f"/v1/silences/{made['id']}", status=204)


def work(api, folder):
    """The members in units of work have values, and those in frames are null, where the GPU counts work."""
    api.ask("POST", "/v1/vgpus", {"id": "x", **SOLD}, status=422)
    api.ask("POST", "/v1/vgpus", {"id": "a", **WORKING}, status=201)
    until(60, lambda: api.ask("GET", "/v1/vgpus/a", status=200).json()["rate"])
    point = until(60, lambda: api.ask("GET", "/v1/vgpus/a/history?step=1", status=200).json()["points"])[-1]
    rows = api.ask("GET", "/v1/gpus/gpu0/history", status=200).json()
    row = dict(zip(rows["columns"], rows["rows"][-1]))
    offer = api.ask("GET", f"/v1/offers?after={open_offer(api) - 1}", status=200).json()["offers"][0]
    vgpu = api.ask("GET", "/v1/vgpus/a", status=200).json()
    for answer in (vgpu, point, row, offer):
        if answer["target_fps"] is not None or answer.get("fps") is not None or answer["target_rate"] is None:
            api.complain(f"frames on a GPU that counts work: {answer}")
    for answer in (vgpu, point, row):
        if answer["rate"] is None:
            api.complain(f"no rate: {answer}")


def read_event(stream):
    """Returns (kind, data) of the next event. Skips comments and entries without a kind."""
    kind, data = None, None
    for line in iter(stream.readline, b""):
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if name == "event":
            kind = value
        elif name == "data":
            data = json.loads(value)
        elif not line.strip() and kind:
            return kind, data
    raise SystemExit("the event stream has ended")


def events(api, folder):
    """Events of each kind match their schema. Too many streams are rejected."""
    schemas = api.document["paths"]["/v1/events"]["get"]["x-gover-events"]
    seen = set()
    reader = connect(api.place)
    reader.request("GET", "/v1/events?after=another-1")
    stream = reader.getresponse()
    api.ask("PATCH", "/v1/vgpus/a", {"weight": 5}, status=200)
    offer = open_offer(api)
    api.ask("DELETE", f"/v1/offers/{offer}", status=204)
    api.ask("POST", "/v1/alerts/%d/ack" % api.ask("GET", "/v1/alerts?all=true").json()["alerts"][-1]["id"])
    with unsaved(folder):
        api.ask("PATCH", "/v1/vgpus/a", {"weight": 6}, status=507)
        end = time.monotonic() + 60
        while seen != set(schemas) and time.monotonic() < end:
            kind, data = read_event(stream)
            for fault in api.faults(schemas[kind], data):
                api.complain(f"event {kind}: {fault}")
            seen.add(kind)
    if seen != set(schemas):
        api.complain(f"no events of the kinds {set(schemas) - seen}")
    crowd = [connect(api.place) for _ in range(256)]
    for one in crowd:
        one.request("GET", "/v1/events")
        if one.getresponse().status == 503:
            break
    api.ask("GET", "/v1/events", status=503)


def tokens(api, folder):
    """Creates a token of each scope in the folder, for the later walks."""
    for scope in ("read", "operate", "admin"):
        made = api.ask("POST", "/v1/tokens", {"name": scope, "scope": scope, "ttl_s": 3600}, status=201)
        located(api, made)
        with open(os.path.join(folder, scope), "w") as file:
            file.write(made.json()["token"])
    api.ask("POST", "/v1/tokens", {"name": "read", "scope": "admin"}, status=409)
    with unsaved(folder, "tokens.json"):
        api.ask("POST", "/v1/tokens", {"name": "lost", "scope": "read"}, status=507)
        api.ask("DELETE", "/v1/tokens/admin", status=507)
    api.ask("POST", "/v1/tokens", {"name": "gone", "scope": "read"}, status=201)
    api.ask("DELETE", "/v1/tokens/gone", status=204)
    api.ask("GET", "/v1/tokens", status=200)
    rows = api.ask("GET", "/v1/audit?limit=1000", status=200).json()["audit"]
    if not any(row["path"] == "/v1/tokens/gone" for row in rows):
        api.complain(f"the change is not in the audit log: {rows[-3:]}")


def token(folder, scope):
    with open(os.path.join(folder, scope)) as file:
        return {"Authorization": f"Bearer {file.read()}"}


def strangers(api, folder):
    """Requests over TCP without a token, with an insufficient one, and with many invalid ones."""
    closed = [each for each in api.operations() if each[2]["x-gover-scope"] != "open"]
    for method, path, operation in closed:
        api.ask(method, an_address(path), status=401)
        if operation["x-gover-scope"] != "read":
            lower = {"operate": "read", "admin": "operate"}[operation["x-gover-scope"]]
            api.ask(method, an_address(path), headers=token(folder, lower), status=403)
    api.ask("GET", "/v1/host", headers=token(folder, "read"), status=200)
    api.ask("PATCH", "/v1/vgpus/a", {"weight": 4}, token(folder, "operate"), 200)
    wrong = {"Authorization": "Bearer gvr_wrong"}
    for _ in range(16):
        exchange(api.place, "GET", "/v1/host", headers=wrong)
    # After a waiting time, the next invalid token is checked again and starts a longer waiting time.
    checked = 0
    for method, path, _ in closed:
        while api.ask(method, an_address(path), headers=wrong, status={401, 429}).status == 401:
            checked += 1
    if checked > 6:
        api.complain(f"{checked} invalid tokens were checked without a waiting time")


def elsewhere(api, folder):
    """Anonymous callers may read, but not with the name of another host."""
    for method, path, operation in api.operations():
        if operation["x-gover-scope"] == "read":
            api.ask(method, an_address(path), headers={"Host": "elsewhere"}, status=403)


def early(api, folder):
    """Requests before the end of the first period."""
    api.ask("GET", "/readyz", status=503)
    api.ask("GET", "/v1/host", status=200)


def everything(api, folder):
    """Checks after all other walks that every described answer has occurred."""
    with open(os.path.join(folder, "seen")) as file:
        seen = set(file.read().splitlines())
    for missing in api.unseen(seen):
        api.complain(f"never seen: {missing}")


def main():
    place, folder, walk = sys.argv[1:]
    kept = os.path.join(folder, "openapi.json")  # for callers that may not read the description
    api = Described(place, kept if os.path.exists(kept) else None)
    try:
        globals()[walk](api, folder)
    finally:  # also after a walk that failed
        with open(os.path.join(folder, "seen"), "a") as file:
            file.writelines(line + "\n" for line in sorted(api.seen))
    api.tell()


main()
