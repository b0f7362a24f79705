#!/bin/sh
# Start and stop under systemd: the daemon reports readiness, watchdog signals and the stop. A stop changes no cap and
# no contract. The last hold is on disk, and only the state directory remains.
. "$(dirname "$0")/../lib.sh"

python3 "$top/tests/helper/notify-sink.py" "$dir/notify" >"$dir/received" 2>&1 &
sink=$!
cleanup="kill $sink"
until_ok 10 test -S "$dir/notify"
received() { grep -qx "$1" "$dir/received"; }
alive() { test "$(grep -cx 'WATCHDOG=1' "$dir/received")" -ge "$1"; }

conf_extra="$unfunded
[offer]
max_vgpus = 2"
sim_conf
NOTIFY_SOCKET=$dir/notify
WATCHDOG_USEC=400000
export NOTIFY_SOCKET WATCHDOG_USEC
start || exit 1
ok "the daemon reports READY" until_ok 10 received 'READY=1'
ok "the daemon extends the time of its start at each step" \
  test "$(sed '/^READY=1$/q' "$dir/received" | grep -c '^EXTEND_TIMEOUT_USEC=')" -ge 3
ok "the status contains the number of GPUs" grep -q '^STATUS=1 GPU' "$dir/received"
ok "the daemon sends watchdog signals" until_ok 20 alive 3
is "no STOPPING is sent before the stop" "$(grep -c STOPPING "$dir/received")" 0

sell a 80 load:pct=10
sell b 50 busy
ok "a steal changes the caps" until_ok 20 that /v1/vgpus/b '.cap_pct > 25'
ctl freeze >/dev/null
echo 37 >"$dir/poke/a.cap"
ok "an external change puts a vGPU on hold" until_ok 20 that /v1/vgpus/a '.held'
writes=$(get /v1/vgpus '[.vgpus[].cap_writes] | add')
stop
is "SIGTERM ends the daemon with status 0" "$stopped" 0
ok "the daemon reports STOPPING" received 'STOPPING=1'
is "no cap is written during the stop" "$(history 'SELECT count(*) FROM cap_write')" "$writes"
ok "the hold is on disk" gojq -e '.vgpus[] | select(.id == "a") | .held and .held_cap_pct == 37' "$dir/state/contracts.json"
is "the sockets are removed" "$(find "$dir" -maxdepth 1 -type s | sort)" "$dir/notify"

unset NOTIFY_SOCKET WATCHDOG_USEC
start || exit 1
is "the next daemon adopts the caps" "$(get /v1/vgpus '[.vgpus[].cap_pct] | join(" ")')" "37 $(
  history "SELECT read_back_pct FROM cap_write WHERE vgpu = 'b' ORDER BY id DESC LIMIT 1"
)"
is "the next daemon adopts the hold" "$(get /v1/vgpus/a .held)" true
stop INT
is "SIGINT ends the daemon with status 0" "$stopped" 0
finish
