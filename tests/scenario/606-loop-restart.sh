#!/bin/sh
# A stop and a crash with a new start before the lease is over: no cap is changed on the way, none is written, and the
# daemon goes on from where it was.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/scenario/host.sh
. "$(dirname "$0")/host.sh"

# A newcomer has what is free, however much the machine dawdles until it comes.
conf_extra='[policy]
fund_fraction = 0
[offer]
max_vgpus = 2'
host_setup
loop_conf
start || exit 1
ok "a has 80 %" host_vgpu a 80
host_load a 10
ok "b has 20 % of its 50 %" host_vgpu b 20 50
host_load b 100
ok "a steal moved the caps away from the contracts" until_ok 30 cap_is b 50
host_load b 40
for signal in TERM KILL; do
  ticks=$(get /v1/host .ticks)
  ok "periods pass" until_ok 30 that /v1/host ".ticks > $ticks + 2"
  caps="$(host_cap a) $(host_cap b)"
  stop "$signal"
  host_ok "after SIG$signal the caps stand" test "$(host_outlives && echo "$(host_cap a) $(host_cap b)")" = "$caps"
  start || exit 1
  is "after the next start too" "$(vgpu a .cap_pct) $(vgpu b .cap_pct)" "$caps"
  host_ok "none was written for it" that /v1/vgpus '[.vgpus[].cap_writes] | add == 0'
  is "the contracts are known" "$(vgpu a .initial_cap_pct) $(vgpu b .initial_cap_pct)" "80 50"
  is "nobody is on hold" "$(get /v1/vgpus '[.vgpus[].held] | any')" false
done
stop
finish
