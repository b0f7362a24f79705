# SPDX-License-Identifier: MIT
# Faults of the disk: kills at fail points around the durable writes, and calls on the files of the state directory that
# fail or stall.
import errno

import page as at

ACTS_MAX = 12  # changes until a fail point is reached

# Fail points of the durable files: patterns of paths, and the calls that change them.
REPLACED = ("open", "write", "sync", "rename")
POINTS = {
    "contract": (("*/state/contracts.json*", REPLACED), ("*/state", ("open", "sync"))),
    "token": (("*/state/tokens.json*", REPLACED), ("*/state", ("open", "sync"))),
    "cap": (("*/state/caps", ("write",)), ("*/intel_vgpu/cap", ("write", "read"))),
    "history": (("*/state/history.db*", ("open", "read", "write", "sync", "unlink", "truncate")),),
}
CALLS = ("open", "write", "sync", "rename", "unlink", "truncate")


# --- kills ---


def arm_kill(attempt, files, skip, times=at.ALWAYS):
    """A rule that kills the daemon before or after one of the calls on @files."""
    points = [(path, call) for name in files for path, calls in POINTS[name] for call in calls]
    path, call = attempt.rng.choice(points)
    action = attempt.rng.choice((at.KILL_BEFORE, at.KILL_AFTER))
    return attempt.page.arm(at.CALLS[call], path, action, skip=skip, times=times)


def kill_at(files, kinds):
    """A kill at a call on @files, while clients make changes of @kinds."""

    def run(attempt):
        rng = attempt.rng
        rule = arm_kill(attempt, files, rng.choice((0, 0, 1, 2, 3, 5, 8)))
        for _ in range(ACTS_MAX):
            attempt.acts(1, rng.choice(kinds))
            if attempt.world.daemon.ended() is not None:
                return True
        return attempt.wait_hit(rule, seconds=0.3)

    return run


def kill_claim(attempt):
    """A kill at any write while one or two clients claim the same offer."""
    clients, rng = attempt.clients, attempt.rng
    if not clients.act_until_offer():
        return False
    rule = arm_kill(attempt, ("contract", "cap", "history"), rng.randint(0, 6))
    if clients.claim(claimants=rng.choice((1, 2))) is None:
        return attempt.world.daemon.ended() is not None
    return attempt.wait_hit(rule, seconds=0.3)


def kill_start(attempt):
    """A kill at any call of the start that follows another kill."""
    attempt.acts(2)
    attempt.world.daemon.kill()
    rule = arm_kill(attempt, POINTS, attempt.rng.randint(0, 4), times=1)
    attempt.world.daemon.start()
    return attempt.wait_hit(rule, seconds=0.5)


def kill_any_time(attempt):
    attempt.acts(attempt.rng.randint(1, 6))
    attempt.world.daemon.kill()


# --- errors ---


def fails(files, error, calls=CALLS, kinds=(None,), acts=3):
    """The calls on @files fail with @error for a while; clients make changes meanwhile. A full disk lets files be opened."""
    mask = sum(at.CALLS[call] for call in calls)

    def run(attempt):
        if "raise_cap" in kinds:
            attempt.let_act()
        rules = [attempt.page.arm(mask, path, at.FAIL, error=error) for path in files]
        for _ in range(acts):
            attempt.acts(1, attempt.rng.choice(kinds))
        if "raise_cap" in kinds:
            attempt.clients.hold_otherwise()
        attempt.wait_alert()
        return any(rule.hits for rule in rules)

    return run


def fails_once(files, kinds):
    """One call on @files fails with one of the errors of a disk; clients make changes meanwhile."""

    def run(attempt):
        rng = attempt.rng
        call = rng.choice(CALLS)
        rule = attempt.page.arm(at.CALLS[call], rng.choice(files), at.FAIL, times=1, skip=rng.choice((0, 0, 1, 2, 4)),
                                error=rng.choice((errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT)))
        for _ in range(ACTS_MAX):
            attempt.acts(1, rng.choice(kinds))
            if rule.hits:
                return True
        return attempt.wait_hit(rule, seconds=0.3)

    return run


def short_writes(files, kinds):
    """Each write handles only half of the bytes."""

    def run(attempt):
        rules = [attempt.page.arm(at.WRITE, path, at.SHORT, times=attempt.rng.randint(1, 4)) for path in files]
        for _ in range(4):
            attempt.acts(1, attempt.rng.choice(kinds))
        return any(rule.hits for rule in rules)

    return run


def stalls(files, calls, kinds, seconds=2.0):
    """A call stalls for two seconds, while clients make changes and REST must answer."""
    mask = sum(at.CALLS[call] for call in calls)

    def run(attempt):
        rules = [attempt.page.arm(mask, path, at.STALL, stall_s=seconds, times=1) for path in files]
        for _ in range(3):
            attempt.acts(1, attempt.rng.choice(kinds))
        attempt.wait_hit(rules[0], seconds=0.5)
        attempt.wait_stalls(rules, seconds)
        return any(rule.hits for rule in rules)

    return run
