# SPDX-License-Identifier: MIT
# Faults of idempotency keys: a sale with a key is repeated over kills and stops, and after the removal of its vGPU.
import disk
import oracle
from clients import CONTRACT, GPUS
from tree import READY_S, until

CAP_PCT = 5


def restart(attempt):
    """Starts the daemon again if a kill has ended it; otherwise kills or stops it sometimes before."""
    daemon = attempt.world.daemon
    attempt.page.clear()
    runs = oracle.answers(attempt.world)
    if runs and attempt.rng.random() < 0.6:
        return
    if runs and attempt.rng.random() < 0.5:
        daemon.stop()
    else:
        daemon.kill()
    daemon.start()
    until(attempt.world.is_ready, READY_S)


class Sale:
    """The sale of a new vGPU with a key."""

    def __init__(self, attempt):
        self.attempt, self.clients = attempt, attempt.clients
        self.gpu = attempt.rng.choice(GPUS)
        self.vgpu = attempt.world.new_vgpu(self.gpu, CAP_PCT)
        self.key = {"Idempotency-Key": self.clients.name("key-")}
        self.terms = {**self.clients.contract_terms(), "initial_cap_pct": CAP_PCT, "min_cap_pct": 0}
        self.body = {"id": self.vgpu, "gpu": self.gpu, **self.terms}
        self.clients.newcomers.append(self.vgpu)

    def sell(self):
        contract = {**CONTRACT, **self.terms}
        return self.clients.send("POST", "/v1/vgpus", self.body, ("vgpu", self.vgpu), lambda _: contract, self.key)

    def remove(self):
        return self.clients.send("DELETE", f"/v1/vgpus/{self.vgpu}", None, ("vgpu", self.vgpu), lambda _: None)

    def expect(self, what, status, target="/v1/vgpus", body=None, key=None):
        """A request with the key, or another one, must be answered with @status and sell nothing."""
        answer = self.attempt.world.ask("POST", target, body or self.body, key or self.key)
        if answer.status != status:
            got = f"{answer.status} {answer.body[:200]!r}"
            self.clients.violations.append(f"key: {what} is answered with {got}, not {status}")


def kill_soon(attempt):
    """Sometimes a kill at a write of the next request."""
    if attempt.rng.random() < 0.6:
        disk.arm_kill(attempt, ("contract",), attempt.rng.randint(0, 5))


def kept(attempt):
    """The same request gets the same vGPU. The key is rejected with another request, and after the removal of the vGPU."""
    sale = Sale(attempt)
    kill_soon(attempt)
    answer = sale.sell()
    if answer and answer.status == 409:
        return False  # there is no room
    restart(attempt)
    if not answer and sale.sell():
        sale.clients.accepted.pop()  # the first one may have been executed; a repetition has no audit row
    sale.expect("the same request", 201)
    restart(attempt)
    sale.expect("another body", 422, body={**sale.body, "vm": "another"})
    sale.expect("a claim", 422, "/v1/offers/1/claim", {"id": sale.vgpu})
    sale.expect("another key", 409, key={"Idempotency-Key": "another"})
    kill_soon(attempt)
    removed = sale.remove()
    restart(attempt)
    if not removed:
        sale.remove()
    for _ in range(2):
        sale.expect("the request after the removal", 410)
        restart(attempt)
    return True
