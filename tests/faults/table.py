# SPDX-License-Identifier: MIT
# The table of faults. A row names a fault, how it is made, the alert that must name it, and what its recovery means.
import page as at
from attempt import Fault

ACTS_MAX = 12  # changes until a fail point is reached

# Fail points of the durable files: patterns of paths, and the calls that change them.
REPLACED = ("open", "write", "sync", "rename")
POINTS = {
    "contract": (("*/state/contracts.json*", REPLACED), ("*/state", ("open", "sync"))),
    "token": (("*/state/tokens.json*", REPLACED), ("*/state", ("open", "sync"))),
    "cap": (("*/state/caps", ("write",)), ("*/intel_vgpu/cap", ("write", "read"))),
    "history": (("*/state/history.db*", ("open", "read", "write", "sync", "unlink", "truncate")),),
}


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
    """A kill at any write while two clients claim the same offer."""
    clients, rng = attempt.clients, attempt.rng
    if not clients.act_until_offer():
        return False
    rule = arm_kill(attempt, ("contract", "cap", "history"), rng.randint(0, 6))
    if clients.claim(claimants=rng.choice((1, 2))) is None:
        return False
    return attempt.wait_hit(rule, seconds=0.3)


def kill_start(attempt):
    """A kill at any write of the start that follows another kill."""
    rng = attempt.rng
    attempt.acts(2)
    attempt.world.daemon.kill()
    rule = arm_kill(attempt, POINTS, rng.randint(0, 4), times=1)
    attempt.world.daemon.start()
    return attempt.wait_hit(rule, seconds=0.5)


def kill_any_time(attempt):
    attempt.acts(attempt.rng.randint(1, 6))
    attempt.world.daemon.kill()


RESTART = "the daemon was started again by systemd, and everything holds"
CRASH = "systemd reports the crash"

FAULTS = [
    Fault("kill-contract", kill_at(("contract",), ("change", "raise_cap", "hold", "sell", "gpu")), why=CRASH,
          recovers=RESTART),
    Fault("kill-cap", kill_at(("cap",), ("raise_cap", "hold")), why=CRASH, recovers=RESTART),
    Fault("kill-offer", kill_claim, why=CRASH, recovers=RESTART),
    Fault("kill-token", kill_at(("token",), ("token",)), why=CRASH, recovers=RESTART),
    Fault("kill-policy", kill_at(("contract", "history"), ("policy",)), why=CRASH, recovers=RESTART),
    Fault("kill-silence", kill_at(("contract", "history"), ("silence",)), why=CRASH, recovers=RESTART),
    Fault("kill-audit", kill_at(("history",), ("change", "token", "gpu", "policy")), why=CRASH, recovers=RESTART),
    Fault("kill-start", kill_start, why=CRASH, recovers=RESTART),
    Fault("kill-any-time", kill_any_time, why=CRASH, recovers=RESTART),
]
