# SPDX-License-Identifier: MIT
# Faults of the files in the state directory: truncated, zeroed, replaced by a folder, written by an older or newer gover.
import json
import os
import shutil
import sqlite3
import tempfile

from tree import until

HISTORY_S = 10.0
MIGRATIONS_SINCE = 8  # first version with "migrations" in the entry of a GPU
HOLDS_SINCE = 9  # first version with "held_offers"
SMALLER_SINCE = 10  # first version with "smaller_flavors" of a held offer
BEGINS_SINCE = 12  # first version with the begins of freezes and holds, which are optional
AUDIT_SINCE = 12  # first version with "audit", the rows of the audit log that the history does not have
KEYS_SINCE = 11  # first version with "keys"; before, the entry of a vGPU had the key of its sale
FIELDS_SINCE = {2: ("offer", "claim_key"), 3: ("flavor",), 4: ("fps_limit",), 5: ("claim_body",)}
# Statements that undo the step of the schema to this version.
TRUSTED = ("trusted_ms", "proposed_ms", "confirmed_ms", "wall_ms")
UNDO = {10: ("ALTER TABLE offer DROP COLUMN flavor",),
        9: ("DROP INDEX decision_vgpu", "DROP TABLE tally",
            *(f"ALTER TABLE alert DROP COLUMN {name}" for name in ("acked_by", "cause", "vm"))),
        8: tuple(f"ALTER TABLE progress DROP COLUMN {name}" for name in TRUSTED), 7: (), 6: ("DROP TABLE silence",),
        5: ("DROP TABLE audit",)}


# --- damage: each function gets the path of a file, and returns False if that damages nothing ---


def truncated(path, rng):
    os.truncate(path, rng.randint(0, max(0, os.path.getsize(path) - 1)))


def truncated_database(path, rng):
    """Returns False if nothing is damaged, because the log has all pages that are gone."""
    truncated(path, rng)
    with tempfile.TemporaryDirectory() as folder:
        for end in ("", "-wal"):
            if os.path.exists(path + end):
                shutil.copy2(path + end, os.path.join(folder, "copy" + end))
        try:
            database = sqlite3.connect(os.path.join(folder, "copy"))
            verdict = database.execute("PRAGMA quick_check").fetchone()[0]
            database.close()
        except sqlite3.DatabaseError:
            return True
    return verdict != "ok"


def emptied(path, _):
    os.truncate(path, 0)


def zeroed(path, _):
    size = os.path.getsize(path)
    with open(path, "r+b") as file:
        file.write(bytes(size))


def scribbled(path, rng):
    """A few bytes in the middle are replaced."""
    size = os.path.getsize(path)
    with open(path, "r+b") as file:
        for _ in range(rng.randint(1, 8)):
            file.seek(rng.randrange(size))
            file.write(rng.randbytes(rng.randint(1, 64)))


def folder(path, _):
    os.remove(path)
    os.mkdir(path)


def removed(path, _):
    os.remove(path)


def edit_json(path, change):
    with open(path) as file:
        document = json.load(file)
    change(document)
    with open(path, "w") as file:
        json.dump(document, file)


def newer_json(path, _):
    edit_json(path, lambda document: document.update(version=document["version"] + 1, colour="blue"))


def older_contracts(path, rng):
    """The contracts file as an earlier gover wrote it, without the fields of later versions."""

    def change(document):
        version = rng.randint(2, document["version"])
        if version < AUDIT_SINCE:
            document.pop("audit")
            document["ids"].pop("audit")
        for entry in document["gpus"] + document["vgpus"] if version < BEGINS_SINCE else ():
            entry.pop("frozen_since_ms", None)
            entry.pop("held_since_ms", None)
        if version < KEYS_SINCE:
            keys = {(key["vgpu"], key["created_ms"]): key for key in document.pop("keys", [])}
            for vgpu in document["vgpus"]:
                key = keys.get((vgpu["id"], vgpu["created_ms"]), {})
                vgpu["claim_key"] = key.get("key", "")
                vgpu["claim_body"] = "" if key.get("offer") else key.get("body", "")
        for since, fields in FIELDS_SINCE.items():
            for vgpu in document["vgpus"] if since > version else ():
                for field in fields:
                    vgpu.pop(field, None)
        for gpu in document["gpus"] if version < MIGRATIONS_SINCE else ():
            gpu.pop("migrations", None)
        for offer in document.get("held_offers", []) if version < SMALLER_SINCE else ():
            offer.pop("smaller_flavors", None)
        if version < HOLDS_SINCE:
            document.pop("held_offers", None)
        document["version"] = version

    edit_json(path, change)


def newer_database(path, _):
    with sqlite3.connect(path) as database:
        version = database.execute("PRAGMA user_version").fetchone()[0]
        database.execute(f"PRAGMA user_version = {version + 1}")
    database.close()


def undo_steps(path, number):
    """Undoes the last steps of the schema. Fails if UNDO does not contain the newest step."""
    with sqlite3.connect(path) as database:
        version = database.execute("PRAGMA user_version").fetchone()[0]
        for step in range(version, version - number, -1):
            for statement in UNDO[step]:
                database.execute(statement)
            database.execute(f"PRAGMA user_version = {step - 1}")
    database.close()


def older_database(path, rng):
    undo_steps(path, rng.randint(1, len(UNDO)))


# --- faults ---


def copies_agree(attempt):
    """True if the database contains the newest contracts."""
    file = attempt.world.json_file("contracts.json")
    try:
        database = sqlite3.connect(f"file:{attempt.world.file('history.db')}?mode=ro", uri=True, timeout=1)
        row = database.execute("SELECT revision FROM contracts").fetchone()
        database.close()
    except sqlite3.Error:
        return False
    return file and row and row[0] >= file["revision"]


def prepare(attempt):
    """A few changes that must survive. Two copies of the contracts exist; only one of them is damaged afterwards."""
    attempt.acts(3)
    until(lambda: copies_agree(attempt), HISTORY_S, 0.01)
    attempt.world.daemon.kill()


def at_start(name, damage, words=""):
    """The file is damaged while no daemon runs. The next start works without a hand, and its log contains @words."""

    def run(attempt):
        prepare(attempt)
        path = attempt.world.file(name)
        if not os.path.exists(path):
            return False
        damaged = damage(path, attempt.rng) is not False
        offset = attempt.world.log_size()
        attempt.world.daemon.start()
        until(attempt.world.is_ready, 5)
        if not damaged:
            return False
        attempt.wait_alert()
        if words not in attempt.world.log_text(offset):
            attempt.complaints.append(f"the log does not contain \"{words}\": {attempt.world.log_text(offset)}")
        return True

    return run


def empty_log(path):
    """Copies the rows of the -wal file to the database, so that a copy of the database has them."""
    database = sqlite3.connect(path)
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()


def until_repaired(name, damage, words="", starts=False):
    """
    The file is damaged while no daemon runs and cannot be replaced without losing what it contains. The daemon either does
    not start (the log contains @words) or, with @starts, works without it until an operator has put the file back.
    """

    def run(attempt):
        prepare(attempt)
        path, good = attempt.world.file(name), attempt.world.file(name) + ".good"
        if not os.path.exists(path):
            return False
        if name == "history.db":
            empty_log(path)
        shutil.copy2(path, good)
        damage(path, attempt.rng)
        offset = attempt.world.log_size()
        attempt.world.daemon.start()
        if starts:
            until(attempt.world.is_ready, 5)
            attempt.wait_alert()
            attempt.world.daemon.kill()
        elif until(lambda: attempt.world.daemon.ended() is not None, 10) is None:
            attempt.complaints.append(f"the daemon starts with {name}, and does not reject it")
            attempt.world.daemon.kill()
        if words not in attempt.world.log_text(offset):
            attempt.complaints.append(f"the log does not contain \"{words}\": {attempt.world.log_text(offset)}")
        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
        os.rename(good, path)
        return True

    return run


def while_running(name, damage):
    """The file is damaged under a running daemon. A contract changes afterwards."""

    def run(attempt):
        attempt.acts(2)
        until(lambda: copies_agree(attempt), HISTORY_S, 0.01)
        path = attempt.world.file(name)
        if not os.path.exists(path):
            return False
        damage(path, attempt.rng)
        attempt.acts(2)
        attempt.clients.change_for_sure()
        attempt.wait_alert()
        return True

    return run
