# SPDX-License-Identifier: MIT
# Faults of the GPU: files of the vGPUs in sysfs that fail, lie, hang or vanish.
import errno
import signal
import time

import page as at
from attempt import ALERT_S
from tree import PARENTS

PARENT = PARENTS["gpu0"]  # the GPU that fails
FILES = {"busy": "intel_vgpu/*_time", "cap": "intel_vgpu/cap", "lease": "intel_vgpu/cap_lease_ms", "all": "*"}
NONSENSE = (b"garbage\n", b"-5\n", b"", b"\n", b"99999999999999999999999\n", b"12 34\n", b"0x10\n", b"1e9\n", b"\0\0\0\0",
            b"10\n20\n", b" \n", b"3.5\n")
# numbers that a counter may show, but that no GPU can reach
IMPOSSIBLE = (b"9223372036854775807\n", b"0\n", b"18446744073709551615\n", b"922337203685477580\n")
OTHER_S = 2.0
TRIES_MAX = 40
HUNG_S = (2, 2, 2, 3, 3, 5, 8, 15, 60)


def target(attempt, file):
    """The file of all vGPUs of the failing GPU, or of one of them."""
    if attempt.rng.random() < 0.5:
        return f"*{PARENT}*{FILES[file]}"
    return f"*{PARENT}/{attempt.rng.choice(attempt.world.vgpus[:3])}/{FILES[file]}"


def change_other_gpu(attempt):
    """A change of a contract on the GPU that works must be answered soon."""
    vgpu, clients = attempt.world.vgpus[3], attempt.clients
    if not clients.ledger.known(("vgpu", vgpu)):
        return
    begun = time.monotonic()
    answer = clients.change_vgpu(vgpu, {"vm": clients.name("vm")})
    took_s = time.monotonic() - begun
    if not answer or answer.status != 200 or took_s > OTHER_S:
        text = answer.status if answer else "no answer"
        attempt.complaints.append(f"stuck: a change on the other GPU was answered after {took_s:.1f} s: {text}")


def stir(attempt):
    """Changes the loads of the vGPUs, so that the daemon changes caps."""
    for vgpu in attempt.world.vgpus:
        attempt.world.tree.load(vgpu, attempt.rng.choice((1, 5, 10, 30, 60)))


def during(attempt, rule, periods):
    """Keeps the fault for some periods, and until its alert is raised. Clients make changes meanwhile."""
    stir(attempt)
    attempt.acts(attempt.rng.randint(0, 2))
    attempt.periods(periods)
    attempt.wait_alert()
    return rule.hits > 0


def reads(file, action=at.FAIL, error=0, texts=(b"",), periods=(1, 2, 5)):
    """The reads of a file fail, are short, or return a text that is no value."""

    def run(attempt):
        rng = attempt.rng
        rule = attempt.page.arm(at.READ, target(attempt, file), action, error=error, text=rng.choice(texts))
        return during(attempt, rule, rng.choice(periods))

    return run


def one_read(file, action=at.FAIL, error=0, texts=(b"",)):
    """One read fails; no alert is needed, because the next period reads again."""

    def run(attempt):
        rng = attempt.rng
        rule = attempt.page.arm(at.READ, target(attempt, file), action, error=error, text=rng.choice(texts), times=1,
                                skip=rng.randint(0, 12))
        return attempt.wait_hit(rule, seconds=2)

    return run


def writes(file, error, kinds):
    """The writes of a file fail while clients change caps."""

    def run(attempt):
        attempt.let_act()
        rule = attempt.page.arm(at.WRITE, target(attempt, file), at.FAIL, error=error)
        stir(attempt)
        for _ in range(4):
            attempt.acts(1, attempt.rng.choice(kinds))
        attempt.periods(4)
        # A new initial cap puts the cap right although its write fails, which needs no alert: holds write other caps.
        tries = TRIES_MAX if rule.hits else 0
        while tries > 0 and not attempt.poll_alert():
            attempt.acts(1, "hold")
            attempt.wait_alert(ALERT_S / TRIES_MAX)
            tries -= 1
        return rule.hits > 0

    return run


def hangs(calls, seconds=HUNG_S):
    """Calls on the files of the GPU hang. REST answers meanwhile."""

    def run(attempt):
        rng = attempt.rng
        longest = rng.choice(seconds)
        rule = attempt.page.arm(sum(at.CALLS[call] for call in calls), target(attempt, "all"), at.STALL, stall_s=longest)
        attempt.wait_hit(rule, seconds=2)
        begun = time.monotonic()
        change_other_gpu(attempt)
        attempt.clients.act_later("raise_cap")
        attempt.wait_alert(longest)
        time.sleep(max(0.0, longest - (time.monotonic() - begun)))
        hit = rule.hits > 0
        attempt.end()
        attempt.clients.finish_later()
        return hit

    return run


def stopped_host(attempt):
    """The whole file system hangs: the process that serves it is stopped."""
    process = attempt.world.tree.process
    process.send_signal(signal.SIGSTOP)
    begun, longest = time.monotonic(), attempt.rng.choice((2, 3, 6))
    try:
        change_other_gpu(attempt)
        attempt.clients.act_later("raise_cap")
        attempt.wait_alert(longest)
        time.sleep(max(0.0, longest - (time.monotonic() - begun)))
    finally:
        process.send_signal(signal.SIGCONT)
    attempt.end()
    attempt.clients.finish_later()


def gone_before_write(attempt):
    """A vGPU vanishes between the reading of its files and the write of its cap, and is created again later."""
    world, clients = attempt.world, attempt.clients
    vgpu = attempt.rng.choice(world.vgpus)
    rule = attempt.page.arm(at.WRITE, f"*/{vgpu}/intel_vgpu/cap", at.STALL, stall_s=5, times=1)
    stir(attempt)
    clients.act_later("raise_cap")
    hit = attempt.wait_hit(rule, seconds=1)
    world.tree.remove(vgpu)
    rule.disarm()
    clients.finish_later()
    missing = hit and clients.ledger.known(("vgpu", vgpu))  # a vGPU without a contract is forgotten
    if missing:
        attempt.wait_alert()
    world.tree.create(vgpu, world.tree.gpu_of[vgpu], 25)
    return bool(missing)


def gone(attempt):
    """A vGPU vanishes and is created again."""
    world = attempt.world
    names = attempt.clients.ledger.names("vgpu")
    if not names:
        return False
    vgpu = attempt.rng.choice(names)
    world.tree.remove(vgpu)
    attempt.acts(1)
    missing = attempt.clients.ledger.known(("vgpu", vgpu))  # a vGPU without a contract is forgotten
    if missing:
        attempt.wait_alert()
    world.tree.create(vgpu, world.tree.gpu_of[vgpu], 25)
    return bool(missing)


def tree_gone(attempt):
    """The whole tree is unmounted, and mounted again with the same vGPUs."""
    tree = attempt.world.tree
    caps = {vgpu: tree.cap(vgpu) for vgpu in tree.vgpus()}
    tree.unmount()
    attempt.acts(1)
    attempt.wait_alert()
    tree.mount()
    for vgpu, cap in caps.items():
        tree.create(vgpu, tree.gpu_of[vgpu], cap or 25)


def no_vgpu(attempt):
    """Reads return ENODEV although the vGPUs exist."""
    rule = attempt.page.arm(at.READ, target(attempt, "busy"), at.FAIL, error=errno.ENODEV,
                            times=attempt.rng.choice((1, 4, 40)))
    return attempt.wait_hit(rule, seconds=2)
