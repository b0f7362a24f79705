#!/bin/sh
# The database is deleted: new ids are higher than all earlier ids, so that a client's cursor stays valid after a
# clean stop and after kill -9. With the database, ids continue without a gap.
. "$(dirname "$0")/../lib.sh"

sim_conf
newest() { # newest LIST PATH: prints the largest id
  get "$2" "[.$1[].id] | max"
}
run() { # creates an offer, and by a foreign write a hold, an alert and decisions
  ok "an offer" until_ok 20 that /v1/offers '.offers | length == 1'
  echo "$1" >"$dir/poke/a.cap"
  ok "an alert" until_ok 20 that '/v1/alerts' '[.alerts[] | select(.name == "foreign_write")] | length == 1'
  decision=$(newest decisions '/v1/decisions?limit=1')
  alert=$(newest alerts '/v1/alerts?all=true')
  offer=$(newest offers '/v1/offers?all=true')
  change=$(newest audit '/v1/audit?limit=1')
}
above() { # above HOW: the ids of this run are higher than the ids of the previous run
  api PATCH /v1/vgpus/a '{"held": false}' >/dev/null
  ok "$1: decisions after the cursor are returned" that "/v1/decisions?after=$decision" '.decisions | length > 0'
  ok "ids of decisions are higher" that "/v1/decisions?limit=1000" "[.decisions[].id] | min > $decision"
  ok "changes after the cursor are returned" that "/v1/audit?after=$change" '.audit | length > 0'
  last_alert=$alert last_offer=$offer
  run "$2"
  ok "ids of alerts are higher" that '/v1/alerts?all=true' "[.alerts[].id] | min > $last_alert"
  ok "ids of offers are higher" that '/v1/offers?all=true' "[.offers[].id] | min > $last_offer"
}

start || exit 1
api POST /v1/vgpus '{"id": "a", "initial_cap_pct": 50}' >/dev/null
run 7
stop
rm "$dir"/state/history.db*
start || exit 1
above "after a clean stop" 8
stop KILL
rm "$dir"/state/history.db*
start || exit 1
above "after kill -9" 9
restart
ok "with the history, ids continue without a gap" that '/v1/decisions?limit=1' ".decisions[-1].id - $decision < 100"
finish
