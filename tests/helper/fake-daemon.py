"""fake-daemon.py SOCKET FOLDER LOG: replies to every request with a file, until a signal ends it.

The file for GET /v1/vgpus/web1?x is FOLDER/GET_v1_vgpus_web1. An empty file is status 204, a missing file is status 404.
Each request is a line in LOG: method, target, body.
"""

import http.server
import socketserver
import sys
import threading
import urllib.parse

path, folder, log_file = sys.argv[1:]
log = open(log_file, "a", encoding="utf-8")
log_lock = threading.Lock()
problem = (
    b'{"type": "about:blank", "title": "Not Found", "status": 404, "detail": "the fake daemon has no such reply"}'
)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        asked = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        with log_lock:
            print(self.command, self.path, *([asked] if asked else []), file=log, flush=True)
        name = self.command + urllib.parse.unquote(self.path.partition("?")[0])
        try:
            with open(f"{folder}/{name.replace('/', '_')}", "rb") as file:
                text = file.read()
            status = 200 if text else 204
        except OSError:
            text, status = problem, 404
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if text:
            self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = answer

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 64


Server(path, Handler).serve_forever()
