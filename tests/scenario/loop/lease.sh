#!/bin/sh
# kill -9 without a restart within the lease: the scheduler restores the initial caps by itself. A later daemon sets
# the last caps of the killed daemon, restores the contracts and puts no vGPU on hold. On a host without leases, the caps
# stay.
. "$(dirname "$0")/../host.sh"

lease_ms=$((period_ms * 4))
# A new vGPU gets exactly the free cap, also on a slow machine.
conf_extra='[policy]
fund_fraction = 0
[offer]
max_vgpus = 3'
host_vfs='a:70 c:20 b:10'
start_loop
ok "a has 70 %" host_vgpu a 70
host_load a 5
ok "c has 20 %" host_vgpu c 20
ok "b has 10 % of its 40 %" host_vgpu b 10 40
host_load b 100
ok "b gets cap from a" until_ok 40 cap_is b 40
api PATCH "/v1/vgpus/$uuid_c" '{"held": true, "held_cap_pct": 15}' >/dev/null
is "c is held below its contract" "$(status) $(host_cap c)" "200 15"
host_load b 30
sleep 0.5
caps="$(host_cap a) $(host_cap b) $(host_cap c)"
stop KILL
killed_ms=$(date +%s%3N)

all_back() { cap_is a 70 && cap_is b 40 && cap_is c 20; }
if host_outlives && ! host_leases; then
  sleep 3
  is "without a lease the caps stay" "$(host_cap a) $(host_cap b) $(host_cap c)" "$caps"
else
  host_ok "the initial caps are in force again without a daemon" until_ok 30 all_back
fi
host_leases && echo "# a lease of $lease_ms ms: back after $(($(date +%s%3N) - killed_ms)) ms, read every 100 ms"
start || exit 1
is "the next daemon restores the last caps" "$(vgpu a .cap_pct) $(vgpu b .cap_pct) $(vgpu c .cap_pct)" "$caps"
host_ok "they are in force" test "$(host_cap a) $(host_cap b) $(host_cap c)" = "$caps"
is "the contracts are unchanged" \
  "$(vgpu a .initial_cap_pct) $(vgpu b .initial_cap_pct) $(vgpu c .initial_cap_pct)" "70 40 20"
is "the same vGPUs are on hold" "$(vgpu a .held) $(vgpu b .held) $(vgpu c .held)" "false false true"
is "no foreign write is reported" "$(decided foreign_write)" 0
ok "periods pass" periods 9
is "still no foreign write is reported" "$(decided foreign_write) $(host_cap c)" "0 15"
finish
