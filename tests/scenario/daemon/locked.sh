#!/bin/sh
# Another program locks the database: the loop continues, an alert is raised and cleared, and no record is lost.
. "$(dirname "$0")/../lib.sh"

start_sim
ok "the history is written" until_ok 10 that /v1/host '.history.written > 0'
mkfifo "$dir/sql"
sqlite3 "$dir/state/history.db" <"$dir/sql" >"$dir/sql.out" 2>&1 &
exec 3>"$dir/sql"
echo "BEGIN IMMEDIATE; SELECT 'locked';" >&3
ok "another program locks the database" until_ok 10 grep -q locked "$dir/sql.out"
sell a 50
is "a vGPU is sold" "$(status)" 201
ok "an alert is raised" until_ok 20 alerts 1 history_failing
ok "the loop continues" periods 5
echo "ROLLBACK;" >&3
exec 3>&-
ok "the alert clears after the unlock" until_ok 20 alerts 0 history_failing
is "no record was dropped" "$(get /v1/host .history.dropped)" 0
ok "records of that time are in the database" until_ok 10 recorded "SELECT * FROM decision WHERE vgpu = 'a' AND kind = 'add'"
finish
