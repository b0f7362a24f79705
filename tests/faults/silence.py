# SPDX-License-Identifier: MIT
# Faults after which the daemon reads nothing, or reads that nothing happens: vGPUs that vanish, a GPU that stalls, a driver
# that is loaded again. Silence is not calm: nothing may be sold on it, and no promise is kept without service (scene.py).
# FAULTS=silence FAULTS_N=5000 FAULTS_S=9000 make check-faults tries only these, under each policy, and ends with a table of
# the counts. A period is 100 ms, so a busy machine needs fewer hosts (FAULTS_HOSTS=N).
import contextlib
import os

import oracle
import page as at
from scene import RECOVERED_S, STALLED, VANISHED, Scene, Watch
from shared import OTHER, RIGHT, Shared
from tree import PARENTS, READY_S, until

LASTS = (5, 10, 20)  # periods from the time at which the daemon must have noticed
PROBATION = 30  # periods in which a probation would pass


@contextlib.contextmanager
def scene_of(attempt):
    scene = Scene(attempt)
    try:
        scene.prepare()
        yield scene
        attempt.end()
        scene.recover()
    finally:
        scene.finish()


def of_gpu(scene, gpu):
    return [vgpu for vgpu in scene.vgpus if scene.tree.gpu_of[vgpu] == gpu]


def vanish(scene, vgpus):
    """Removes the vGPUs, and looks until the daemon has reported it and for some periods more."""
    watch = Watch(scene, ("gpu0",), missing=vgpus)
    for vgpu in vgpus:
        scene.tree.remove(vgpu)
    watch.until_named()
    watch.for_periods(scene.rng.choice(LASTS))
    watch.end()


def absent(attempt):
    """One or two vGPUs vanish, as with a virtual machine that reboots, and are created again."""
    with scene_of(attempt) as scene:
        vgpus = scene.rng.sample(of_gpu(scene, "gpu0"), scene.rng.choice((1, 1, 2)))
        vanish(scene, vgpus)
        scene.create(vgpus)


def gpu_reset(attempt):
    """All vGPUs of a GPU vanish and return with their initial caps."""
    with scene_of(attempt) as scene:
        vgpus = of_gpu(scene, "gpu0")
        vanish(scene, vgpus)
        scene.create(vgpus)


def stall(scene):
    """All vGPUs of a GPU get nothing more."""
    vgpus = of_gpu(scene, "gpu0")
    if scene.rng.random() < 0.4:
        scene.claim()
    watch = Watch(scene, ("gpu0",), stalled=vgpus, after=STALLED)
    scene.stall(vgpus + scene.clients.newcomers)
    watch.until_named()
    watch.for_periods(PROBATION if scene.claimed else scene.rng.choice(LASTS))
    watch.end()
    return vgpus


def stalled(attempt):
    """A GPU stalls until it is reset: its vGPUs are removed and created again."""
    with scene_of(attempt) as scene:
        vgpus = stall(scene)
        for vgpu in vgpus:
            scene.tree.remove(vgpu)
        attempt.periods(scene.rng.choice((0, 0.5, 3)))
        scene.create(vgpus)
        scene.serve(scene.clients.newcomers)


def stalled_recovered(attempt):
    """A GPU stalls and works again."""
    with scene_of(attempt) as scene:
        scene.serve(stall(scene) + scene.clients.newcomers)


def stalled_vgpu(attempt):
    """
    One vGPU gets nothing more. If others on its GPU are served, its program may wait for its user. If it is alone, its
    service is unknown.
    """
    with scene_of(attempt) as scene:
        alone = scene.rng.random() < 0.5
        gpu = "gpu1" if alone else "gpu0"
        vgpu = scene.rng.choice(of_gpu(scene, gpu))
        watch = Watch(scene, (gpu,) if alone else (), stalled=(vgpu,) if alone else (), after=STALLED)
        scene.stall((vgpu,))
        watch.for_periods(scene.rng.choice(LASTS))
        if not alone and attempt.has_alert("gpu_stalled"):
            attempt.complaints.append("alert: gpu_stalled is raised although only one vGPU waits")
        scene.serve((vgpu,))


def driver_reload(attempt):
    """The driver is removed with all vGPUs and loaded again, with initial caps. The daemon may be started meanwhile."""
    with scene_of(attempt) as scene:
        watch = Watch(scene, ("gpu0", "gpu1"), missing=scene.vgpus)
        scene.tree.unmount()
        watch.until_named()
        watch.for_periods(scene.rng.choice(LASTS))
        watch.end()
        runs = scene.rng.random() > 0.25 or start_without_driver(attempt)
        scene.tree.mount()
        if not runs:
            attempt.world.start()
        scene.create(scene.vgpus)


def start_without_driver(attempt):
    """The daemon is started again before the driver, and waits for it."""
    daemon = attempt.world.daemon
    daemon.stop()
    daemon.start()
    until(lambda: daemon.ended() is not None or oracle.answers(attempt.world), READY_S, 0.02)
    attempt.periods(5)
    if daemon.ended() is not None:
        attempt.complaints.append(f"not recovered: gover-d ended with status {daemon.ended()}: there is no driver yet")
        return False
    return True


# Calls of the daemon between which a vGPU is created again, and their files.
BETWEEN = ((at.LIST, "*/{gpu}"), (at.OPEN, "*/{vgpu}/intel_vgpu*"), (at.READ, "*/{vgpu}/intel_vgpu/*_time"),
           (at.READ, "*/{vgpu}/intel_vgpu/cap"), (at.WRITE, "*/{vgpu}/intel_vgpu/cap*"))


def recreate(scene, vgpu):
    """Creates a vGPU again, at any time or while the daemon is between two calls, perhaps of the adoption of the vGPU."""
    call, path = scene.rng.choice(BETWEEN)
    path = path.format(vgpu=vgpu, gpu=PARENTS[scene.tree.gpu_of[vgpu]])
    rule = scene.attempt.page.arm(call, path, at.STALL, times=1, stall_s=0.5, skip=scene.rng.randint(0, 3))
    for _ in range(scene.rng.choice((0, 1))):
        replace(scene, vgpu)
    if scene.rng.random() < 0.7:
        scene.attempt.wait_hit(rule, seconds=0.5)
    replace(scene, vgpu)
    rule.disarm()


def replace(scene, vgpu):
    scene.tree.remove(vgpu)
    scene.create((vgpu,))


def recreated(attempt):
    """A vGPU is removed and created again within a period, several times. Its cap is restored and counts as its own."""
    with scene_of(attempt) as scene:
        watch = Watch(scene, ())
        vgpu = scene.rng.choice(scene.vgpus)
        for _ in range(scene.rng.randint(1, 5)):
            attempt.periods(scene.rng.random())
            recreate(scene, vgpu)
        watch.for_periods(VANISHED)


def shared_of(world):
    """The host with a shared GPU; it is created when a fault needs it."""
    if not world.companion:
        world.companion = Shared(world.daemon.build, os.path.join(world.folder, "shared"))
    return world.companion


def without_rights(attempt):
    """The source may not read the descriptors of processes, from the start of the daemon or from a later time."""
    shared = shared_of(attempt.world)
    try:
        if shared.begin(attempt, deny=attempt.rng.choice(("at start", "later"))):
            shared.watch(attempt.rng.choice(LASTS))
            shared.daemon.page.clear()
            attempt.end()
            shared.recover(RECOVERED_S)
        else:
            attempt.complaints.append(f"not recovered: gover-d ended at its start without rights: {shared.log()[-300:]}")
    finally:
        shared.stop()


def wrong_parent(attempt):
    """
    The parent is the address of another GPU, or no address. The daemon refuses it with a sentence that names the parent, or
    waits for this GPU. The programs then open the GPU at this address, or the daemon gets the right one.
    """
    shared = shared_of(attempt.world)
    parent = attempt.rng.choice((OTHER, OTHER, "0000:03:00.1", "nonsense"))
    try:
        if shared.begin(attempt, parent=parent):
            shared.watch(attempt.rng.choice(LASTS))
        elif "parent" not in shared.log() or parent not in shared.log():
            attempt.complaints.append(f"alert: the start is refused, but not because of the parent: {shared.log()[-300:]}")
        if shared.daemon.ended() is None and parent == OTHER:
            shared.move(OTHER)
        else:
            shared.stop()
            shared.start(shared.policy, RIGHT)
        attempt.end()
        shared.recover(RECOVERED_S)
    finally:
        shared.stop()
