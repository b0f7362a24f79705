#!/bin/sh
# An operator's hold comes first: the others make room, a raise that does not fit names the number that would.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

sim_conf
start || exit 1
for v in a b; do
  sell "$v" 50 idle '"min_cap_pct": 20'
done
ctl vgpu set a --initial-cap 90 >/dev/null
ctl vgpu hold a --cap 70 >/dev/null
is "a is held where it was told" "$(get /v1/vgpus/a '"\(.held) \(.cap_pct)"')" "true 70"
is "b made room" "$(get /v1/vgpus/b .cap_pct)" 30
ctl vgpu hold a --cap 85 >"$dir/out" 2>&1
is "what does not fit is refused" "$?" 1
ok "with the number that would" grep -q '80' "$dir/out"
is "and nothing has changed" "$(get /v1/vgpus '[.vgpus[].cap_pct] | join(" ")')" "70 30"
ctl freeze gpu0 >/dev/null
is "frozen" "$(get /v1/gpus '.gpus[0].mode')" frozen
ctl vgpu release a >/dev/null
ctl thaw gpu0 >/dev/null
is "thawed" "$(get /v1/gpus '.gpus[0].mode')" act
stop
finish
