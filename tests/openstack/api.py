# SPDX-License-Identifier: MIT
# Requests to Keystone, Placement and Nova. Each answer is a document, or Refused with the status and the text.
import datetime
import json
import time
import urllib.error
import urllib.request

TIMEOUT_S = 60
KEYSTONE, PLACEMENT, NOVA = "http://127.0.0.1:5000/v3", "http://127.0.0.1:8778", "http://127.0.0.1:8774/v2.1"
VERSIONS = {PLACEMENT: {"OpenStack-API-Version": "placement 1.39"}, NOVA: {"OpenStack-API-Version": "compute 2.90"}, KEYSTONE: {}}
REGION = "RegionOne"
CATALOGUE = (("placement", "placement", PLACEMENT), ("compute", "nova", NOVA), ("image", "glance", "http://127.0.0.1:9292"),
             ("network", "neutron", "http://127.0.0.1:9696"))
DISK_IMAGE = "33333333-3333-4333-8333-333333333333"  # of stub.py


class Refused(Exception):
    def __init__(self, status, text):
        super().__init__(f"{status}: {text}")
        self.status = status


def ask(url, method, headers, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", "Accept": "application/json", **headers}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            data = answer.read()
            return answer.headers, json.loads(data) if data else None
    except urllib.error.HTTPError as error:
        raise Refused(error.code, error.read().decode(errors="replace")) from error
    except OSError as error:
        raise Refused(0, repr(error)) from error


class Session:
    """A user of the cloud."""

    def __init__(self, user="admin", password="admin", project="admin"):
        domain = {"id": "default"}
        identity = {"methods": ["password"], "password": {"user": {"name": user, "domain": domain, "password": password}}}
        self.login = {"auth": {"identity": identity, "scope": {"project": {"name": project, "domain": domain}}}}
        self.token = None

    def call(self, service, method, path, body=None):
        if not self.token:
            self.token = ask(f"{KEYSTONE}/auth/tokens", "POST", {}, self.login)[0]["X-Subject-Token"]
        return ask(service + path, method, {"X-Auth-Token": self.token, **VERSIONS[service]}, body)[1]

    # --- Keystone ---

    def register(self, kind, name, url):
        """Adds a service to the catalogue."""
        service = self.call(KEYSTONE, "POST", "/services", {"service": {"type": kind, "name": name}})["service"]["id"]
        for interface in ("public", "internal", "admin"):
            endpoint = {"service_id": service, "interface": interface, "url": url, "region_id": REGION}
            self.call(KEYSTONE, "POST", "/endpoints", {"endpoint": endpoint})

    # --- Placement ---

    def provider(self, name):
        """The provider with this name, or None."""
        return next(iter(self.call(PLACEMENT, "GET", f"/resource_providers?name={name}")["resource_providers"]), None)

    def inventories(self, uuid):
        return self.call(PLACEMENT, "GET", f"/resource_providers/{uuid}/inventories")["inventories"]

    def usages(self, uuid):
        return self.call(PLACEMENT, "GET", f"/resource_providers/{uuid}/usages")["usages"]

    def traits(self, uuid):
        return self.call(PLACEMENT, "GET", f"/resource_providers/{uuid}/traits")["traits"]

    def allocations(self, consumer):
        """The resources of a consumer by provider."""
        found = self.call(PLACEMENT, "GET", f"/allocations/{consumer}")["allocations"]
        return {provider: each["resources"] for provider, each in found.items()}

    # --- Nova ---

    def make_flavor(self, name):
        """Makes a flavor without a slot of gover."""
        self.call(NOVA, "POST", "/flavors", {"flavor": {"name": name, "ram": 96, "vcpus": 1, "disk": 0}})

    def flavor(self, name):
        return next(each["id"] for each in self.call(NOVA, "GET", "/flavors")["flavors"] if each["name"] == name)

    def make_server(self, name, flavor, host=None):
        server = {"name": name, "imageRef": DISK_IMAGE, "flavorRef": flavor, "networks": "none"}
        if host:
            server["host"] = host
        return self.call(NOVA, "POST", "/servers", {"server": server})["server"]["id"]

    def find_server(self, name):
        return next(each["id"] for each in self.call(NOVA, "GET", "/servers")["servers"] if each["name"] == name)

    def server(self, uuid):
        return self.call(NOVA, "GET", f"/servers/{uuid}")["server"]

    def state(self, uuid):
        """(status, host) of a server; no status if it does not exist."""
        try:
            found = self.server(uuid)
        except Refused as error:
            if error.status != 404:
                raise
            return None, None
        return found["status"], found["OS-EXT-SRV-ATTR:host"]

    def domain(self, uuid):
        return self.server(uuid)["OS-EXT-SRV-ATTR:instance_name"]

    def remove_server(self, uuid):
        self.call(NOVA, "DELETE", f"/servers/{uuid}")

    def compute(self, host):
        """The service nova-compute of a host: (id, time of its last report)."""
        found = self.call(NOVA, "GET", f"/os-services?binary=nova-compute&host={host}")["services"]
        if not found:
            return None, 0.0
        return found[0]["id"], datetime.datetime.fromisoformat((found[0]["updated_at"] or found[0]["created_at"]) + "+00:00").timestamp()

    def remove_compute(self, uuid):
        self.call(NOVA, "DELETE", f"/os-services/{uuid}")

    def hypervisors(self):
        return {each["hypervisor_hostname"] for each in self.call(NOVA, "GET", "/os-hypervisors")["hypervisors"]}


def answers(call, *arguments):
    """The result of a call, or nothing while the service refuses."""
    try:
        return call(*arguments)
    except Refused:
        time.sleep(0.1)
        return None
