#!/bin/sh
# An operator's hold has priority: the other vGPUs make room, and a cap that does not fit is rejected with a message
# that contains the largest cap that fits.
. "$(dirname "$0")/../lib.sh"

start_sim
for v in a b; do
  sell "$v" 50 idle '"min_cap_pct": 20'
done
ctl vgpu set a --initial-cap 90 >/dev/null
ctl vgpu hold a --cap 70 >/dev/null
is "the vGPU is held at the given cap" "$(get /v1/vgpus/a '"\(.held) \(.cap_pct)"')" "true 70"
is "the other vGPU makes room" "$(get /v1/vgpus/b .cap_pct)" 30
ctl vgpu hold a --cap 85 >"$dir/out" 2>&1
is "a cap that does not fit is rejected" "$?" 1
ok "the message contains the largest cap that fits" grep -q '80' "$dir/out"
is "a rejected hold changes no cap" "$(get /v1/vgpus '[.vgpus[].cap_pct] | join(" ")')" "70 30"
ctl freeze gpu0 >/dev/null
is "a GPU is frozen" "$(get /v1/gpus '.gpus[0].mode')" frozen
ctl vgpu release a >/dev/null
ctl thaw gpu0 >/dev/null
is "a GPU is thawed" "$(get /v1/gpus '.gpus[0].mode')" act
finish
