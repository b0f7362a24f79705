# SPDX-License-Identifier: MIT
# Programs in virtual machines that report frames: a socket for each vGPU, as QEMU provides it for a virtio-serial port. A
# reporter that draws nothing stays connected and sends its messages, as the library in a guest does.
import contextlib
import os
import socket
import threading
import time

from message import Counters

EVERY_S = 0.27  # the daemon accepts four messages a second and needs 250 ms between two that give a rate


class Port:
    """The port of one vGPU and its program."""

    def __init__(self, path):
        self.path = path
        self.counters = Counters()
        self.fps = 0.0
        self.frames = 0.0
        self.guests = []
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.setblocking(False)
        self.listener.bind(path)
        self.listener.listen()

    def send(self, passed_s):
        with contextlib.suppress(BlockingIOError):
            self.guests.append(self.listener.accept()[0])
        self.frames += self.fps * passed_s
        message = self.counters.message(int(self.frames))
        for guest in list(self.guests):
            try:
                guest.send(message, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
            except OSError:  # the daemon has ended
                guest.close()
                self.guests.remove(guest)

    def close(self):
        for one in [self.listener, *self.guests]:
            one.close()
        os.unlink(self.path)


class Reporters:
    """The programs of a host. They begin with set_fps() and end with close()."""

    def __init__(self, folder):
        self.folder = folder
        self.lock = threading.Lock()
        self.ports = {}
        self.thread = None

    def set_fps(self, rates):
        """@rates: the frame rate of each vGPU that is named."""
        with self.lock:
            for vgpu, fps in rates.items():
                if vgpu not in self.ports:
                    self.ports[vgpu] = Port(os.path.join(self.folder, vgpu))
                self.ports[vgpu].fps = fps
        if not self.thread:
            self.thread = threading.Thread(target=self.run, daemon=True)
            self.thread.start()

    def run(self):
        last = time.monotonic()
        while True:
            time.sleep(EVERY_S)
            with self.lock:
                if not self.ports:
                    self.thread = None
                    return
                now = time.monotonic()
                for port in self.ports.values():
                    port.send(now - last)
                last = now

    def close(self):
        with self.lock:
            for port in self.ports.values():
                port.close()
            self.ports = {}
