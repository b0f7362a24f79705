# SPDX-License-Identifier: MIT
# arm.py PAGE new: creates the page of the injector. arm.py PAGE clear: ends all faults.
# arm.py PAGE CALL PATTERN ACTION: every CALL (page.py lists them) on a path that matches PATTERN gets ACTION: kill-before,
# kill-after, or the name of an errno with which the call fails. arm.py PAGE memory: every allocation fails.
import errno
import mmap
import sys

sys.dont_write_bytecode = True
import page as at  # noqa: E402


class OpenPage(at.Page):
    """The page that a daemon uses already."""

    def __init__(self, path):
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), at.SIZE)


def main(path, command, *arguments):
    if command == "new":
        at.Page(path)
    elif command == "clear":
        OpenPage(path).clear()
    elif command == "memory":
        OpenPage(path).fail_allocations(at.ALL_THREADS, 0, at.ALWAYS)
    else:
        pattern, action = arguments
        kills = {"kill-before": at.KILL_BEFORE, "kill-after": at.KILL_AFTER}
        error = 0 if action in kills else getattr(errno, action)
        OpenPage(path).arm(at.CALLS[command], pattern, kills.get(action, at.FAIL), error)


main(*sys.argv[1:])
