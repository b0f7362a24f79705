# SPDX-License-Identifier: MIT
# The page that the runner and the injector share; page.h describes its members.
import mmap
import struct

MAGIC = 0x746C6661
RULES = 8
HEAD = struct.Struct("<6I2q2I")
RULE = struct.Struct("<10I160s56s")
SIZE = HEAD.size + RULES * RULE.size
SHIFTS_AT = 24
USED_AT = 40

OPEN, READ, WRITE, SYNC, RENAME, UNLINK, TRUNCATE, LIST = (1 << bit for bit in range(8))
CALLS = {"open": OPEN, "read": READ, "write": WRITE, "sync": SYNC, "rename": RENAME, "unlink": UNLINK,
         "truncate": TRUNCATE, "list": LIST}
KILL_BEFORE, KILL_AFTER, FAIL, SHORT, STALL, TEXT = range(6)
MAIN_THREAD, ALL_THREADS = 1, 2
ALWAYS = 0
NS = 1_000_000_000


class Rule:
    """An armed rule. Ends with disarm()."""

    def __init__(self, page, index):
        self.page = page
        self.at = HEAD.size + index * RULE.size

    def member(self, number):
        return struct.unpack_from("<I", self.page.map, self.at + 4 * number)[0]

    @property
    def armed(self):
        return self.member(0) != 0

    @property
    def hits(self):
        """The number of calls that got the fault."""
        return self.member(9)

    def disarm(self):
        struct.pack_into("<I", self.page.map, self.at, 0)
        self.page.update_used()


class Page:
    def __init__(self, path):
        with open(path, "a+b") as file:  # an existing page keeps its size: a process may have mapped it
            file.truncate(SIZE)
            self.map = mmap.mmap(file.fileno(), SIZE)
        # struct writes a number byte by byte, and the daemon would see a clock that jumps by years in between
        self.shifts = memoryview(self.map)[SHIFTS_AT:SHIFTS_AT + 16].cast("q")
        self.clear()

    def clear(self):
        """Ends all faults."""
        self.map[:SIZE] = bytes(SIZE)
        struct.pack_into("<I", self.map, 0, MAGIC)

    def update_used(self):
        rules = (Rule(self, i) for i in range(RULES))
        used = 0
        for rule in rules:
            used |= rule.member(1) if rule.armed else 0
        struct.pack_into("<I", self.map, USED_AT, used)

    def arm(self, calls, path, action, error=0, skip=0, times=ALWAYS, stall_s=0.0, text=b""):
        """Adds a rule; page.h describes the arguments. Returns the rule."""
        rule = next(rule for rule in (Rule(self, i) for i in range(RULES)) if not rule.armed)
        fields = (0, calls, action, error, skip, times, int(stall_s * 1000), len(text), 0, 0)
        RULE.pack_into(self.map, rule.at, *fields, path.encode(), text)
        struct.pack_into("<I", self.map, rule.at, 1)
        self.update_used()
        return rule

    def shift_clocks(self, realtime_s=0, boottime_s=0):
        self.shifts[0], self.shifts[1] = realtime_s * NS, boottime_s * NS

    def fail_allocations(self, threads, skip, times):
        """Fails @times allocations (0: all) after @skip allocations of the threads; 0 threads: none."""
        struct.pack_into("<5I", self.map, 4, 0, skip, times, 0, 0)
        struct.pack_into("<I", self.map, 4, threads)

    @property
    def allocations_failed(self):
        return struct.unpack_from("<I", self.map, 20)[0]
