#!/usr/bin/env python3
# Injects one fault into one request of the publisher, for each kind of fault and each kind of request, and checks that the
# providers then become equal to the wanted state. Argument: the URL of fake-placement.py. Prints each violation, and at the
# end the number of faults.
import json
import os
import sys
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from hosts import SLOT, Hosts  # noqa: E402

ROOT = "00000000-0000-4000-8000-000000000000"
READS = [r"GET /resource_providers\?name", r"GET /resource_providers\?in_tree", "GET .*/inventories", "GET .*/usages", "GET .*/traits"]
WORDS = ["PUT /resource_classes/", "PUT /traits/"]
WRITES = ["POST /resource_providers$", "PUT .*/inventories$", "PUT /resource_providers/.*/traits", "DELETE /resource_providers/",
          "PUT .*/inventories/"]
EVERY = READS + WORDS + WRITES
# Which requests can have this reply. A timeout costs its time, so one request of each method is enough.
FAULTS = {
    "404": READS[2:] + WRITES[1:],
    "409": WRITES,
    "429": EVERY, "500": EVERY, "503": EVERY, "close": EVERY, "late": EVERY, "garbage": EVERY,
    "hang": [READS[1], WRITES[0], WRITES[1], WRITES[3], WRITES[4]],
    "slow": [READS[1], WRITES[1], WRITES[4]],
}
# The first result: 0 if the publisher resolves the fault itself, -EAGAIN, -ECONNRESET, or -EPROTO.
FIRST = {"404": {0}, "409": {0}, "429": {-11}, "500": {-11}, "503": {-11}, "close": {-104}, "late": {-104}, "hang": {-104},
         "slow": {0}, "garbage": {0, -71}}
WANTED = "gpu0:NEW=0+1:o;gpu1:25=0+2:-;gpu2:25=0+3:-"
EXPECTED = {"gpu0": ({SLOT + "NEW": 1}, ["CUSTOM_GOVER_OVERLOADED", "CUSTOM_GOVER_POLICY_QOS"]),
            "gpu1": ({SLOT + "25": 2}, ["CUSTOM_GOVER_POLICY_QOS"]),
            "gpu2": ({SLOT + "25": 3}, ["CUSTOM_GOVER_POLICY_QOS"])}


def control(url, method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{url}/_fake/{path}", data, method=method), timeout=30) as reply:
        return json.load(reply)


def state(url):
    found = {}
    for one in control(url, "GET", "state")["providers"]:
        if one["name"].startswith("host-0000_gover_"):
            totals = {name: part["total"] - part["reserved"] for name, part in one["inventories"].items()}
            found[one["name"].split("_gover_")[1]] = (totals, one["traits"])
    return found


def inject(url, kind, match):
    """Returns a description of a violation, or None."""
    control(url, "POST", "reset")
    control(url, "POST", "root", {"name": "host-0000", "uuid": ROOT, "gpus": ["old", "gpu0", "gpu2"]})
    control(url, "POST", "fault", {"kind": kind, "match": match, "seconds": 1 if kind == "hang" else 0.1})
    hosts = Hosts(url, 1, timeout_ms=300 if kind == "hang" else 5000, retry_max_ms=20)
    first = hosts.run(f"publish 0 0 0 1 - {WANTED}")
    # the publisher tries again by itself; one more check is what it does once a minute
    last = hosts.run("check 0 0 0") and hosts.run("check 0 0 1")
    found = state(url)
    status = hosts.close()
    if not first or first[0]["result"] not in FIRST[kind]:
        return f"first result {first}"
    if found != EXPECTED:
        return f"state {found}"
    if not last or last[0]["result"] != 0 or last[0]["writes"] != 0:
        return f"last result {last}"
    return None if status == 0 else f"exit status {status}"


def main():
    url, number = sys.argv[1], 0
    for kind, matches in FAULTS.items():
        for match in matches:
            number += 1
            problem = inject(url, kind, match)
            if problem:
                print(f"{kind} of {match}: {problem}")
    print(f"{number} faults")


if __name__ == "__main__":
    main()
