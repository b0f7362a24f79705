# SPDX-License-Identifier: MIT
# Faults of names: something else than the expected file or socket has its name, at a start or under the running daemon.
import os
import shutil
import signal
import socket
import stat

import oracle
import state
from tree import until

HUGE_BYTES = 200 << 20
REPLACED_S = 20.0


def folder(path):
    os.mkdir(path)
    with open(os.path.join(path, "file"), "w"):
        pass


def unix_socket(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(path)


def link(path):
    with open(path + ".target", "w") as file:
        file.write("precious\n")
    os.symlink(path + ".target", path)


def loop(path):
    os.symlink(os.path.basename(path), path)


def huge(path):
    with open(path, "w") as file:
        file.truncate(HUGE_BYTES)


def plain(path):
    with open(path, "w"):
        pass


OBJECTS = {"folder": folder, "fifo": os.mkfifo, "socket": unix_socket, "link": link, "loop": loop, "huge": huge}
# Without "plain", which is a state file like another one. Nothing follows a link to history.db but sqlite, which may.
FILES = ("lock", "caps", "contracts.json", "contracts.json.new", "contracts.json.before", "config.last", "config.last.new",
         "tokens.json", "out-of-memory", "history.db", "history.db-wal", "history.db-shm")
KEPT = ("lock", "caps", "contracts.json", "history.db", "history.db-wal", "history.db-shm")  # the daemon always has these
ALLOWED = {("history.db", "link"), ("history.db", "loop"), ("contracts.json.new", "folder")}


def clear(path):
    """Removes whatever has the name."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.remove(path)


def put(kind, path):
    clear(path)
    OBJECTS.get(kind, plain)(path)


def check_link(attempt, path):
    """The target of a link must not change."""
    target = path + ".target"
    if not os.path.lexists(target):
        return
    with open(target) as file:
        if file.read() != "precious\n":
            attempt.complaints.append(f"lost: the target of the link {path} was changed")
    os.remove(target)


def at_start(name, kind):
    """An object has the name of a state file when the daemon starts."""

    def run(attempt):
        state.prepare(attempt)
        path = attempt.world.file(name)
        put(kind, path)
        attempt.world.daemon.start()
        until(attempt.world.is_ready, REPLACED_S)
        attempt.wait_alert()
        attempt.acts(1)
        check_link(attempt, path)
        if name not in KEPT:
            clear(path)  # a file that the daemon may leave: it would belong to later faults too

    return run


def until_repaired(name, kind):
    """The same for a file without which the daemon works, until an operator has put it back."""
    return state.until_repaired(name, lambda path, _: put(kind, path), name, starts=True)


def while_running(name, kind, change):
    """The same under the running daemon. A change of a client, or the next start, replaces the object."""

    def run(attempt):
        attempt.acts(2)
        path = attempt.world.file(name)
        put(kind, path)
        attempt.acts(2)
        attempt.clients.act(change)
        attempt.wait_alert()
        if kind == "folder":
            clear(path)  # the operator removes a folder with files, over which no file can be moved
        attempt.end()
        attempt.clients.act(change)
        if not change:
            attempt.world.daemon.kill()
        check_link(attempt, path)

    return run


def history_replaced(name, kind):
    """A file of the open database is removed or replaced. The daemon names it and begins to store again."""

    def run(attempt):
        attempt.acts(2)
        path = attempt.world.file(name)
        if kind == "removed":
            clear(path)
        else:
            put(kind, path)
        attempt.acts(3)
        attempt.wait_alert()
        attempt.end()
        attempt.acts(1)
        check_link(attempt, path)

    return run


# --- sockets ---


def is_listening(path, kind):
    with socket.socket(socket.AF_UNIX, kind) as one:
        try:
            one.connect(path)
            return True
        except OSError:
            return False


def socket_replaced(name, kind):
    """
    The socket of the daemon is removed, and an object has its name for a while. The daemon is stopped before: otherwise it
    might make the socket again before the object exists.
    """
    socket_kind = socket.SOCK_SEQPACKET if name == "fps.sock" else socket.SOCK_STREAM

    def run(attempt):
        world = attempt.world
        path, offset = os.path.join(world.folder, name), world.log_size()
        attempt.acts(1)
        world.daemon.process.send_signal(signal.SIGSTOP)
        try:
            clear(path)
            if kind != "removed":
                put(kind, path)
        finally:
            world.daemon.process.send_signal(signal.SIGCONT)
        if kind != "removed":
            keep(attempt, name, kind, offset)
        attempt.end()
        if not until(lambda: is_listening(path, socket_kind), REPLACED_S, 0.02):
            attempt.complaints.append(f"not recovered: {name} was not made again")
        until(lambda: oracle.answers(world), REPLACED_S, 0.02)

    return run


def keep(attempt, name, kind, offset):
    """Keeps the object until the alert is raised, and for some periods. The daemon must not remove it."""
    path = os.path.join(attempt.world.folder, name)
    if not until(lambda: "alert socket_unusable raised" in attempt.world.log_text(offset), REPLACED_S, 0.02):
        attempt.complaints.append(f"alert: a {kind} has the name of {name}, and socket_unusable is not raised")
    attempt.periods(attempt.rng.choice((0, 1, 3)))
    if not os.path.lexists(path) or stat.S_ISSOCK(os.lstat(path).st_mode):
        attempt.complaints.append(f"lost: the {kind} with the name of {name} was removed")
    clear(path)
    clear(path + ".target")


# --- signals ---


def signals(*names):
    """Signals that programs send for their own purposes, at any time while clients make changes."""

    def run(attempt):
        for _ in range(attempt.rng.randint(1, 4)):
            for _ in range(attempt.rng.randint(1, 5)):
                attempt.world.daemon.process.send_signal(getattr(signal, attempt.rng.choice(names)))
            attempt.acts(1)
            attempt.periods(attempt.rng.choice((0, 0.1, 1)))

    return run


def hangup(valid):
    """The configuration is read again, several times, while clients make changes. An invalid one is not used."""

    def run(attempt):
        world, rng = attempt.world, attempt.rng
        path, offset = os.path.join(world.folder, "conf"), world.log_size()
        with open(path) as file:
            before = file.read()
        wanted = rng.choice((85, 86, 87, 88, 89))
        text = before.replace("lowload_pct = 90", f"lowload_pct = {wanted}" if valid else "lowload_pct = many")
        with open(path, "w") as file:
            file.write(text)
        for _ in range(rng.randint(1, 4)):
            world.daemon.process.send_signal(signal.SIGHUP)
            attempt.acts(1)
        if valid and not until(lambda: lowload(world) == wanted, REPLACED_S, 0.02):
            attempt.complaints.append(f"not recovered: lowload_pct is {lowload(world)} after SIGHUP, not {wanted}")
        if not valid and not until(lambda: "the configuration was not reloaded" in world.log_text(offset), REPLACED_S, 0.02):
            attempt.complaints.append("alert: the log does not name the invalid configuration")
        with open(path, "w") as file:
            file.write(before)
        world.daemon.process.send_signal(signal.SIGHUP)
        attempt.end()
        if not until(lambda: lowload(world) == 90, REPLACED_S, 0.02):
            attempt.complaints.append(f"not recovered: lowload_pct is {lowload(world)} after SIGHUP, not 90")

    return run


def lowload(world):
    return world.get("/v1/policy")["params"]["lowload_pct"]
