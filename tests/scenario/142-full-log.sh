#!/bin/sh
# Whoever reads the log stands still, and its pipe is full: the daemon starts, decides and ends all the same, and says
# afterwards how many lines were lost.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

sim_conf
mkfifo "$dir/pipe"
exec 3<>"$dir/pipe" # open to read, and nobody does
# To the last byte: a pipe takes 64 KiB, or less where a user has many.
timeout 1 sh -c 'while :; do printf "%04095d\n" 0; done' >"$dir/pipe" 2>/dev/null
"$B/gover-d" --config "$conf" 2>"$dir/pipe" 3>&- &
daemon_pid=$!
ok "it starts" until_ok 20 curl -sSf --unix-socket "$sock" http://gover/readyz
for cap in 50 40 30; do
  api POST /v1/vgpus "{\"id\": \"v$cap\", \"initial_cap_pct\": $cap}" >/dev/null
done
is "what is logged to nobody is done all the same" "$(get /v1/vgpus '[.vgpus[].id] | join(" ")')" "v30 v40 v50"
ticks=$(get /v1/host .ticks)
ok "the loop goes on" until_ok 10 that /v1/host ".ticks > $ticks + 5"
cat "$dir/pipe" >"$dir/read" 3>&- & # until the daemon, the last who can write, is gone
reader=$!
exec 3>&-
ok "somebody reads again" until_ok 10 test -s "$dir/read"
ctl vgpu hold v30 >/dev/null
lost() { grep -qaE '^gover-d: [0-9]+ lines of this log could not be written$' "$dir/read"; }
ok "how many lines were lost is said" until_ok 10 lost
ok "with the next one" grep -qa 'hold v30' "$dir/read"
is "once" "$(grep -ca 'could not be written' "$dir/read")" 1
stop
is "and it ends cleanly" "$stopped" 0
wait "$reader"
ok "with its last word" grep -qa 'stopping' "$dir/read"
finish
