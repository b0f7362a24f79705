#!/bin/sh
# Two GPUs in one daemon: a sum of caps, steals, offers and a mode of their own; ids are unique on the host, and what
# is sold says on which.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

conf_extra='[gpu gpu1]
backend = sim
speed = 10
[policy]
fund_window_s = 2
[offer]
flavor_cap_pct = 10
max_vgpus = 3'
sim_conf
start || exit 1
add() { # add ID GPU CAP WORKLOAD
  sell "$1" "$3" "$4" "\"gpu\": \"$2\""
}
sell a 80
is "without a GPU there is nothing to sell" "$(status)" 422
ok "the field and how many there are is named" grep -q 'gpu: .*2 GPUs' "$dir/body"
is "and nothing was made" "$(get /v1/vgpus '.vgpus | length')" 0

ctl drain gpu0 >/dev/null
add a gpu0 80 load:pct=30
ctl vgpu hold a >/dev/null # or it funds b, when it was seen by then
add b gpu0 50 idle
add c gpu1 90 load:pct=10
is "each GPU has 100 % of its own" "$(get /v1/vgpus '[.vgpus[] | "\(.id) \(.gpu) \(.cap_pct)"] | join(", ")')" \
  "a gpu0 80, b gpu0 20, c gpu1 90"
add c gpu0 10 idle
is "an id is one vGPU on the host" "$(status)" 409
is "?gpu= tells those of one" "$(get '/v1/vgpus?gpu=gpu1' '[.vgpus[].id] | join(" ")')" c

ctl vgpu release a >/dev/null
load b busy
ok "b wins from its neighbour" until_ok 20 that /v1/vgpus/b '.cap_pct == 50'
is "who alone gave" "$(get '/v1/decisions?limit=1000' '[.decisions[] | select(.kind == "steal") | "\(.gpu) \(.donor)"] | unique | join(", ")')" "gpu0 a"
is "the other GPU's caps stand" "$(get /v1/gpus '[.gpus[] | "\(.name) \(.sum_cap_pct) \(.vgpus)"] | join(", ")')" "gpu0 100 2, gpu1 90 1"
ok "each has a utilisation of its own" that /v1/gpus '.gpus[0].util_pct > 40 and .gpus[1].util_pct < 30'

open='[.offers[] | select(.state == "open")]'
ok "gpu1 is calm and sells, gpu0 may not" until_ok 20 that /v1/offers "$open | map(.gpu) == [\"gpu1\"]"
ctl freeze gpu1 >/dev/null
ok "frozen, it does no more" until_ok 10 that /v1/offers "$open | length == 0"
load b idle
ctl thaw gpu0 >/dev/null
ok "which is nothing to gpu0" until_ok 20 that /v1/offers "$open | map(.gpu) == [\"gpu0\"]"
ctl thaw gpu1 >/dev/null
ok "one offer on each GPU stands beside the other" until_ok 20 that /v1/offers "$open | map(.gpu) | sort == [\"gpu0\", \"gpu1\"]"
id=$(get /v1/offers "${open}[] | select(.gpu == \"gpu1\").id")
claim "$id" '' d
is "what is claimed stands on the GPU that sold it" "$(status) $(jq -r .vgpu.gpu "$dir/body")" "200 gpu1"
ok "the other's offer is open still" that /v1/offers "$open | map(.gpu) == [\"gpu0\"]"
stop
start || exit 1
is "after a restart each is where it was" "$(get /v1/vgpus '[.vgpus[] | "\(.id) \(.gpu)"] | join(", ")')" \
  "a gpu0, b gpu0, c gpu1, d gpu1"
stop
finish
