"""notify-sink.py SOCKET: receives sd_notify() messages in place of systemd, and prints them until it is killed."""

import socket
import sys

with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sink:
    sink.bind(sys.argv[1])
    while True:
        print(sink.recv(4096).decode(), flush=True)
