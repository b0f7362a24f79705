#!/bin/sh
# Somebody else writes a cap: that vGPU goes on hold, nobody fights, an alert says who must release it.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

sim_conf
start || exit 1
for v in a b; do
  sell "$v" 50 idle
done
echo 37 >"$dir/poke/a.cap"
ok "a is on hold" until_ok 20 that /v1/vgpus/a '.held'
is "at what the other wrote" "$(get /v1/vgpus/a .cap_pct)" 37
is "an alert names it" "$(get /v1/alerts '.alerts[] | select(.name == "foreign_write") | .vgpu')" a
is "b is left alone" "$(get /v1/vgpus/b .held)" false
periods 5
is "nobody fights it" "$(get /v1/vgpus/a .cap_pct)" 37
ctl vgpu release a >/dev/null
ok "released: it may move again" that /v1/vgpus/a '.held == false'
ok "and the alert clears" until_ok 10 alerts 0 foreign_write
stop
finish
