#!/bin/sh
# An external change of a cap: the vGPU is put on hold, the daemon does not overwrite the cap, and an alert names the
# vGPU.
. "$(dirname "$0")/../lib.sh"

start_sim
for v in a b; do
  sell "$v" 50 idle
done
echo 37 >"$dir/poke/a.cap"
ok "the vGPU is on hold" until_ok 20 that /v1/vgpus/a '.held'
is "the cap is the external value" "$(get /v1/vgpus/a .cap_pct)" 37
is "an alert names the vGPU" "$(get /v1/alerts '.alerts[] | select(.name == "foreign_write") | .vgpu')" a
is "the other vGPU is not on hold" "$(get /v1/vgpus/b .held)" false
periods 5
is "the daemon does not overwrite the cap" "$(get /v1/vgpus/a .cap_pct)" 37
ctl vgpu release a >/dev/null
ok "a released vGPU is not held" that /v1/vgpus/a '.held == false'
ok "the alert clears after the release" until_ok 10 alerts 0 foreign_write
finish
