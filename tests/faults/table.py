# SPDX-License-Identifier: MIT
# The table of faults. A row names a fault, how it is made, the alert that must name it (or why none is needed), and what
# its recovery means, if it does not end at once. attempt.Fault describes the columns.
import dataclasses
import errno

import disk
import gpu
import keys
import objects
import page as at
import process
import records
import silence
import state
from attempt import Fault

RESTART = "the daemon was started again by systemd, and everything holds"
REPAIR = "an operator puts the file back and starts the daemon; nothing is lost"
CRASH = "systemd reports the crash"
END = "the daemon ends, and the next start raises out_of_memory"
ANSWER = "the client gets 507 and knows that nothing has changed"
COPY = "the log names the file; its copy is used and nothing is lost"
BRIEF = "the next period works again"
SLOW = "a slow disk loses nothing"
LOCAL = "only the sender is affected"

CONTRACT_ACTS = ("change", "raise_cap", "hold", "sell", "gpu")
CONTRACTS = ("*/state/contracts.json*",)
TOKENS = ("*/state/tokens.json*",)
CAPS = ("*/state/caps",)
HISTORY = ("*/state/history.db*",)
ALL = ("*/state", "*/state/*")
FULL = ("write", "truncate")
READ_ONLY = ("open", "write", "rename", "unlink", "truncate")

# kill -9 at fail points around each durable write
KILLS = [
    Fault("kill-contract", disk.kill_at(("contract",), CONTRACT_ACTS), why=CRASH, recovers=RESTART),
    Fault("kill-cap", disk.kill_at(("cap",), ("raise_cap", "hold")), why=CRASH, recovers=RESTART),
    Fault("kill-offer", disk.kill_claim, why=CRASH, recovers=RESTART),
    Fault("kill-token", disk.kill_at(("token",), ("token",)), why=CRASH, recovers=RESTART),
    Fault("kill-policy", disk.kill_at(("contract", "history"), ("policy",)), why=CRASH, recovers=RESTART),
    Fault("kill-silence", disk.kill_at(("contract", "history"), ("silence",)), why=CRASH, recovers=RESTART),
    Fault("kill-audit", disk.kill_at(("history",), ("change", "token", "gpu", "policy")), why=CRASH, recovers=RESTART),
    Fault("kill-start", disk.kill_start, why=CRASH, recovers=RESTART),
    Fault("kill-any-time", disk.kill_any_time, why=CRASH, recovers=RESTART),
]

# the disk
DISK = [
    Fault("full-contracts", disk.fails(CONTRACTS, errno.ENOSPC, FULL, CONTRACT_ACTS), "contracts_unsaved: No space left"),
    Fault("full-offer", disk.fails(CONTRACTS + CAPS, errno.ENOSPC, FULL, ("claim_soon",)), why=ANSWER),
    Fault("full-tokens", disk.fails(TOKENS, errno.ENOSPC, FULL, ("token",)), why=ANSWER),
    Fault("full-caps", disk.fails(CAPS, errno.ENOSPC, FULL, ("raise_cap", "hold")), "write_failed: No space left"),
    Fault("full-history", disk.fails(HISTORY, errno.ENOSPC, FULL), "history_failing"),
    Fault("full-disk", disk.fails(ALL, errno.ENOSPC, FULL), "history_failing"),
    Fault("eio-contracts", disk.fails(CONTRACTS, errno.EIO, kinds=CONTRACT_ACTS), "contracts_unsaved: Input/output error"),
    Fault("eio-tokens", disk.fails(TOKENS, errno.EIO, kinds=("token",)), why=ANSWER),
    Fault("eio-caps", disk.fails(CAPS, errno.EIO, kinds=("raise_cap", "hold")), "write_failed: Input/output error"),
    Fault("eio-history", disk.fails(HISTORY, errno.EIO), "history_failing"),
    Fault("eio-disk", disk.fails(ALL, errno.EIO), "history_failing"),
    Fault("eio-history-reads", disk.fails(HISTORY, errno.EIO, ("read",)),
          why="sqlite takes a read error for damage, so the history begins anew", forgives=("sale",)),
    Fault("read-only-disk", disk.fails(ALL, errno.EROFS, READ_ONLY), "history_failing"),
    Fault("one-error-contracts", disk.fails_once(CONTRACTS + ("*/state",), CONTRACT_ACTS), why=ANSWER),
    Fault("one-error-tokens", disk.fails_once(TOKENS, ("token",)), why=ANSWER),
    Fault("one-error-caps", disk.fails_once(CAPS, ("raise_cap", "hold")), why=BRIEF),
    Fault("one-error-history", disk.fails_once(HISTORY, (None,)), why=BRIEF),
    Fault("short-writes", disk.short_writes(CONTRACTS + TOKENS + HISTORY, (None,)), why="the rest is written next"),
    Fault("short-caps", disk.short_writes(CAPS, ("raise_cap", "hold")), why=BRIEF),
    Fault("stall-contracts", disk.stalls(CONTRACTS, ("write", "sync"), CONTRACT_ACTS), why=SLOW),
    Fault("stall-offer", disk.stalls(CONTRACTS + HISTORY, ("write", "sync"), ("claim_soon",)), why=SLOW),
    Fault("stall-tokens", disk.stalls(TOKENS, ("write", "sync"), ("token",)), why=SLOW),
    Fault("stall-caps", disk.stalls(CAPS, ("write",), ("raise_cap", "hold")), why=SLOW),
    Fault("stall-history", disk.stalls(HISTORY, ("write", "sync"), (None,)), why=SLOW),
    Fault("stall-disk", disk.stalls(ALL, ("write", "sync"), (None,)), why=SLOW),
]

# the files of the state directory, damaged while no daemon runs
STATE = [
    Fault("contracts-truncated", state.at_start("contracts.json", state.truncated), why=COPY),
    Fault("contracts-empty", state.at_start("contracts.json", state.emptied), why=COPY),
    Fault("contracts-zeroed", state.at_start("contracts.json", state.zeroed), why=COPY),
    Fault("contracts-folder", state.at_start("contracts.json", state.folder, "it was renamed to"), why=COPY),
    Fault("contracts-removed", state.at_start("contracts.json", state.removed), why=COPY),
    Fault("contracts-older", state.at_start("contracts.json", state.older_contracts), why="it is read as it was written",
          forgives=("sale",)),
    Fault("contracts-newer", state.until_repaired("contracts.json", state.newer_json, "version"),
          why="the start is rejected", recovers=REPAIR, exits=(1,)),
    Fault("caps-truncated", state.at_start("caps", state.truncated), why="the caps in force are adopted"),
    Fault("caps-zeroed", state.at_start("caps", state.zeroed), why="the caps in force are adopted"),
    Fault("caps-folder", state.at_start("caps", state.folder, "it was renamed to"), why="the caps in force are adopted"),
    Fault("caps-removed", state.at_start("caps", state.removed), why="the caps in force are adopted"),
    Fault("history-truncated", state.at_start("history.db", state.truncated_database), "history_damaged",
          forgives=("sale",)),
    Fault("history-empty", state.at_start("history.db", state.emptied), why="the history begins anew", forgives=("sale",)),
    Fault("history-zeroed", state.at_start("history.db", state.zeroed), "history_damaged", forgives=("sale",)),
    Fault("history-scribbled", state.at_start("history.db", state.scribbled), why="sqlite may not notice",
          forgives=("sale",), spoils=True),
    Fault("history-folder", state.at_start("history.db", state.folder), "history_damaged", forgives=("sale",)),
    Fault("history-removed", state.at_start("history.db", state.removed), why="the history begins anew", forgives=("sale",)),
    Fault("history-older", state.at_start("history.db", state.older_database), why="it is migrated", forgives=("silence",)),
    Fault("history-newer", state.until_repaired("history.db", state.newer_database, "newer version", starts=True),
          "history_failing: newer", recovers=REPAIR),
    Fault("wal-truncated", state.at_start("history.db-wal", state.truncated), why="sqlite ignores the rest",
          forgives=("sale",)),
    Fault("wal-zeroed", state.at_start("history.db-wal", state.zeroed), why="sqlite ignores the file", forgives=("sale",)),
    Fault("wal-folder", state.at_start("history.db-wal", state.folder), "history_damaged", forgives=("sale",)),
    Fault("tokens-truncated", state.until_repaired("tokens.json", state.truncated, "tokens.json", starts=True),
          "tokens_unreadable", recovers=REPAIR),
    Fault("tokens-zeroed", state.until_repaired("tokens.json", state.zeroed, "tokens.json", starts=True),
          "tokens_unreadable", recovers=REPAIR),
    Fault("tokens-folder", state.until_repaired("tokens.json", state.folder, "tokens.json", starts=True),
          "tokens_unreadable", recovers=REPAIR),
    Fault("tokens-newer", state.until_repaired("tokens.json", state.newer_json, "tokens.json", starts=True),
          "tokens_unreadable", recovers=REPAIR),
    Fault("lock-truncated", state.at_start("lock", state.emptied), why="the file has no content"),
    Fault("lock-removed", state.at_start("lock", state.removed), why="it is created again"),
    Fault("lock-folder", state.at_start("lock", state.folder, "it was renamed to"), "history_damaged"),
]

# the same, under a running daemon
LIVE = [
    Fault("live-contracts", state.while_running("contracts.json", state.truncated), why="the next change writes the file"),
    Fault("live-contracts-removed", state.while_running("contracts.json", state.removed), why="the next change writes it"),
    Fault("live-history-removed", state.while_running("history.db", state.removed), why="the history begins anew",
          forgives=("sale",)),
    Fault("live-history-truncated", state.while_running("history.db", state.truncated), why="the history begins anew",
          forgives=("sale",), spoils=True),
    Fault("live-lock-removed", state.while_running("lock", state.removed), why="the socket is a second lock"),
]

# something else than a file has the name of a file of the state directory
PUT_BACK = ("tokens.json",)
NAMED = ("lock", "caps", "history.db", "history.db-wal", "history.db-shm")  # what is set aside is named by an alert
HISTORY_LOST = {"history.db": ("sale",), "history.db-wal": ("sale",)}
# a lock has no content, and sqlite ignores files of zeroes
UNNAMED = (("lock", "huge"), ("history.db-wal", "huge"), ("history.db-shm", "huge"))
ADVICE = "it is replaced, or a copy is used"
OBJECTS = [
    Fault(f"{name}-{kind}", objects.until_repaired(name, kind), "tokens_unreadable", recovers=REPAIR)
    if name in PUT_BACK else
    Fault(f"{name}-{kind}", objects.at_start(name, kind), "history_damaged", forgives=HISTORY_LOST.get(name, ()))
    if name in NAMED and (name, kind) not in UNNAMED else
    Fault(f"{name}-{kind}", objects.at_start(name, kind), why=ADVICE, forgives=HISTORY_LOST.get(name, ()))
    for name in objects.FILES for kind in objects.OBJECTS if (name, kind) not in objects.ALLOWED
] + [
    Fault(f"live-{name}-{kind}", objects.while_running(name, kind, change), why="the next change replaces it")
    for name, change in (("contracts.json", "change_for_sure"), ("tokens.json", "token"), ("lock", None), ("config.last", None))
    for kind in objects.OBJECTS
]

LIVE_HISTORY = [
    Fault(f"live-{name}-{kind}", objects.history_replaced(name, kind), "history_damaged", or_alert="history_failing",
          forgives=("sale",))
    for name in ("history.db-wal", "history.db-shm") for kind in ("removed", *objects.OBJECTS)
]

# the sockets of the daemon, and signals
NAMES = [
    Fault(f"{name}-{kind}", objects.socket_replaced(name, kind), why="objects.py looks for the alert in the log", stops=name == "sock")
    for name in ("sock", "fps.sock") for kind in ("removed", "plain", "folder", "fifo", "link")
] + [
    Fault("signals", objects.signals("SIGUSR1", "SIGUSR2", "SIGALRM", "SIGPIPE"), why="they are ignored"),
    Fault("signal-hup", objects.hangup(valid=True), why="the configuration is read again"),
    Fault("signal-hup-invalid", objects.hangup(valid=False), why="the log names the line"),
    Fault("audit-kept", records.kept(lock=False), why=CRASH, recovers=RESTART),
    Fault("audit-locked", records.kept(lock=True), why=CRASH, recovers=RESTART),
    Fault("keys-kept", keys.kept, why=CRASH, recovers=RESTART),
]

# the GPU
GPU = [
    Fault("sysfs-eio-busy", gpu.reads("busy", error=errno.EIO, periods=(3, 5)), "telemetry_stale"),
    Fault("sysfs-eio-cap", gpu.reads("cap", error=errno.EIO, periods=(30,)), "cap_unreadable",
          or_alert="vgpu_not_adopted"),
    Fault("sysfs-eio-once", gpu.one_read("all", error=errno.EIO), why=BRIEF),
    Fault("sysfs-enodev", gpu.no_vgpu, why="the vGPU is found again in the next period"),
    Fault("sysfs-garbage-busy", gpu.reads("busy", at.TEXT, texts=gpu.NONSENSE, periods=(3, 5)), "telemetry_stale"),
    Fault("sysfs-garbage-cap", gpu.reads("cap", at.TEXT, texts=gpu.NONSENSE, periods=(30,)), "cap_unreadable",
          or_alert="vgpu_not_adopted"),
    Fault("sysfs-garbage-once", gpu.one_read("all", at.TEXT, texts=gpu.NONSENSE), why=BRIEF),
    Fault("sysfs-impossible", gpu.one_read("busy", at.TEXT, texts=gpu.IMPOSSIBLE), why=BRIEF),
    Fault("sysfs-short", gpu.one_read("all", at.SHORT), why=BRIEF),
    Fault("sysfs-write-eio", gpu.writes("cap", errno.EIO, ("raise_cap", "hold")), "write_failed: Input/output error"),
    Fault("sysfs-write-denied", gpu.writes("cap", errno.EACCES, ("raise_cap", "hold")), "write_failed: Permission denied"),
    Fault("sysfs-lease-eio", gpu.writes("lease", errno.EIO, (None,)), why="the cap in force stays until the lease ends"),
    Fault("sysfs-hung", gpu.hangs(("read", "write", "open", "list")), "telemetry_stale: has not answered"),
    Fault("sysfs-hung-briefly", gpu.hangs(("read", "write", "open", "list"), (0.1, 0.2, 0.5, 1)), why=BRIEF),
    Fault("sysfs-stopped", gpu.stopped_host, "telemetry_stale: has not answered"),
    Fault("vgpu-gone-before-write", gpu.gone_before_write, "vgpu_missing", recovers="the vGPU is created again"),
    Fault("vgpu-gone", gpu.gone, "vgpu_missing", recovers="the vGPU is created again"),
    Fault("tree-gone", gpu.tree_gone, "vgpu_missing", or_alert="telemetry_stale",
          recovers="the tree is mounted again with the same vGPUs"),
]

# the GPU falls silent, under each policy; on the backend drm the source sees no program
CREATED = "the vGPUs are created again"
SILENCE = [
    Fault("absent-vgpu", silence.absent, "vgpu_missing", recovers=CREATED, outside=True),
    Fault("gpu-reset", silence.gpu_reset, "vgpu_missing", recovers=CREATED, outside=True),
    Fault("stalled-gpu", silence.stalled, "gpu_stalled", recovers=CREATED, outside=True),
    Fault("stalled-recovered", silence.stalled_recovered, "gpu_stalled", recovers="the GPU works again", outside=True),
    Fault("stalled-vgpu", silence.stalled_vgpu, why="its program may wait for its user", outside=True),
    Fault("driver-reload", silence.driver_reload, "vgpu_missing", or_alert="telemetry_stale", recovers=CREATED,
          outside=True),
    Fault("recreated-device", silence.recreated, why="the vGPU exists again in the next period", outside=True),
    Fault("source-denied", silence.without_rights, why="shared.py checks the alert of another daemon",
          recovers="the rights are granted"),
    Fault("wrong-parent", silence.wrong_parent, why="shared.py checks the alert of another daemon",
          recovers="programs use the GPU at this address, or an operator corrects the key"),
]

# the process, its clocks and its memory
PROCESS = [
    Fault("stopped", process.stopped((0.1, 0.3, 1, 2)), why="a late tick is counted", stops=True),
    Fault("clock-day-ahead", process.clock(process.DAY_S), why="times are only displayed", forgives=("silence",)),
    Fault("clock-day-back", process.clock(-process.DAY_S), why="times are only displayed"),
    Fault("clock-years-ahead", process.clock(800 * process.DAY_S), why="times are only displayed", forgives=("silence",)),
    Fault("clock-before-1970", process.clock_over_start(-60 * 365 * process.DAY_S), why="times are only displayed"),
    Fault("clock-back-start", process.clock_over_start(-process.DAY_S), why="times are only displayed"),
    Fault("suspend", process.clock(3600, 3600, back=False), why="times are only displayed"),
    Fault("memory-requests", process.allocations(process.TICKS, 4, 2000), why=END, recovers=RESTART, exits=(1,), stops=True,
          bound_s=40, share=0.5),
    Fault("memory-everywhere", process.allocations(process.EVERYWHERE, 4, 4000), why=END, recovers=RESTART, exits=(1,), stops=True,
          bound_s=40, share=0.5),
]

# floods and liars
CALLERS = [
    Fault("flood-connections", process.flood(2500, process.nothing), why=LOCAL),
    Fault("flood-half-requests", process.flood(1500, process.half_a_request), why=LOCAL),
    Fault("flood-requests", process.flood(30, process.many_requests), why=LOCAL),
    Fault("flood-history", process.flood(30, process.history_requests), why=LOCAL),
    Fault("flood-events", process.flood(300, process.event_streams), why=LOCAL),
    Fault("flood-junk", process.flood(200, process.junk), why=LOCAL),
    Fault("flood-frames", process.frame_flood, "fps_over_limit"),
    Fault("frame-pages", process.scribbled_pages, why=LOCAL),
    Fault("guest-messages", process.guest_messages, why=LOCAL),
    Fault("gpu-top-dead", process.gpu_top("dead"), "utilization_unknown"),
    Fault("gpu-top-garbage", process.gpu_top("garbage"), "utilization_unknown"),
    Fault("gpu-top-lies", process.gpu_top("lies"), "utilization_unknown"),
    Fault("gpu-top-silent", process.gpu_top("silent"), "utilization_unknown"),
]

FAULTS = (KILLS + DISK + STATE + LIVE + OBJECTS + LIVE_HISTORY + NAMES + [dataclasses.replace(each, outside=True) for each in GPU]
          + [dataclasses.replace(each, group="silence", bound_s=60.0) for each in SILENCE] + PROCESS + CALLERS)
