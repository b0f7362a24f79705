# SPDX-License-Identifier: MIT
# The message of a program in a virtual machine, see fps-preload/message.h.
import random
import struct
import time

MAGIC, END, VERSION = 0x7370662D72766F67, 0x2E646E652D737066, 1
MESSAGE = struct.Struct("<12Q64QQ")
FRAME_BUCKET = 28  # about 13 ms


class Counters:
    """The counters of a program that has just started."""

    def __init__(self):
        self.program = random.getrandbits(63)
        self.sequence = 0
        self.first_ns = self.newest_ns = time.monotonic_ns()
        self.frames = 0

    def message(self, frames):
        """The next message. Since the program started, it has drawn @frames frames."""
        now_ns = time.monotonic_ns()
        self.sequence += 1
        if frames > self.frames:
            self.newest_ns = now_ns
        self.frames = frames
        words = [MAGIC, VERSION, self.program, self.sequence, 0, now_ns, self.first_ns, self.newest_ns, 0, frames, 0, 0]
        return MESSAGE.pack(*words, *(frames if bucket == FRAME_BUCKET else 0 for bucket in range(64)), END)
