#!/bin/sh
# A clean stop: systemd is told of the beginning, of every sign of life and of the end; caps and contracts stay as they
# are, a hold of the last instant is on disk, and nothing but the state directory is left.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

"$B/tests/notify-sink" "$dir/notify" >"$dir/told" 2>&1 &
sink=$!
cleanup="kill $sink"
until_ok 10 test -S "$dir/notify"
told() { grep -qx "$1" "$dir/told"; }
alive() { test "$(grep -cx 'WATCHDOG=1' "$dir/told")" -ge "$1"; }

conf_extra="$unfunded
[offer]
max_vgpus = 2"
sim_conf
NOTIFY_SOCKET=$dir/notify
WATCHDOG_USEC=400000
export NOTIFY_SOCKET WATCHDOG_USEC
start || exit 1
ok "it says that it is ready" until_ok 10 told 'READY=1'
ok "with how many GPUs" grep -q '^STATUS=1 GPU' "$dir/told"
ok "and then that it is alive, again and again" until_ok 20 alive 3
is "it does not say that it ends" "$(grep -c STOPPING "$dir/told")" 0

sell a 80 load:pct=10
sell b 50 busy
ok "a steal moved the caps away from the contracts" until_ok 20 that /v1/vgpus/b '.cap_pct > 25'
ctl freeze >/dev/null
echo 37 >"$dir/poke/a.cap"
ok "a foreign write puts a on hold" until_ok 20 that /v1/vgpus/a '.held'
writes=$(get /v1/vgpus '[.vgpus[].cap_writes] | add')
stop
is "SIGTERM ends it with 0" "$stopped" 0
ok "it said that it ends" told 'STOPPING=1'
is "it wrote no cap on its way out" "$(history 'SELECT count(*) FROM cap_write')" "$writes"
ok "the hold is on disk" jq -e '.vgpus[] | select(.id == "a") | .held and .held_cap_pct == 37' "$dir/state/contracts.json"
is "its sockets are gone" "$(find "$dir" -maxdepth 1 -type s | sort)" "$dir/notify"

unset NOTIFY_SOCKET WATCHDOG_USEC
start || exit 1
is "the next daemon goes on with the same caps" "$(get /v1/vgpus '[.vgpus[].cap_pct] | join(" ")')" "37 $(
  history "SELECT read_back_pct FROM cap_write WHERE vgpu = 'b' ORDER BY id DESC LIMIT 1"
)"
is "and the same hold" "$(get /v1/vgpus/a .held)" true
stop INT
is "SIGINT is a clean stop too" "$stopped" 0
finish
