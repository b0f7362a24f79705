#!/bin/sh
# The reader of the log stops reading, so that the pipe is full: the daemon starts, decides and stops normally, and
# later logs the number of lost lines.
. "$(dirname "$0")/../lib.sh"

sim_conf
mkfifo "$dir/pipe"
exec 3<>"$dir/pipe" # opened but never read
# Fill the pipe to the last byte. Its size is 64 KiB, or less if the user has many pipes.
timeout 1 sh -c 'while :; do printf "%04095d\n" 0; done' >"$dir/pipe" 2>/dev/null
"$B/gover-d" --config "$conf" 2>"$dir/pipe" 3>&- &
daemon_pid=$!
ok "the daemon starts" until_ok 20 curl -sSf --unix-socket "$sock" http://gover/readyz
for cap in 50 40 30; do
  api POST /v1/vgpus "{\"id\": \"v$cap\", \"initial_cap_pct\": $cap}" >/dev/null
done
is "requests are executed without a log" "$(get /v1/vgpus '[.vgpus[].id] | join(" ")')" "v30 v40 v50"
ok "the loop continues" periods 6
cat "$dir/pipe" >"$dir/read" 3>&- & # waits until the daemon has ended, which is the last writer
reader=$!
exec 3>&-
ok "the reader continues" until_ok 10 test -s "$dir/read"
ctl vgpu hold v30 >/dev/null
lost() { grep -qaE '^gover-d: [0-9]+ lines of this log could not be written$' "$dir/read"; }
ok "the number of lost lines is logged" until_ok 10 lost
ok "the next line is logged" grep -qa 'hold v30' "$dir/read"
is "the number is logged once" "$(grep -ca 'could not be written' "$dir/read")" 1
stop
is "the daemon stops with status 0" "$stopped" 0
wait "$reader"
ok "the last line is logged" grep -qa 'stopping' "$dir/read"
finish
