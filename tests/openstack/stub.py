#!/usr/bin/python3
# It is a stand-in for Glance and Neutron: it answers just what Nova asks of them for servers without networks.
# The image is a kernel with an initramfs and an empty disk, in /srv/image (make-guest). Used only by make check-openstack.
import hashlib
import http.server
import json
import os
import sys
import threading
import urllib.parse

IMAGES = "/srv/image"
GLANCE, NEUTRON = ("127.0.0.1", 9292), ("127.0.0.1", 9696)
IDS = {
    "kernel": "11111111-1111-4111-8111-111111111111",
    "initramfs": "22222222-2222-4222-8222-222222222222",
    "disk": "33333333-3333-4333-8333-333333333333",
}
MADE = "2026-01-01T00:00:00Z"
EMPTY_LISTS = ("ports", "networks", "subnets", "floatingips", "security-groups", "routers")


def image(name):
    """The description of an image, as Glance returns it."""
    path = os.path.join(IMAGES, name)
    with open(path, "rb") as file:
        checksum = hashlib.md5(file.read()).hexdigest()
    described = {
        "id": IDS[name], "name": name, "status": "active", "visibility": "public", "protected": False, "tags": [],
        "disk_format": "raw", "container_format": "bare", "min_ram": 0, "min_disk": 0, "size": os.path.getsize(path),
        "checksum": checksum, "owner": None, "created_at": MADE, "updated_at": MADE, "virtual_size": None,
        "os_hidden": False, "file": f"/v2/images/{IDS[name]}/file", "schema": "/v2/schemas/image",
    }
    if name == "disk":
        described |= {"kernel_id": IDS["kernel"], "ramdisk_id": IDS["initramfs"], "os_command_line": "console=ttyS0 quiet"}
    return described


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, document=None, data=None):
        data = json.dumps(document or {}).encode() if data is None else data
        self.send_response(status)
        self.send_header("Content-Type", "application/json" if document is not None else "application/octet-stream")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def parts(self):
        return [part for part in self.path.split("?")[0].split("/") if part]


class Glance(Handler):
    images = {}

    def do_GET(self):
        parts = self.parts()
        if len(parts) < 2:
            link = {"rel": "self", "href": f"http://{GLANCE[0]}:{GLANCE[1]}/v2/"}
            return self.answer(300, {"versions": [{"id": "v2.15", "status": "CURRENT", "links": [link]}]})
        if parts[1] == "schemas":
            known = {name: {"is_base": True} for name in (*image("disk"), "direct_url", "self", "locations")}
            for name in ("kernel_id", "ramdisk_id", "os_command_line"):
                known.pop(name)
            return self.answer(200, {"name": "image", "properties": known, "additionalProperties": {"type": "string"}, "links": []})
        if parts[1:] == ["images"]:
            query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
            found = [one for one in self.images.values() if one["name"] in query.get("name", [one["name"]])]
            return self.answer(200, {"images": found, "schema": "/v2/schemas/images", "first": "/v2/images"})
        found = self.images.get(parts[2])
        if not found:
            return self.answer(404, {})
        if parts[3:] == ["file"]:
            with open(os.path.join(IMAGES, found["name"]), "rb") as file:
                return self.answer(200, data=file.read())
        return self.answer(200, found)


class Neutron(Handler):
    def do_GET(self):
        parts = self.parts()
        last = parts[-1] if parts else ""
        if last in EMPTY_LISTS:
            return self.answer(200, {last.replace("-", "_"): []})
        if last == "extensions":
            return self.answer(200, {"extensions": []})
        if "quotas" in parts:
            return self.answer(200, {"quota": {"port": -1, "network": -1}})
        if last in ("", "v2.0"):
            link = {"rel": "self", "href": f"http://{NEUTRON[0]}:{NEUTRON[1]}/v2.0/"}
            return self.answer(200, {"versions": [{"id": "v2.0", "status": "CURRENT", "links": [link]}]})
        return self.answer(404, {"NeutronError": {"type": "NotFound", "message": self.path, "detail": ""}})

    def refuse(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.answer(404, {"NeutronError": {"type": "NotFound", "message": self.path, "detail": ""}})

    do_POST = do_PUT = do_DELETE = refuse


def serve(address, handler):
    server = http.server.ThreadingHTTPServer(address, handler)
    server.daemon_threads = True
    server.serve_forever()


def main():
    Glance.images = {described["id"]: described for described in map(image, IDS)}
    threading.Thread(target=serve, args=(NEUTRON, Neutron), daemon=True).start()
    serve(GLANCE, Glance)


if __name__ == "__main__":
    sys.exit(main())
