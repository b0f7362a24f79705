# SPDX-License-Identifier: MIT
"""use.py FOLDER SOCKET: adds, holds, changes, claims and removes vGPUs with the client gover_client in FOLDER, which
openapi-python-client has generated. Uses only generated functions and types."""
import sys
import time

import httpx

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from gover_client import Client  # noqa: E402
from gover_client.api.host import get_host  # noqa: E402
from gover_client.api.history import list_samples  # noqa: E402
from gover_client.api.offers import claim_offer, hold_offer, list_offers  # noqa: E402
from gover_client.api.vgpus import change_vgpu, create_vgpu, delete_vgpu, get_vgpu, list_vgpus  # noqa: E402
from gover_client.models import Claim, Labels, OfferHold, Problem, VgpuChange, VgpuNew  # noqa: E402

client = Client(base_url="http://gover", httpx_args={"transport": httpx.HTTPTransport(uds=sys.argv[2])})


def wanted(what, status, answer):
    """Returns the object of an answer with the expected status, which the client has parsed."""
    if answer.status_code != status:
        raise SystemExit(f"{what}: {answer.status_code.value} instead of {status}: {answer.content!r}")
    if status >= 400 and not isinstance(answer.parsed, Problem):
        raise SystemExit(f"{what}: the problem was not parsed: {answer.parsed!r}")
    return answer.parsed


def labels(workload):
    return Labels.from_dict({"workload": workload})


def open_offer():
    """Waits until an offer is open; the limit is generous, not a measurement."""
    for _ in range(600):
        offers = wanted("the offers", 200, list_offers.sync_detailed(client=client)).offers
        for offer in offers:
            if offer.state == "open":
                return offer
        time.sleep(0.1)
    raise SystemExit("no offer was opened")


host = wanted("the host", 200, get_host.sync_detailed(client=client))
print(f"GPU {host.gpus[0].name} of backend {host.gpus[0].backend}")
for name in ("a", "b"):
    new = VgpuNew(id=name, initial_cap_pct=30, target_fps=60, labels=labels("idle"))
    made = wanted("a sale", 201, create_vgpu.sync_detailed(client=client, body=new, idempotency_key=f"sale-{name}"))
    print(f"{made.id} is added with {made.initial_cap_pct} %")
wanted("a second vGPU a", 409, create_vgpu.sync_detailed(client=client, body=VgpuNew(id="a", initial_cap_pct=1)))

change = VgpuChange(held=True, held_cap_pct=25)
held = wanted("the hold", 200, change_vgpu.sync_detailed("a", client=client, body=change))
print(f"the cap of a is held: {held.held} at {held.cap_pct} %")
seen = get_vgpu.sync_detailed("a", client=client)
change = VgpuChange(target_fps=wanted("vGPU a", 200, seen).target_fps / 2, held=False)
tag = seen.headers["ETag"]
changed = wanted("the change", 200, change_vgpu.sync_detailed("a", client=client, body=change, if_match=tag))
print(f"a: the target is {changed.target_fps} frames a second, held: {changed.held}")
wanted("a change with an old ETag", 412, change_vgpu.sync_detailed("a", client=client, body=change, if_match=tag))

offer = open_offer()
wanted("the hold", 200, hold_offer.sync_detailed(offer.id, client=client, body=OfferHold(holder="claim-c", ttl_s=60)))
claim = Claim(id="c", vm="vm-c", target_fps=0, labels=labels("idle"))
sale = wanted("the claim", 200, claim_offer.sync_detailed(offer.id, client=client, body=claim, idempotency_key="claim-c"))
print(f"offer {sale.offer.id} is claimed for {sale.vgpu.id}, {sale.vgpu.state}")
page = wanted("a page", 200, list_vgpus.sync_detailed(client=client, limit=2))
rest = wanted("the last page", 200, list_vgpus.sync_detailed(client=client, limit=2, after=page.next_))
print(f"vGPUs: {', '.join(vgpu.id for vgpu in page.vgpus + rest.vgpus)}")
samples = wanted("the samples", 200, list_samples.sync_detailed("gpu0", client=client))
print(f"samples have the columns {', '.join(samples.columns[:2])} and {len(samples.columns) - 2} more")
wanted("the removal", 204, delete_vgpu.sync_detailed("c", client=client))
wanted("the removed vGPU", 404, get_vgpu.sync_detailed("c", client=client))
print("c is removed")
