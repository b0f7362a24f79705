#!/bin/sh
# The database is never the reason the loop stops, and holds no promise: deleted, read-only, or no database at all.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

sim_conf
start || exit 1
api POST /v1/vgpus '{"id": "a", "initial_cap_pct": 50, "target_fps": 30}' >/dev/null
rm -f "$dir/state/history.db" "$dir/state/history.db-wal" "$dir/state/history.db-shm"
ok "deleted under the daemon: the loop goes on" periods 10
ok "and a new history begins" until_ok 30 test -s "$dir/state/history.db"
stop
rm -f "$dir"/state/history.db*
start || exit 1
is "deleted between two runs: no promise is lost" "$(get /v1/vgpus/a '"\(.initial_cap_pct) \(.target_fps)"')" "50 30"
stop
echo 'this is no database, it only has its name, and is long enough to be looked at' >"$dir/state/history.db"
start || exit 1
is "no database: the contracts stand" "$(get /v1/vgpus/a .initial_cap_pct)" 50
ok "an alert says what is wrong with which file" until_ok 10 that /v1/alerts \
  "[.alerts[] | select(.name == \"history_failing\" and (.text | contains(\"history.db\")))] | length == 1"
ok "the file is left as it was" grep -q 'only has its name' "$dir/state/history.db"
stop
rm -f "$dir"/state/history.db*
mkdir "$dir/state/history.db" # a database that cannot be written, for root too
start || exit 1
is "not writable: the loop runs" "$(get /v1/host .ready)" true
ok "an alert says so" until_ok 10 alerts 1 history_failing
sell b 20
is "contracts can still be made" "$(status)" 201
rmdir "$dir/state/history.db"
ok "writable again: a history begins without a restart" until_ok 30 that /v1/host '.history.enabled and .history.written > 0'
ok "and the alert clears" until_ok 10 that /v1/alerts '[.alerts[] | select(.name == "history_failing")] | length == 0'
stop
rm -f "$dir"/state/history.db* # it has them too, and would make the file good
echo '{"version": 1, "gpus": [], "vgpus": [{"id": "a"}]}' >"$dir/state/contracts.json"
"$B/gover-d" --config "$conf" >"$dir/out" 2>&1
is "a contracts file that is not understood ends the start" "$?" 1
ok "and is named" grep -q "contracts.json" "$dir/out"
finish
