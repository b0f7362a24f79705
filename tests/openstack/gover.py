# SPDX-License-Identifier: MIT
# gover on a host of the cloud: starts gover-d and gover-fleet, and asks gover-d on its unix socket.
import datetime
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
import rest  # noqa: E402

READY_S = 60
# As its unit does.
FLEET = ["setpriv", "--reuid=gover-fleet", "--regid=gover-fleet", "--groups=gover", "gover-fleet"]


def start_fleet(host):
    host.run("install", "-d", "-o", "gover-fleet", "-g", "gover-fleet", "/run/gover-fleet")
    host.start("gover-fleet", *FLEET)


def withdraw(host):
    """Ends gover-fleet as its unit does."""
    host.services["gover-fleet"].stop()
    host.run(*FLEET, "--withdraw")


def start(host, until):
    os.makedirs(host.path("/run/gover/gpu0"), exist_ok=True)
    host.run("cp", "/etc/cloud/gover.conf", "/etc/gover/gover.conf")
    host.start("gover-d", "gover-d")
    until(lambda: is_ready(host), READY_S, f"gover-d of {host.name}")


def is_ready(host):
    try:
        return ask(host, "GET", "/readyz").status == 200
    except rest.NoAnswer:
        return False


def ask(host, method, path, body=None):
    return rest.ask(host.path("/run/gover/gover.sock"), method, path, body)


def get(host, path):
    """A document of gover-d; an empty one while gover-d is away."""
    try:
        answer = ask(host, "GET", path)
    except rest.NoAnswer:
        return {}
    return answer.json() if answer.status == 200 else {}


def vgpus(host):
    return get(host, "/v1/vgpus").get("vgpus", [])


def offers(host, state="open"):
    return [each for each in get(host, "/v1/offers?all=true").get("offers", []) if each["state"] == state]


def alerts(host):
    return get(host, "/v1/alerts").get("alerts", [])


def clock(text):
    """Seconds since 1970 of a time of gover-d."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
