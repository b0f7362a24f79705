"""http-abuse.py SOCKET loris|mute|body N: clients that overload a server.

loris  N connections that send headers byte by byte and reconnect when they are closed
mute   N event streams that never read; prints "gone" when the server has closed all of them
body   N requests with a body of 1 GiB, alternately with a length and chunked; prints the status and the accepted MiB of
       each, and exits
The others print "ready" and run until they are killed.
"""

import select
import socket
import sys
import time

BODY_BYTES = 1024**3
PIECE_BYTES = 64 * 1024


def connect(path, blocking=True):
    """Returns None if the server does not accept."""
    client = socket.socket(socket.AF_UNIX)
    client.setblocking(blocking)
    try:
        client.connect(path)
    except OSError:
        client.close()
        return None
    return client


def send_some(client, text):
    """Returns False if the server has closed the connection."""
    try:
        client.send(text, socket.MSG_DONTWAIT)
    except BlockingIOError:
        pass
    except OSError:
        return False
    return True


def loris(path, n):
    clients = [None] * n
    turn = 0
    while True:
        for i, client in enumerate(clients):
            if client and not send_some(client, b"x" if turn % 20 else b"\r\nX-Y: "):
                client.close()
                clients[i] = None
            if clients[i] is None:
                clients[i] = connect(path, blocking=False)
                if clients[i]:
                    send_some(clients[i], b"GET /v1/host HTTP/1.1\r\nHost: x")
        if turn == 0:
            print("ready", flush=True)
        turn += 1
        time.sleep(0.2)


def mute(path, n):
    clients, ends = [], select.poll()
    while len(clients) < n:
        client = connect(path)
        if not client:
            time.sleep(0.01)
            continue
        send_some(client, b"GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n")
        ends.register(client, 0)
        clients.append(client)
    print("ready", flush=True)
    while len(ends.poll(0)) < n:
        time.sleep(0.1)
    print("gone", flush=True)
    while True:
        time.sleep(3600)


def send_body(path, chunked):
    client, sent = connect(path), 0
    piece = b" " * PIECE_BYTES
    if client is None:
        print("0 0")
        return
    try:
        client.sendall(
            b"POST /v1/vgpus HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            + (b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % BODY_BYTES)
            + b"\r\n\r\n"
        )
        while sent < BODY_BYTES:
            client.sendall(b"10000\r\n" + piece + b"\r\n" if chunked else piece)
            sent += PIECE_BYTES
    except OSError:
        pass
    try:
        answer = client.recv(1024)
    except OSError:
        answer = b""
    print(answer[9:12].decode() if answer.startswith(b"HTTP/1.1 ") else 0, sent // 1024**2)


def body(path, n):
    for i in range(n):
        send_body(path, i % 2)


{"loris": loris, "mute": mute, "body": body}[sys.argv[2]](sys.argv[1], int(sys.argv[3]))
