#!/bin/sh
# A stop and a crash, each with a restart within the lease: no cap is changed or written, and the daemon continues
# from its previous state.
. "$(dirname "$0")/../host.sh"

# A new vGPU gets exactly the free cap, also on a slow machine.
conf_extra='[policy]
fund_fraction = 0
[offer]
max_vgpus = 2'
host_vfs='a:80 b:20'
start_loop
ok "a has 80 %" host_vgpu a 80
host_load a 10
ok "b has 20 % of its 50 %" host_vgpu b 20 50
host_load b 100
ok "a steal changes the caps" until_ok 30 cap_is b 50
host_load b 40
for signal in TERM KILL; do
  ok "periods pass" periods 3
  caps="$(host_cap a) $(host_cap b)" writes=$(get /v1/vgpus '[.vgpus[].cap_writes] | add')
  stop "$signal"
  host_ok "after SIG$signal the caps are unchanged" test "$(host_outlives && echo "$(host_cap a) $(host_cap b)")" = "$caps"
  start || exit 1
  is "caps are the same after the restart" "$(vgpu a .cap_pct) $(vgpu b .cap_pct)" "$caps"
  host_ok "no cap is written" that /v1/vgpus "[.vgpus[].cap_writes] | add <= $writes"
  is "the contracts are restored" "$(vgpu a .initial_cap_pct) $(vgpu b .initial_cap_pct)" "80 50"
  is "no vGPU is on hold" "$(get /v1/vgpus '[.vgpus[].held] | any')" false
done
finish
