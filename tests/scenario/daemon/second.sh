#!/bin/sh
# A second daemon on the same socket, state directory or FPS socket fails to start; the first one continues.
. "$(dirname "$0")/../lib.sh"

start_sim
"$B/gover-d" --config "$conf" --state-dir "$dir/other" >"$dir/out" 2>&1
is "the same socket is rejected" "$?" 1
ok "the error names the socket" grep -q "$sock" "$dir/out"
"$B/gover-d" --config "$conf" --socket "$dir/other.sock" >"$dir/out" 2>&1
is "the same state directory is rejected" "$?" 1
ok "the error names the state directory" grep -q "$dir/state" "$dir/out"
"$B/gover-d" --config "$conf" --state-dir "$dir/other" --socket "$dir/other.sock" >"$dir/out" 2>&1
is "the same FPS socket is rejected" "$?" 1
ok "the error names the FPS socket" grep -q "$dir/fps.sock" "$dir/out"
"$B/gover-d" --config "$conf" --restore >"$dir/out" 2>&1
is "--restore beside a running daemon is rejected" "$?" 1
is "the first daemon still answers" "$(get /v1/host .ready)" true
stop KILL
ok "a killed daemon leaves its sockets" test -S "$sock"
start || exit 1
is "stale sockets do not prevent a start" "$(get /v1/host .ready)" true
stop
ok "a stopped daemon removes its sockets" test ! -e "$sock"
finish
