# SPDX-License-Identifier: MIT
# Requests to gover-d on its unix socket, and a process that measures how long /healthz stays unanswered.
import http.client
import json
import mmap
import multiprocessing
import os
import socket
import struct
import time

TIMEOUT_S = 20.0
PROBE_EVERY_S = 0.05


class NoAnswer(Exception):
    """The daemon did not answer: the outcome of the request is unknown."""


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("gover", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, status, body):
        self.status = status
        self.body = body

    def json(self):
        return json.loads(self.body)


def ask(address, method, target, body=None, headers=None, timeout=TIMEOUT_S):
    """
    Returns the Answer, or raises NoAnswer. @address: the path of the unix socket, or a host and a port. @body: bytes are sent
    as they are.
    """
    if isinstance(address, tuple):
        connection = http.client.HTTPConnection(*address, timeout=timeout)
    else:
        connection = UnixConnection(address, timeout)
    headers = dict(headers or {})
    if body is not None:
        headers["Content-Type"] = "application/json"
        body = body if isinstance(body, bytes) else json.dumps(body)
    try:
        connection.request(method, target, body, headers)
        response = connection.getresponse()
        return Answer(response.status, response.read())
    except (OSError, http.client.HTTPException) as error:
        raise NoAnswer(f"{method} {target}: {error!r}") from error
    finally:
        connection.close()


def get(address, target, timeout=TIMEOUT_S):
    """The JSON of an answer with status 200, or raises NoAnswer."""
    answer = ask(address, "GET", target, timeout=timeout)
    if answer.status != 200:
        raise NoAnswer(f"GET {target}: {answer.status} {answer.body[:200]!r}")
    return answer.json()


def run_delays_s(pid):
    """The time that each thread of a process was ready to run but had no CPU, by its id."""
    delays = {}
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/schedstat") as file:
                delays[int(thread)] = int(file.read().split()[1]) / 1e9
    except (OSError, IndexError):
        pass  # it has ended
    return delays


class RunDelay:
    """How long a process could not run since the creation: its main thread, and the thread for which that may wait."""

    def __init__(self, pid):
        self.pid = pid
        self.begin = run_delays_s(pid)

    def s(self):
        since = {thread: delay - self.begin.get(thread, 0.0) for thread, delay in run_delays_s(self.pid).items()}
        return since.pop(self.pid, 0.0) + max(since.values(), default=0.0)


class Prober:
    """
    Asks for /healthz all the time and keeps the longest time without an answer while a daemon listens. Time in which the
    daemon was ready to run but had no CPU does not count: then the machine is busy, and the daemon is not stuck. The same
    holds for the thread that the event loop may wait for, such as that of a GPU.
    """

    PAGE = struct.Struct("<2Qd")  # pid of the daemon (0: pause), probes answered, longest time in s

    def __init__(self, path, socket_path):
        with open(path, "w+b") as file:
            file.truncate(mmap.PAGESIZE)
            self.map = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        self.socket_path = socket_path
        self.process = multiprocessing.Process(target=self.run, daemon=True)
        self.process.start()

    def read(self):
        return self.PAGE.unpack_from(self.map)

    def watch(self, pid):
        """Starts a new measurement."""
        self.PAGE.pack_into(self.map, 0, pid, 0, 0.0)

    def follow(self, pid):
        """Continues the measurement with a new daemon."""
        struct.pack_into("<Q", self.map, 0, pid)

    def pause(self):
        self.follow(0)

    @property
    def longest_s(self):
        return self.read()[2]

    def stop(self):
        self.process.kill()
        self.process.join()

    def run(self):
        parent = os.getppid()
        while os.getppid() == parent:
            pid = self.read()[0]
            if pid:
                self.probe(pid)
            time.sleep(PROBE_EVERY_S)

    def probe(self, pid):
        begun, delays = time.monotonic(), (RunDelay(pid), RunDelay(os.getpid()))
        answered = False
        while not answered and self.read()[0] == pid:
            try:
                ask(self.socket_path, "GET", "/healthz", timeout=0.5)
                answered = True
            except NoAnswer as error:
                if isinstance(error.__cause__, (ConnectionRefusedError, FileNotFoundError)):
                    return  # no daemon listens
                time.sleep(0.01)
            self.note(pid, time.monotonic() - begun - sum(each.s() for each in delays), answered)

    def note(self, pid, took_s, answered):
        now_pid, answers, longest = self.read()
        if now_pid == pid:  # else another measurement has begun
            self.PAGE.pack_into(self.map, 0, pid, answers + answered, max(longest, took_s))
