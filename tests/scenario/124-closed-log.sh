#!/bin/sh
# Whoever reads the log may go away: the daemon goes on without it, and ends as it should.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

sim_conf
mkfifo "$dir/pipe"
head -n 1 "$dir/pipe" >"$dir/first" &
reader=$!
"$B/gover-d" --config "$conf" >"$dir/pipe" 2>&1 &
daemon_pid=$!
ok "it starts" until_ok 20 curl -sSf --unix-socket "$sock" http://gover/readyz
sell a 50
wait "$reader"
ok "the reader took a line and is gone" test -s "$dir/first"
for cap in 40 30; do
  api PATCH /v1/vgpus/a "{\"held\": true, \"held_cap_pct\": $cap}" >/dev/null
  is "what is logged to nobody is done all the same" "$(status) $(get /v1/vgpus/a .cap_pct)" "200 $cap"
done
ticks=$(get /v1/host .ticks)
ok "the loop goes on" until_ok 10 that /v1/host ".ticks > $ticks + 5"
stop
is "and ends cleanly" "$stopped" 0
finish
