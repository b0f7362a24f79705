#!/bin/sh
# kill -9, and nobody starts the daemon again in time: the scheduler puts what was sold back in force by itself. A daemon
# that comes at last takes up its last caps and contracts, and puts nobody on hold.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/scenario/host.sh
. "$(dirname "$0")/host.sh"

lease_ms=$((period_ms * 4))
# A newcomer has what is free, however much the machine dawdles until it comes.
conf_extra='[policy]
fund_fraction = 0
[offer]
max_vgpus = 3'
host_setup
loop_conf
start || exit 1
ok "a has 70 %" host_vgpu a 70
host_load a 5
ok "c has 20 %" host_vgpu c 20
ok "b has 10 % of its 40 %" host_vgpu b 10 40
host_load b 100
ok "b won cap from a" until_ok 40 cap_is b 40
api PATCH "/v1/vgpus/$uuid_c" '{"held": true, "held_cap_pct": 15}' >/dev/null
is "c is held below its contract" "$(status) $(host_cap c)" "200 15"
host_load b 30
sleep 0.5
caps="$(host_cap a) $(host_cap b) $(host_cap c)"
stop KILL
killed_ms=$(date +%s%3N)

all_back() { cap_is a 70 && cap_is b 40 && cap_is c 20; }
host_ok "what was sold is back in force, without a daemon" until_ok 30 all_back
host_outlives && echo "# a lease of $lease_ms ms: back after $(($(date +%s%3N) - killed_ms)) ms, looked for every 100 ms"
start || exit 1
is "the next daemon takes up the last caps" "$(vgpu a .cap_pct) $(vgpu b .cap_pct) $(vgpu c .cap_pct)" "$caps"
host_ok "they are in force" test "$(host_cap a) $(host_cap b) $(host_cap c)" = "$caps"
is "the contracts are those that were sold" \
  "$(vgpu a .initial_cap_pct) $(vgpu b .initial_cap_pct) $(vgpu c .initial_cap_pct)" "70 40 20"
is "on hold is who was before" "$(vgpu a .held) $(vgpu b .held) $(vgpu c .held)" "false false true"
is "it was nobody's foreign write" "$(decided foreign_write)" 0
ticks=$(get /v1/host .ticks)
ok "and does not become one" until_ok 30 that /v1/host ".ticks > $ticks + 8"
is "now as before" "$(decided foreign_write) $(host_cap c)" "0 15"
stop
finish
