#!/bin/sh
# The loop continues and contracts remain if the database is deleted or belongs to another program.
. "$(dirname "$0")/../lib.sh"

start_sim
api POST /v1/vgpus '{"id": "a", "initial_cap_pct": 50, "target_fps": 30}' >/dev/null
rm -f "$dir/state/history.db" "$dir/state/history.db-wal" "$dir/state/history.db-shm"
ok "the loop continues after the database was deleted" periods 10
ok "a new history begins" until_ok 30 test -s "$dir/state/history.db"
stop
rm -f "$dir"/state/history.db*
start || exit 1
is "contracts survive the loss of the database" "$(get /v1/vgpus/a '"\(.initial_cap_pct) \(.target_fps)"')" "50 30"
stop
sqlite3 "$dir/state/history.db" 'PRAGMA application_id = 1'
cp "$dir/state/history.db" "$dir/other.db"
start || exit 1
is "contracts survive a database of another program" "$(get /v1/vgpus/a .initial_cap_pct)" 50
ok "an alert names the file and the problem" until_ok 10 that /v1/alerts \
  "[.alerts[] | select(.name == \"history_failing\" and (.text | contains(\"history.db: not a database of gover\")))] | length == 1"
ok "the host reports the problem" that /v1/host '.history.error | contains("not a database of gover")'
is "the loop runs without a history" "$(get /v1/host .ready)" true
ok "the file is not changed" cmp "$dir/other.db" "$dir/state/history.db"
sell b 20
is "contracts can be created without a database" "$(status)" 201
rm "$dir/state/history.db"
ok "the history begins without a restart when the file is removed" until_ok 30 that /v1/host '.history.enabled and .history.written > 0'
ok "the alert clears" until_ok 10 that /v1/alerts '[.alerts[] | select(.name == "history_failing")] | length == 0'
stop
rm -f "$dir"/state/history.db* # the database would be used to restore a missing contracts file
echo '{"version": 1, "gpus": [], "vgpus": [{"id": "a"}]}' >"$dir/state/contracts.json"
"$B/gover-d" --config "$conf" >"$dir/out" 2>&1
is "an unreadable contracts file prevents the start" "$?" 1
ok "the error names the file" grep -q "contracts.json" "$dir/out"
finish
