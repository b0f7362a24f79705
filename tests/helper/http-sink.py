"""http-sink.py PORTFILE BODIES STATUS: receives webhooks on 127.0.0.1.

Writes its port to PORTFILE, appends the body of each request as a line to BODIES, and responds with the status in the
file STATUS (default 200; "hang": no response).
"""

import re
import socket
import sys


def read_status(path):
    try:
        with open(path, encoding="ascii") as file:
            return file.read().split()[0]
    except (OSError, IndexError):
        return "200"


def read_request(connection):
    """Returns the body of the announced length, or None if the connection ends earlier."""
    text = b""
    while True:
        head, end, body = text.partition(b"\r\n\r\n")
        length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
        if end and len(body) >= (int(length[1]) if length else 0):
            return body
        got = connection.recv(65536)
        if not got:
            return None
        text += got


def main(port_file, bodies, status_file):
    hanging = []
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    with open(port_file, "w", encoding="ascii") as file:
        print(listener.getsockname()[1], file=file)
    while True:
        connection, _ = listener.accept()
        try:
            body, status = read_request(connection), read_status(status_file)
            if body is not None:
                with open(bodies, "ab") as file:
                    file.write(body + b"\n")
            if body is not None and status == "hang":
                hanging.append(connection)
                continue
            if body is not None:
                connection.sendall(f"HTTP/1.1 {status} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        except OSError:
            pass
        connection.close()


main(*sys.argv[1:])
