#!/usr/bin/env python3
# A stand-in for OpenStack's Placement and Keystone: not a program of OpenStack. It has the states and errors that
# gover-fleet depends on, and injects faults: 404, 409 concurrent_update, 5xx, hang, closed connection, slow, lost root.
# Prints "ready PORT" when it listens on 127.0.0.1. Placement is at /, Keystone at /identity.
#
# Control, each with JSON: POST /_fake/fault {"kind", "match", "count", "seconds"} injects a fault into the next `count`
# requests whose "METHOD PATH" matches; POST /_fake/root {"name", "uuid", "gpus"} makes the provider of a compute node and
# of GPUs with one slot each, DELETE /_fake/root?name= removes it with its tree; POST /_fake/reset forgets everything, POST /_fake/heal
# only the faults; POST /_fake/compute {"url"} sets the address of Nova in Keystone's catalog; GET /_fake/log returns the requests since
# the last call; GET /_fake/state returns providers, inventories, traits and allocations.
import datetime
import json
import re
import socket
import sys
import threading
import time
import urllib.parse
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

STANDARD_TRAITS = {"HW_GPU_API_VULKAN", "COMPUTE_STATUS_DISABLED"}


class Refused(Exception):
    def __init__(self, status, code, detail):
        super().__init__(detail)
        self.status, self.code, self.detail = status, code, detail


def concurrent(what):
    return Refused(409, "placement.concurrent_update", f"resource provider generation conflict: {what}")


class Cloud:
    """The data of Placement. The caller holds the lock."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.providers, self.inventories, self.traits = {}, {}, {}
        self.classes, self.known_traits = {"VCPU", "VGPU"}, set(STANDARD_TRAITS)
        self.allocations = {}  # consumer: {provider: {class: amount}}
        self.tokens, self.token_life_s = set(), 3600

    def make_root(self, name, number=None, gpus=()):
        self.drop_root(name)
        one = {"uuid": number or str(uuid.uuid4()), "name": name, "generation": 0, "parent_provider_uuid": None}
        one["root_provider_uuid"] = one["uuid"]
        self.add(one)
        for gpu in gpus:
            child = self.create({"name": f"{name}_gover_{gpu}", "uuid": str(uuid.uuid4()), "parent_provider_uuid": one["uuid"]})
            self.classes.add("CUSTOM_GOVER_SLOT_25")
            parts = {"total": 1, "reserved": 0, "min_unit": 1, "max_unit": 1, "step_size": 1, "allocation_ratio": 1.0}
            self.inventories[child["uuid"]] = {"CUSTOM_GOVER_SLOT_25": parts}
        return one["uuid"]

    def add(self, one):
        self.providers[one["uuid"]] = one
        self.inventories[one["uuid"]], self.traits[one["uuid"]] = {}, []

    def drop(self, number):
        for table in (self.providers, self.inventories, self.traits):
            table.pop(number, None)
        for parts in self.allocations.values():
            parts.pop(number, None)

    def drop_root(self, name):
        for one in list(self.providers.values()):
            root = self.providers.get(one["root_provider_uuid"])
            if root and root["name"] == name and one["uuid"] != root["uuid"]:
                self.drop(one["uuid"])
        for one in list(self.providers.values()):
            if one["name"] == name:
                self.drop(one["uuid"])

    def get(self, number):
        if number not in self.providers:
            raise Refused(404, "placement.undefined_code", f"No resource provider with uuid {number} found")
        return self.providers[number]

    def used(self, number):
        sums = {}
        for parts in self.allocations.values():
            for name, amount in parts.get(number, {}).items():
                sums[name] = sums.get(name, 0) + amount
        return sums

    def create(self, body):
        if any(one["name"] == body["name"] or one["uuid"] == body["uuid"] for one in self.providers.values()):
            raise Refused(409, "placement.duplicate_name", f"Conflicting resource provider name: {body['name']} already exists")
        parent = self.providers.get(body.get("parent_provider_uuid"))
        if body.get("parent_provider_uuid") and not parent:
            raise Refused(400, "placement.undefined_code", "parent provider UUID does not exist")
        one = dict(body, generation=0)
        one["root_provider_uuid"] = parent["root_provider_uuid"] if parent else one["uuid"]
        self.add(one)
        return one

    def check_generation(self, number, body):
        one = self.get(number)
        if body["resource_provider_generation"] != one["generation"]:
            raise concurrent(f"{body['resource_provider_generation']} is not {one['generation']}")
        return one

    def set_inventories(self, number, body):
        one = self.check_generation(number, body)
        for name, inventory in body["inventories"].items():
            if name not in self.classes:
                raise Refused(400, "placement.undefined_code", f"No such resource class {name}")
            if inventory["total"] < 1:
                raise Refused(400, "placement.undefined_code", "0 is less than the minimum of 1")
        for name, amount in self.used(number).items():
            if amount and name not in body["inventories"]:
                raise Refused(409, "placement.inventory.inuse", f"Inventory for {name} is in use")
        self.inventories[number] = body["inventories"]
        one["generation"] += 1

    def set_inventory(self, number, name, body):
        one = self.check_generation(number, body)
        if name not in self.inventories[number]:
            raise Refused(400, "placement.undefined_code", "No inventory record with resource class for resource provider")
        if body["total"] < 1:
            raise Refused(400, "placement.undefined_code", "0 is less than the minimum of 1")
        self.inventories[number][name] = {key: value for key, value in body.items() if key != "resource_provider_generation"}
        one["generation"] += 1
        return dict(self.inventories[number][name], resource_provider_generation=one["generation"])

    def set_traits(self, number, body):
        one = self.check_generation(number, body)
        unknown = [name for name in body["traits"] if name not in self.known_traits]
        if unknown:
            raise Refused(400, "placement.undefined_code", f"No such trait {unknown[0]}")
        self.traits[number] = sorted(body["traits"])
        one["generation"] += 1

    def allocate(self, consumer, body):
        for number, part in body["allocations"].items():
            self.get(number)
            for name, amount in part["resources"].items():
                inventory = self.inventories[number].get(name)
                room = inventory["total"] - inventory["reserved"] - self.used(number).get(name, 0) if inventory else 0
                if amount > room or amount > inventory["max_unit"]:
                    raise Refused(409, "placement.undefined_code", "Unable to allocate inventory: exceeds the capacity")
        for number, part in body["allocations"].items():
            self.allocations.setdefault(consumer, {})[number] = dict(part["resources"])
            self.providers[number]["generation"] += 1

    def candidates(self, query):
        """The providers with room for the class of a GPU; all other resources are those of their roots, which have room."""
        groups = ",".join(query[key] for key in ("resources", "resources1") if key in query)
        wanted = {name: int(amount) for name, amount in (each.split(":") for each in groups.split(","))}
        slots = {name: amount for name, amount in wanted.items() if name.startswith("CUSTOM_")}
        rest = {name: amount for name, amount in wanted.items() if name not in slots}
        forbidden, found = query.get("required1", query.get("required", "")).lstrip("!"), []
        for number, one in self.providers.items():
            room = {name: part["total"] - part["reserved"] - self.used(number).get(name, 0)
                    for name, part in self.inventories[number].items()}
            if forbidden not in self.traits[number] and all(room.get(name, 0) >= amount for name, amount in slots.items()):
                resources = {number: {"resources": slots}}
                if rest:
                    resources[one["root_provider_uuid"]] = {"resources": rest}
                found.append({"allocations": resources})
        return {"allocation_requests": found, "provider_summaries": {}}

    def deallocate(self, consumer):
        if consumer not in self.allocations:
            raise Refused(404, "placement.undefined_code", "No allocations")
        for number in self.allocations.pop(consumer):
            self.providers[number]["generation"] += 1

    def state(self):
        return {
            "providers": [dict(one, inventories=self.inventories[one["uuid"]], traits=self.traits[one["uuid"]],
                               used=self.used(one["uuid"])) for one in self.providers.values()],
            "classes": sorted(self.classes), "allocations": self.allocations,
        }


class Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock, self.cloud, self.faults, self.log = threading.Lock(), Cloud(), [], []
        self.compute_url = None  # None: this server
        self.auth = False  # true after the first request to Keystone: tokens are checked

    def next_fault(self, text):
        with self.lock:
            self.log.append(text)
            for fault in self.faults:
                if fault["count"] > 0 and re.search(fault["match"], text):
                    fault["count"] -= 1
                    return fault
        return None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass

    def answer(self, status, body=None, headers=()):
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data if status != 204 else b"")
        self.close_connection = True

    def refuse(self, status, code, detail):
        self.answer(status, {"errors": [{"status": status, "title": "Refused", "code": code, "detail": detail}]})

    def inject(self, fault):
        """Returns true if the request is answered, or never will be."""
        kind = fault["kind"]
        if kind == "slow":
            time.sleep(fault.get("seconds", 0.2))
            return False
        if kind == "hang":
            time.sleep(fault.get("seconds", 3600))
        if kind in ("hang", "close"):
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif kind == "late":  # processed, but the reply is lost
            self.wfile = open("/dev/null", "wb")  # pylint: disable=consider-using-with
            return False
        elif kind == "garbage":
            self.answer(200, {"resource_providers": 1, "inventories": []})
        elif kind == "409":
            self.refuse(409, "placement.concurrent_update", "injected")
        elif kind == "lost-root":
            with self.server.lock:
                self.server.cloud.drop_root(fault["name"])
            return False
        else:
            self.refuse(int(kind), "placement.undefined_code", "injected")
        return True

    def serve(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if url.path.startswith("/_fake/"):
            with self.server.lock:
                self.control(url.path, query, body)
            return
        fault = self.server.next_fault(f"{self.command} {self.path}")
        if fault and self.inject(fault):
            return
        try:
            with self.server.lock:
                status, reply, headers = self.route(url.path, query, body)
        except Refused as refused:
            self.refuse(refused.status, refused.code, refused.detail)
            return
        self.answer(status, reply, headers)
        if fault and fault["kind"] == "late":
            self.connection.shutdown(socket.SHUT_RDWR)

    do_GET = do_PUT = do_POST = do_DELETE = serve

    def control(self, path, query, body):
        server, reply = self.server, {}
        if path == "/_fake/fault":
            server.faults.append(dict({"match": "", "count": 1}, **body))
        elif path == "/_fake/reset":
            server.cloud.reset()
            server.faults.clear()
        elif path == "/_fake/heal":
            server.faults.clear()
        elif path == "/_fake/compute":
            server.compute_url = body["url"]
        elif path == "/_fake/root" and self.command == "DELETE":
            server.cloud.drop_root(query["name"])
        elif path == "/_fake/root":
            reply = {"uuid": server.cloud.make_root(body["name"], body.get("uuid"), body.get("gpus", ()))}
        elif path == "/_fake/token":
            server.cloud.tokens.clear()
            server.cloud.token_life_s = body.get("life_s", 3600)
        elif path == "/_fake/log":
            reply = {"requests": list(server.log)}
            server.log.clear()
        elif path == "/_fake/state":
            reply = server.cloud.state()
        self.answer(200, reply)

    def route(self, path, query, body):
        """Returns status, body and headers of a request to Keystone or Placement."""
        cloud, method = self.server.cloud, self.command
        if path == "/identity/v3/auth/tokens":
            return self.authenticate(body)
        token = self.headers.get("X-Auth-Token")
        if self.server.auth and token not in cloud.tokens or not token:
            raise Refused(401, "", "The request you have made requires authentication.")
        parts = path.strip("/").split("/")
        if parts[0] in ("resource_classes", "traits") and method == "PUT":
            known = cloud.classes if parts[0] == "resource_classes" else cloud.known_traits
            status = 204 if parts[1] in known else 201
            known.add(parts[1])
            return status, None, ()
        if parts[0] == "allocations" and method == "GET":
            held = cloud.allocations.get(parts[1], {})
            return 200, {"allocations": {number: {"resources": part} for number, part in held.items()}}, ()
        if parts[0] == "allocations":
            if method == "PUT":
                cloud.allocate(parts[1], body)
            else:
                cloud.deallocate(parts[1])
            return 204, None, ()
        if parts[0] == "allocation_candidates":
            return 200, cloud.candidates(query), ()
        if parts[0] != "resource_providers":
            raise Refused(404, "", f"{path} not found")
        if len(parts) == 1:
            if method == "POST":
                return 200, cloud.create(body), ()
            return 200, {"resource_providers": self.list(query)}, ()
        if len(parts) == 4 and parts[2] == "inventories" and method == "PUT":
            return 200, cloud.set_inventory(parts[1], parts[3], body), ()
        return self.provider(parts[1], parts[2] if len(parts) > 2 else None, body)

    def list(self, query):
        cloud, found = self.server.cloud, []
        tree = cloud.providers.get(query.get("in_tree"), {}).get("root_provider_uuid")
        for one in cloud.providers.values():
            if query.get("name", one["name"]) != one["name"]:
                continue
            if "in_tree" not in query or one["root_provider_uuid"] == tree:
                found.append(one)
        return found

    def provider(self, number, part, body):
        cloud, method = self.server.cloud, self.command
        one = cloud.get(number)
        if part is None and method == "DELETE":
            if any(cloud.used(number).values()):
                raise Refused(409, "placement.resource_provider.inuse", "Unable to delete resource provider: in use")
            cloud.drop(number)
            return 204, None, ()
        if part == "inventories" and method == "PUT":
            cloud.set_inventories(number, body)
        elif part == "traits" and method == "PUT":
            cloud.set_traits(number, body)
        reply = {"resource_provider_generation": one["generation"]}
        if part == "inventories":
            reply["inventories"] = cloud.inventories[number]
        elif part == "traits":
            reply["traits"] = cloud.traits[number]
        elif part == "allocations":
            held = {consumer: parts[number] for consumer, parts in cloud.allocations.items() if number in parts}
            reply["allocations"] = {consumer: {"resources": part, "consumer_generation": 1} for consumer, part in held.items()}
        elif part == "usages":
            reply["usages"] = dict({name: 0 for name in cloud.inventories[number]}, **cloud.used(number))
        else:
            reply = one
        return 200, reply, ()

    def authenticate(self, body):
        cloud = self.server.cloud
        self.server.auth = True
        identity = body["auth"]["identity"]
        secret = identity.get("password", {}).get("user", {}).get("password")
        secret = secret or identity.get("application_credential", {}).get("secret")
        if secret != "secret":
            raise Refused(401, "", "The request you have made requires authentication.")
        token = uuid.uuid4().hex
        cloud.tokens.add(token)
        now = datetime.datetime(2026, 11, 27)
        port = self.server.server_address[1]
        here = f"http://127.0.0.1:{port}"
        urls = {"placement": here, "compute": self.server.compute_url or here}
        catalog = [{"type": name, "endpoints": [{"interface": "public", "region": "one", "region_id": "one", "url": url}]}
                   for name, url in urls.items()]
        times = {"issued_at": now, "expires_at": now + datetime.timedelta(seconds=cloud.token_life_s)}
        reply = {name: when.strftime("%Y-%m-%dT%H:%M:%S.000000Z") for name, when in times.items()}
        return 201, {"token": dict(reply, catalog=catalog)}, (("X-Subject-Token", token),)


def main():
    server = Server()
    print("ready", server.server_address[1], flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
