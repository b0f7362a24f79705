# SPDX-License-Identifier: MIT
# Faults of the audit log: kills, also while another program locks the database. The oracle compares its rows with the answers.
import contextlib
import sqlite3

import disk

ACTS = ("change", "token", "gpu", "policy", "silence", "sell")


@contextlib.contextmanager
def locked(world):
    """Another program has locked the database for writing."""
    database = sqlite3.connect(world.file("history.db"), timeout=5, isolation_level=None)
    try:
        database.execute("BEGIN IMMEDIATE")
        yield
        database.execute("ROLLBACK")
    finally:
        database.close()


def kept(lock):
    """Changes of clients, and a kill, with or without a lock of the database."""

    def run(attempt):
        world, rng = attempt.world, attempt.rng
        if not lock and rng.random() < 0.5:
            disk.arm_kill(attempt, ("contract", "token", "history"), rng.randint(0, 8))
        with locked(world) if lock else contextlib.nullcontext():
            for _ in range(rng.randint(2, 6)):
                attempt.acts(1, rng.choice(ACTS))
            attempt.page.clear()
            world.daemon.kill()

    return run
