# SPDX-License-Identifier: MIT
# raw.py PLACE [end] [beside]: sends the bytes of stdin to the daemon on a socket or HOST:PORT, and prints the bytes of
# the answer until the daemon closes the connection. end: closes the sending side after the bytes, as nc -N does.
# beside: holds a second connection open meanwhile.
import socket
import sys

LIMIT_S = 20  # the daemon itself closes an idle connection after 30 s


def connect(place):
    if place.startswith("/"):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(LIMIT_S)
        connection.connect(place)
        return connection
    host, _, port = place.rpartition(":")
    return socket.create_connection((host, int(port)), LIMIT_S)


def main(place, *options):
    beside = connect(place) if "beside" in options else None
    with connect(place) as connection:
        connection.sendall(sys.stdin.buffer.read())
        if "end" in options:
            connection.shutdown(socket.SHUT_WR)
        while data := connection.recv(65536):
            sys.stdout.buffer.write(data)
    if beside:
        beside.close()


main(*sys.argv[1:])
