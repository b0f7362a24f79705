#!/bin/sh
# The reader of the log closes the pipe: the daemon continues without a log and stops normally.
. "$(dirname "$0")/../lib.sh"

sim_conf
mkfifo "$dir/pipe"
head -n 1 "$dir/pipe" >"$dir/first" &
reader=$!
"$B/gover-d" --config "$conf" >"$dir/pipe" 2>&1 &
daemon_pid=$!
ok "the daemon starts" until_ok 20 curl -sSf --unix-socket "$sock" http://gover/readyz
sell a 50
wait "$reader"
ok "the reader has read a line and ended" test -s "$dir/first"
for cap in 40 30; do
  api PATCH /v1/vgpus/a "{\"held\": true, \"held_cap_pct\": $cap}" >/dev/null
  is "a request is executed without a log" "$(status) $(get /v1/vgpus/a .cap_pct)" "200 $cap"
done
ok "the loop continues" periods 6
finish
