#!/bin/sh
# Two GPUs in one daemon have separate sums of caps, steals, offers and modes. Ids are unique on the host, and a sale
# names its GPU.
. "$(dirname "$0")/../lib.sh"

conf_extra='[gpu gpu1]
backend = sim
speed = 10
sharing = hard
[policy]
fund_window_s = 2
[offer]
flavor_cap_pct = 10
max_vgpus = 3'
start_sim
add() { # add ID GPU CAP WORKLOAD
  sell "$1" "$3" "$4" "\"gpu\": \"$2\""
}
sell a 80
is "a contract without a GPU is rejected" "$(status)" 422
ok "the error names the field and the number of GPUs" grep -q 'gpu: .*2 GPUs' "$dir/body"
is "no vGPU was created" "$(get /v1/vgpus '.vgpus | length')" 0

ctl drain gpu0 >/dev/null
add a gpu0 80 load:pct=30
ctl vgpu hold a >/dev/null # otherwise this vGPU could give cap to b
add b gpu0 50 idle
add c gpu1 90 load:pct=10
is "each GPU has 100 %" "$(get /v1/vgpus '[.vgpus[] | "\(.id) \(.gpu) \(.cap_pct)"] | join(", ")')" \
  "a gpu0 80, b gpu0 20, c gpu1 90"
add c gpu0 10 idle
is "an id is used once on the host" "$(status)" 409
is "?gpu= selects the vGPUs of one GPU" "$(get '/v1/vgpus?gpu=gpu1' '[.vgpus[].id] | join(" ")')" c

ctl vgpu release a >/dev/null
load b busy
ok "b receives from its neighbour" until_ok 20 that /v1/vgpus/b '.cap_pct == 50'
is "only the neighbour gives" "$(get '/v1/decisions?limit=1000' '[.decisions[] | select(.kind == "steal") | "\(.gpu) \(.donor)"] | unique | join(", ")')" "gpu0 a"
is "the caps of the other GPU do not change" "$(get /v1/gpus '[.gpus[] | "\(.name) \(.sum_cap_pct) \(.vgpus)"] | join(", ")')" "gpu0 100 2, gpu1 90 1"
ok "each GPU has its own utilisation" that /v1/gpus '.gpus[0].util_pct > 40 and .gpus[1].util_pct < 30'

open='[.offers[] | select(.state == "open")]'
ok "the calm GPU that sells makes an offer" until_ok 20 that /v1/offers "$open | map(.gpu) == [\"gpu1\"]"
ctl freeze gpu1 >/dev/null
ok "a frozen GPU withdraws its offer" until_ok 10 that /v1/offers "$open | length == 0"
load b idle
ctl thaw gpu0 >/dev/null
ok "the other GPU makes an offer" until_ok 20 that /v1/offers "$open | map(.gpu) == [\"gpu0\"]"
ctl thaw gpu1 >/dev/null
ok "each GPU can have an offer at the same time" until_ok 20 that /v1/offers "$open | map(.gpu) | sort == [\"gpu0\", \"gpu1\"]"
id=$(get /v1/offers "${open}[] | select(.gpu == \"gpu1\").id")
claim "$id" '' d
is "a claimed vGPU is on the GPU of the offer" "$(status) $(gojq -r .vgpu.gpu "$dir/body")" "200 gpu1"
ok "the offer of the other GPU remains open" that /v1/offers "$open | map(.gpu) == [\"gpu0\"]"
restart
is "after a restart each vGPU is on its GPU" "$(get /v1/vgpus '[.vgpus[] | "\(.id) \(.gpu)"] | join(", ")')" \
  "a gpu0, b gpu0, c gpu1, d gpu1"
finish
