# SPDX-License-Identifier: MIT
# crowd.py SOCKET bodies|lists|streams|queries|all N: N clients at the same time. bodies: each sends all but the last byte
# of a large body, then the rest. lists: each requests a list of its own, and reads only after all have done so. Prints how
# often each status came; "none" if there was no answer.
import collections
import contextlib
import json
import socket
import sys

BODY = 60000
path, kind, n = sys.argv[1], sys.argv[2], int(sys.argv[3])


def connect():
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(60)
    connection.connect(path)
    return connection


def get(target):
    return f"GET {target} HTTP/1.1\r\nHost: gover\r\n\r\n".encode()


def body():
    text = json.dumps({"weight": 1}).ljust(BODY)
    head = "PATCH /v1/vgpus/v1 HTTP/1.1\r\nHost: gover\r\nContent-Type: application/json\r\nContent-Length: "
    return f"{head}{BODY}\r\n\r\n{text}".encode()


# the bytes that each client sends at first, and those that it sends after all others have done so
requests = {
    "bodies": lambda i: (body()[:-1], body()[-1:]),
    "lists": lambda i: (get("/v1/vgpus?limit=60"), b""),
    "streams": lambda i: (get("/v1/events"), b""),
    "queries": lambda i: (get("/v1/vgpus/v1/history"), b""),
}
kinds = list(requests) if kind == "all" else [kind]
clients = []
for i in range(n):
    for name in kinds:
        first, rest = requests[name](i)
        connection = connect()
        connection.sendall(first)
        clients.append((connection, rest))
statuses = collections.Counter()
# Each client sends its last bytes before the first client reads. Otherwise the later connections could reach their time limit
# while the changes of the earlier ones are made.
for connection, rest in clients:
    with contextlib.suppress(OSError):  # gover-d has refused the request and closed the connection
        connection.sendall(rest)
for connection, _ in clients:
    try:
        answer = connection.recv(12).decode()
    except OSError:
        answer = ""
    statuses[answer[9:12] or "none"] += 1
for connection, _ in clients:
    connection.close()
for status, count in sorted(statuses.items()):
    print(status, count)
