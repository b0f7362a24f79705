#!/usr/bin/env python3
"""It is a stand-in for Nova, the part of Placement that a migration asks, and gover-d, for unit tests of gover-fleet/migrate/.

It prints its TCP port. POST /_set changes the members of Behaviour, and first sets all others to their defaults. GET /_log
answers with the requests since then. A second server, on the unix socket of the first argument, records what is reported to
gover-d, in the same log."""
import http.server
import json
import socketserver
import sys
import threading
import time

SERVER = "aaaaaaaa-0000-4000-8000-000000000001"
OTHER = "aaaaaaaa-0000-4000-8000-000000000002"
ROOTS = {"own": "bbbbbbbb-0000-4000-8000-000000000001", "elsewhere": "bbbbbbbb-0000-4000-8000-000000000002"}
GPUS = {"own": "cccccccc-0000-4000-8000-000000000001", "elsewhere": "cccccccc-0000-4000-8000-000000000002"}
CLASS = "CUSTOM_GOVER_SLOT_50"
HOST = "host1"


class Behaviour:
    def __init__(self, **changes):
        self.ask_status = 202
        self.ask_hang_s = 0
        self.begins = True  # a request for a migration makes one
        self.course = ["preparing", "running", "completed"]  # status at each look; the last one stays
        self.abortable = True
        self.past = []  # earlier migrations
        self.status, self.task, self.host = "ACTIVE", None, HOST  # of the server
        self.status_after = "ACTIVE"  # once the migration was asked for
        self.fault = "No valid host was found.\nNone at all."  # of a server in state ERROR
        self.candidates = ["elsewhere"]
        self.allocations = {GPUS["own"]: {CLASS: 1}, ROOTS["own"]: {"VCPU": 1, "MEMORY_MB": 96}}
        self.errors = {}  # path prefix: status
        self.hang_s = {}  # path prefix: time before the answer
        self.gover_status = 200
        self.open = None  # the migration in progress that gover-d knows, as in GET /v1/fleet
        for name, value in changes.items():
            if not hasattr(self, name):
                raise ValueError(name)
            setattr(self, name, value)
        self.log, self.asked, self.looks = [], False, 0
        self.migrations = [{"migration_type": "live-migration", **each} if isinstance(each, dict) else each for each in self.past]

    def migration(self, number, status):
        return {"id": number, "instance_uuid": SERVER, "source_compute": HOST, "dest_compute": "host2", "status": status,
                "migration_type": "live-migration"}

    def ask(self):
        self.asked = True
        if self.begins:
            self.migrations.append(self.migration(1 + max([each["id"] for each in self.migrations if isinstance(each, dict)], default=0), self.course[0]))

    def look(self):
        if self.asked and self.begins and self.migrations[-1]["status"] != "cancelled":
            self.migrations[-1]["status"] = self.course[min(self.looks, len(self.course) - 1)]
            self.looks += 1

    def candidate(self, where):
        return {"allocations": {GPUS[where]: {"resources": {CLASS: 1}}, ROOTS[where]: {"resources": {"VCPU": 1, "MEMORY_MB": 96}}}}


behaviour = Behaviour()
lock = threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def address_string(self):
        return "client"

    def answer(self, status, document=None):
        data = b"" if document is None else json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def body(self):
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return json.loads(data) if data else None

    def record(self, body):
        entry = {"method": self.command, "path": self.path, "version": self.headers.get("OpenStack-API-Version"),
                 "token": self.headers.get("X-Auth-Token"), "body": body}
        with lock:
            behaviour.log.append(entry)


class Cloud(Handler):
    def do_GET(self):
        if self.path == "/_log":
            return self.answer(200, {"log": behaviour.log, "server": SERVER, "other": OTHER})
        if self.trouble():
            return None
        path, _, query = self.path.partition("?")
        if path == "/os-migrations":
            if f"instance_uuid={SERVER}" in query:
                behaviour.look()
            return self.answer(200, {"migrations": behaviour.migrations})
        if path == f"/servers/{SERVER}":
            return self.answer(200, {"server": self.server_document()})
        if path == f"/allocations/{SERVER}":
            return self.answer(200, {"allocations": {uuid: {"resources": each} for uuid, each in behaviour.allocations.items()}})
        if path == "/allocation_candidates":
            summaries = {uuid: {"root_provider_uuid": ROOTS[where]} for names in (GPUS, ROOTS) for where, uuid in names.items()}
            requests = [behaviour.candidate(where) for where in behaviour.candidates]
            return self.answer(200, {"allocation_requests": requests, "provider_summaries": summaries})
        return self.answer(404, {"itemNotFound": {"code": 404, "message": "no such thing"}})

    def server_document(self):
        status = behaviour.status_after if behaviour.asked else behaviour.status
        document = {"status": status, "OS-EXT-STS:task_state": behaviour.task, "OS-EXT-SRV-ATTR:host": behaviour.host}
        if status == "ERROR":
            document["fault"] = {"code": 500, "message": behaviour.fault}
        return document

    def do_POST(self):
        global behaviour
        body = self.body()
        if self.path == "/_set":
            with lock:
                behaviour = Behaviour(**body)
            return self.answer(200, {})
        if self.trouble(body):
            return None
        time.sleep(behaviour.ask_hang_s)
        if behaviour.ask_status == 202:
            behaviour.ask()
            return self.answer(202)
        return self.answer(behaviour.ask_status, {"badRequest": {"code": behaviour.ask_status, "message": "the reason of Nova"}})

    def do_DELETE(self):
        if self.trouble():
            return None
        if behaviour.abortable:
            behaviour.migrations[-1]["status"] = "cancelled"
        return self.answer(202)

    def trouble(self, body=None):
        """Answers with the error that is wanted for this path."""
        self.record(body)
        for prefix, seconds in behaviour.hang_s.items():
            if self.path.startswith(prefix):
                time.sleep(seconds)
        for prefix, status in behaviour.errors.items():
            if self.path.startswith(prefix):
                self.answer(status, {"forbidden": {"code": status, "message": "Policy does not allow it"}})
                return True
        return False


class Gover(Handler):
    def do_GET(self):
        self.record(None)
        if behaviour.open == "none":  # an older gover-d
            return self.answer(404, {"detail": "no such route"})
        return self.answer(behaviour.gover_status, {"migration": behaviour.open})

    def do_POST(self):
        self.record(self.body())
        self.answer(behaviour.gover_status, {"detail": "the reason of gover-d"})


class TcpServer(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        pass  # the client did not wait for an answer


class UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


def main():
    cloud = TcpServer(("127.0.0.1", 0), Cloud)
    cloud.daemon_threads = True
    threading.Thread(target=UnixServer(sys.argv[1], Gover).serve_forever, daemon=True).start()
    print(cloud.server_address[1], flush=True)
    threading.Thread(target=cloud.serve_forever, daemon=True).start()
    sys.stdin.read()  # ends with the test


if __name__ == "__main__":
    main()
