#!/usr/bin/python3
# A placeholder for gover-fleet until it exists, with its options: publishes what gover-d sells, claims in libvirt's hook, and asks for
# migrations.
import http.client
import json
import re
import socket
import subprocess
import sys
import time

sys.path.insert(0, "/etc/cloud")
SOCKET = "/run/gover/gover.sock"


class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(SOCKET)


def gover(method, path, body=None, headers={}):
    connection = Unix("gover")
    connection.request(method, path, body and json.dumps(body), {"Content-Type": "application/json", **headers})
    answer = connection.getresponse()
    data = answer.read()
    return answer.status, json.loads(data) if data else None


def hook(domain, operation):
    xml = sys.stdin.read()
    if operation != "prepare" or 'name="half-gpu"' not in xml:
        return 0
    uuid = re.search(r"<uuid>([^<]+)", xml).group(1)
    offers = [each for each in gover("GET", "/v1/offers")[1]["offers"] if each["state"] == "open"]
    for offer in offers:
        if gover("POST", f"/v1/offers/{offer['id']}/claim", {"id": uuid, "vm": uuid}, {"Idempotency-Key": uuid})[0] == 200:
            return 0
    print("gover: the offer is gone", file=sys.stderr)
    return 1


def publish(host):
    import api
    admin, asked, before = api.Session(), set(), None
    while True:
        time.sleep(0.05)
        try:
            before = publish_once(api, admin, host, asked, before)
        except (api.Refused, OSError, TypeError) as error:
            print(f"{time.time():.3f} {error!r}", flush=True)
            time.sleep(0.5)
            before = None


def publish_once(api, admin, host, asked, before):
    vgpus = gover("GET", "/v1/vgpus")[1]["vgpus"]
    live = subprocess.run(["virsh", "-q", "list", "--all", "--uuid"], capture_output=True, text=True).stdout.split()
    for vgpu in vgpus:
        if vgpu["id"] not in live and not vgpu["state"] == "new" and time.time() - seen.setdefault(vgpu["id"], time.time()) > 3:
            gover("DELETE", f"/v1/vgpus/{vgpu['id']}")
    offers = [each for each in gover("GET", "/v1/offers")[1]["offers"] if each["state"] == "open"]
    severe = [each for each in gover("GET", "/v1/alerts")[1]["alerts"] if each["name"] == "severe_overload"]
    total = len(vgpus) + len(offers)
    now = (total, bool(severe), int(time.time()) // 5)
    if now == before:
        return before
    name = f"{host}_gover_gpu0"
    provider = admin.provider(name)
    if not provider:
        root = admin.provider(host)
        admin.call(api.PLACEMENT, "PUT", "/resource_classes/CUSTOM_GOVER_SLOT_HALF")
        admin.call(api.PLACEMENT, "PUT", "/traits/CUSTOM_GOVER_OVERLOADED")
        provider = admin.call(api.PLACEMENT, "POST", "/resource_providers", {"name": name, "parent_provider_uuid": root["uuid"]})
    uuid = provider["uuid"]
    generation = admin.provider(name)["generation"]
    inventory = {"total": max(total, 1), "reserved": 0 if total else 1, "max_unit": 1}
    admin.call(api.PLACEMENT, "PUT", f"/resource_providers/{uuid}/inventories",
               {"resource_provider_generation": generation, "inventories": {"CUSTOM_GOVER_SLOT_HALF": inventory}})
    traits = ["CUSTOM_GOVER_OVERLOADED"] if severe else []
    if admin.traits(uuid) != traits:
        admin.call(api.PLACEMENT, "PUT", f"/resource_providers/{uuid}/traits",
                   {"resource_provider_generation": admin.provider(name)["generation"], "traits": traits})
    for alert in severe:
        if alert["vgpu"] and alert["id"] not in asked:
            asked.add(alert["id"])
            admin.migrate(alert["vgpu"])
    return now


seen = {}
if sys.argv[1:2] == ["--hook"]:
    sys.exit(hook(*sys.argv[2:4]))
if sys.argv[1:2] != ["--check-config"]:
    publish(socket.gethostname())
