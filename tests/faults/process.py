# SPDX-License-Identifier: MIT
# Faults around the process: it is stopped, its clocks jump, its allocations fail, or its callers and helper programs
# misbehave.
import array
import contextlib
import fcntl
import os
import random
import signal
import socket
import struct
import time

import message
import page as at
import rest
from gpu import stir
from tree import until

DAY_S = 86400
PAGE_BYTES = 4096
FPS_MAGIC, FPS_VERSION = 0x46766F67, 2
LANE_AT, LANE_BYTES, LANES = 64, 320, 12
NOBODY = 65534


# --- the process and its clocks ---


def stopped(seconds):
    """The daemon is stopped for a while, as by a debugger or a frozen control group."""

    def run(attempt):
        attempt.acts(1)
        daemon = attempt.world.daemon
        daemon.process.send_signal(signal.SIGSTOP)
        try:
            time.sleep(attempt.rng.choice(seconds))
        finally:
            daemon.process.send_signal(signal.SIGCONT)

    return run


def audit_rows(world):
    return {row["id"] for row in world.get("/v1/audit?limit=1000")["audit"]}


def clock(realtime_s, boottime_s=0, back=True):
    """The clocks jump, for one second or (back=False) until the end of the fault. The audit log keeps its rows."""

    def run(attempt):
        attempt.acts(2)
        before = audit_rows(attempt.world)
        attempt.page.shift_clocks(realtime_s, boottime_s)
        attempt.acts(2)
        attempt.periods(20)
        if back:
            attempt.page.shift_clocks()
            attempt.periods(4)
        attempt.acts(2)
        lost = before - audit_rows(attempt.world)
        if lost and len(before) < 900:  # only the newest 1000 rows are listed
            attempt.complaints.append(f"audit: {len(lost)} of {len(before)} rows were removed")

    return run


def clock_over_start(realtime_s):
    """The wall clock jumps, the daemon makes changes and is started again by this clock, and then by the right one."""

    def run(attempt):
        daemon = attempt.world.daemon
        attempt.acts(2)
        attempt.page.shift_clocks(realtime_s)
        attempt.acts(3)
        for shift_s in (realtime_s, 0):
            daemon.stop() if attempt.rng.random() < 0.5 else daemon.kill()
            attempt.page.shift_clocks(shift_s)
            daemon.start()
            until(attempt.world.is_ready, 20)
            attempt.acts(2)

    return run


# --- memory ---


def allocations(threads, acts, deepest):
    """One to three allocations fail, at a random place among those of the ticks (and of requests, with @acts)."""

    def run(attempt):
        rng = attempt.rng
        stir(attempt)
        attempt.page.fail_allocations(threads, rng.randint(0, deepest), rng.choice((1, 1, 1, 2, 3, 20)))
        for _ in range(acts):
            attempt.acts(1)
        until(lambda: attempt.page.allocations_failed or attempt.world.daemon.ended() is not None, 1)
        attempt.periods(2)
        return attempt.page.allocations_failed > 0

    return run


# --- floods ---


@contextlib.contextmanager
def connections(path, n, kind=socket.SOCK_STREAM):
    """@n connections; fewer if the daemon accepts no more of them."""
    opened = []
    try:
        for _ in range(n):
            one = socket.socket(socket.AF_UNIX, kind)
            opened.append(one)
            one.setblocking(False)
            try:
                one.connect(path)
            except OSError:
                break
        yield opened
    finally:
        for one in opened:
            one.close()


def send(one, data):
    with contextlib.suppress(OSError):
        one.send(data)


def flood(n, requests, seconds=0.5):
    """@n connections, each with some bytes; @requests is called with random numbers and returns the bytes."""

    def run(attempt):
        with connections(attempt.world.socket, n) as opened:
            for one in opened:
                send(one, requests(attempt.rng))
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                attempt.acts(1)
                for one in opened[:50]:
                    with contextlib.suppress(OSError):
                        one.recv(65536)
        return True

    return run


def get(path):
    return f"GET {path} HTTP/1.1\r\nHost: gover\r\n\r\n".encode()


def nothing(_):
    return b""


def half_a_request(_):
    return b"GET /v1/host HTTP/1.1\r\nHost: go"


def many_requests(rng):
    paths = ("/v1/host", "/metrics", "/v1/vgpus", "/v1/decisions?limit=1000", "/v1/audit?limit=1000", "/openapi.json")
    return b"".join(get(rng.choice(paths)) for _ in range(100))


def history_requests(rng):
    return b"".join(get(f"/v1/gpus/gpu0/history?from={rng.randint(0, 10)}&to=4102444800") for _ in range(5))


def event_streams(_):
    return get("/v1/events")


def junk(rng):
    pieces = (b"\0" * 100, b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 5000, b"\r\n" * 100, rng.randbytes(500),
              b"POST /v1/vgpus HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n{", b"GET " + b"a" * 40000)
    return rng.choice(pieces)


# --- frame reports ---


def frame_page(rng, size=PAGE_BYTES, seal=True):
    """A memfd with a page of counters; returns its descriptor."""
    fd = os.memfd_create("frames", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    if size >= 32:
        os.pwrite(fd, struct.pack("<4IQ", FPS_MAGIC, FPS_VERSION, rng.choice((1, 12, 2**32 - 1)), 0, 1), 0)
    if seal:
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    return fd


def hello(one, fd, page_bytes=PAGE_BYTES):
    """Sends the hello message with the page. Errors are ignored: the daemon may reject the connection."""
    message = struct.pack("<4I", FPS_MAGIC, FPS_VERSION, page_bytes, os.getpid())
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
    with contextlib.suppress(OSError):
        one.sendmsg([message], rights)


def scribbled_pages(attempt):
    """Pages whose counters are random while the daemon reads them, and pages that are cut off."""
    rng = attempt.rng
    with connections(os.path.join(attempt.world.folder, "fps.sock"), 8, socket.SOCK_SEQPACKET) as opened:
        pages = []
        for one in opened:
            size = rng.choice((PAGE_BYTES, PAGE_BYTES, PAGE_BYTES, 0, 100, 2 * PAGE_BYTES))
            pages.append(frame_page(rng, size, seal=rng.random() < 0.8))
            hello(one, pages[-1], rng.choice((PAGE_BYTES, PAGE_BYTES, size, 2**32 - 1)))
        for _ in range(6):
            for fd in pages:
                at_byte = rng.choice((0, 8, 16, LANE_AT + LANE_BYTES * rng.randrange(LANES), rng.randrange(PAGE_BYTES - 64)))
                with contextlib.suppress(OSError):
                    os.pwrite(fd, rng.randbytes(64), at_byte)
                with contextlib.suppress(OSError):
                    os.ftruncate(fd, rng.choice((0, PAGE_BYTES)))
            attempt.periods(1)
        for fd in pages:
            os.close(fd)
    return True


@contextlib.contextmanager
def crowd(path, n):
    """A process of another user that has @n connections for frame reports."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        try:
            ours.close()
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            with connections(path, n, socket.SOCK_SEQPACKET) as opened:
                for one in opened:
                    fd = frame_page(random.Random(n))
                    hello(one, fd)
                    os.close(fd)
                theirs.send(b"1")
                theirs.recv(1)
        finally:
            os._exit(0)
    theirs.close()
    ours.recv(1)
    try:
        yield
    finally:
        ours.close()
        os.waitpid(pid, 0)


def is_refused(one):
    """True if the daemon has closed the connection."""
    try:
        return one.recv(16, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def frame_flood(attempt):
    """One user opens all connections for frame reports. A program of another user is still accepted."""
    path = os.path.join(attempt.world.folder, "fps.sock")
    os.chmod(attempt.world.folder, 0o711)
    with crowd(path, 1100):
        attempt.acts(1)
        attempt.periods(2)
        with connections(path, 1, socket.SOCK_SEQPACKET) as opened:
            fd = frame_page(attempt.rng)
            hello(opened[0], fd)
            os.close(fd)
            attempt.periods(4)
            if is_refused(opened[0]):
                attempt.complaints.append("frame reports: a program of another user is refused during a flood")


def guest_message(rng, frames):
    """A message of a guest with some counters; sometimes impossible, torn or followed by noise."""
    now = time.monotonic_ns()
    words = [message.MAGIC, message.VERSION, 7, frames, 0, now, 1, now, 0, frames, 0, 0]
    for _ in range(rng.choice((0, 0, 1, 3))):
        words[rng.randrange(2, 12)] = rng.choice((0, 2**64 - 1, 2**63, rng.getrandbits(64)))
    buckets = [rng.choice((0, 0, 2**64 - 1, rng.getrandbits(32))) for _ in range(64)]
    text = message.MESSAGE.pack(*words, *buckets, message.END)
    cut = rng.choice((len(text), len(text), rng.randrange(len(text))))
    return text[:cut] + rng.randbytes(rng.choice((0, 0, 100, 3000)))


def guest_messages(attempt):
    """A virtual machine sends messages with impossible counters, torn messages and noise over its port."""
    rng, world = attempt.rng, attempt.world
    world.reporters.close()
    path = os.path.join(world.folder, "ports", rng.choice(world.vgpus))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as port:
        port.bind(path)
        port.listen()
        port.settimeout(5)
        try:
            guest, _ = port.accept()
        except TimeoutError:
            os.unlink(path)
            return False
        with guest:
            guest.setblocking(False)
            for frames in range(rng.randint(5, 40)):
                send(guest, guest_message(rng, frames))
                if frames % 8 == 0:
                    attempt.periods(1)
    os.unlink(path)
    return True


# --- intel_gpu_top ---


def gpu_top(mode):
    """The program that measures the GPU ends, prints nonsense, or prints nothing any more."""

    def run(attempt):
        world = attempt.world
        if not until(lambda: utilisation(world) is not None, 20):
            attempt.complaints.append("the utilisation of the GPU is unknown before the fault")
            return True
        world.gpu_top(mode)
        until(lambda: utilisation(world) is None, 10)
        attempt.wait_alert()
        attempt.acts(1)
        world.gpu_top("works")
        attempt.end()
        if not until(lambda: utilisation(world) is not None, 60):
            attempt.complaints.append("the utilisation of the GPU stays unknown after the program works again")
        return True

    return run


def utilisation(world):
    try:
        return world.get("/v1/gpus")["gpus"][0]["util_pct"]
    except rest.NoAnswer:
        return None


TICKS = at.MAIN_THREAD
EVERYWHERE = at.ALL_THREADS
