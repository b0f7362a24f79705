#!/bin/sh
# A second daemon: refused on the same socket, the same state directory and the same FPS socket; the first goes on.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

sim_conf
start || exit 1
"$B/gover-d" --config "$conf" --state-dir "$dir/other" >"$dir/out" 2>&1
is "the same socket is refused" "$?" 1
ok "and named" grep -q "$sock" "$dir/out"
"$B/gover-d" --config "$conf" --socket "$dir/other.sock" >"$dir/out" 2>&1
is "the same state directory is refused" "$?" 1
ok "and named" grep -q "$dir/state" "$dir/out"
"$B/gover-d" --config "$conf" --state-dir "$dir/other" --socket "$dir/other.sock" >"$dir/out" 2>&1
is "the same FPS socket is refused" "$?" 1
ok "and named" grep -q "$dir/fps.sock" "$dir/out"
"$B/gover-d" --config "$conf" --restore >"$dir/out" 2>&1
is "--restore beside a running daemon is refused" "$?" 1
is "the first one answers" "$(get /v1/host .ready)" true
stop KILL
ok "its sockets are left behind" test -S "$sock"
start || exit 1
is "and do not stop the next" "$(get /v1/host .ready)" true
stop
ok "a clean stop takes them away" test ! -e "$sock"
finish
