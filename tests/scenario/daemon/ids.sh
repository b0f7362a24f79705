#!/bin/sh
# A start without a readable history: new ids are higher than all earlier ids, so that no row is overwritten when the
# database returns. The alert about the database is then cleared.
. "$(dirname "$0")/../lib.sh"

db=$dir/state/history.db
rows() { # rows TABLE TO: prints all rows with ids up to TO
  history "SELECT * FROM $1 WHERE id <= $2 ORDER BY id"
}
newest() { history "SELECT max(id) FROM $1"; }
offered='.offers | length == 1'

start_sim
sell a 20
echo 7 >"$dir/poke/a.cap"
ok "the first run raises an alert" until_ok 10 that /v1/alerts '.alerts | length == 1'
ok "the first run makes an offer" until_ok 20 that /v1/offers "$offered"
stop
for table in decision alert offer; do
  newest $table >"$dir/last.$table"
  rows $table "$(cat "$dir/last.$table")" >"$dir/rows.$table"
  ok "the history contains each $table" test -s "$dir/rows.$table"
done

# The database is missing at the start and returns soon afterwards.
mv "$db" "$dir/away.db"
sqlite3 "$db" 'PRAGMA application_id = 1' # a database of another program is not changed
period_ms=700
sim_conf
"$B/gover-d" --config "$conf" >>"$dir/log" 2>&1 &
daemon_pid=$!
ok "the second run starts without a history" until_ok 10 curl -sSf --unix-socket "$sock" http://gover/healthz
api PATCH /v1/gpus/gpu0 '{"selling": "off"}' >/dev/null
mv "$dir/away.db" "$db" # at once: without a file, the daemon would create a database
ok "the missing history raises an alert" until_ok 10 that "/v1/alerts?all=true" '[.alerts[] | select(.name == "history_failing")] | length == 1'
ok "the history returns" until_ok 60 that /v1/host .history.enabled
sell b 20
api PATCH /v1/gpus/gpu0 '{"selling": "on"}' >/dev/null
ok "the alert clears" until_ok 20 alerts 0 history_failing
ok "an offer is made" until_ok 20 that /v1/offers "$offered"
ok "ids of decisions continue above the earlier ones" that '/v1/decisions?limit=1000' "[.decisions[].id] | min > $(cat "$dir/last.decision")"
ok "ids of alerts continue above the earlier ones" that '/v1/alerts?all=true' "[.alerts[].id] | min > $(cat "$dir/last.alert")"
ok "ids of offers continue above the earlier ones" that '/v1/offers?all=true' "[.offers[].id] | min > $(cat "$dir/last.offer")"
stop
for table in decision alert offer; do
  rows $table "$(cat "$dir/last.$table")" >"$dir/rows.now"
  ok "no $table of the first run was overwritten" cmp "$dir/rows.$table" "$dir/rows.now"
  ok "each $table of the second run is stored" test "$(newest $table)" -gt "$(cat "$dir/last.$table")"
done
finish
