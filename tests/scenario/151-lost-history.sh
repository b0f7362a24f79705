#!/bin/sh
# The database is deleted: ids go on above those that were given, so that a client's cursor goes astray neither after a
# clean stop nor after kill -9; and live ones go on without a gap while it is there.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

sim_conf
newest() { # newest LIST PATH: the largest id
  get "$2" "[.$1[].id] | max"
}
run() { # a hold for decisions, a foreign write for an alert, and an offer
  ok "an offer" until_ok 20 that /v1/offers '.offers | length == 1'
  echo "$1" >"$dir/poke/a.cap"
  ok "an alert" until_ok 20 that '/v1/alerts' '[.alerts[] | select(.name == "foreign_write")] | length == 1'
  decision=$(newest decisions '/v1/decisions?limit=1')
  alert=$(newest alerts '/v1/alerts?all=true')
  offer=$(newest offers '/v1/offers?all=true')
  change=$(newest audit '/v1/audit?limit=1')
  until_ok 60 sh -c "test \$(date +%s) -gt $change" # fewer than one a second were made
}
above() { # above HOW: what this run gives is above what the last one gave
  api PATCH /v1/vgpus/a '{"held": false}' >/dev/null
  ok "$1: decisions behind the cursor are told" that "/v1/decisions?after=$decision" '.decisions | length > 0'
  ok "and none before it" that "/v1/decisions?limit=1000" "[.decisions[].id] | min > $decision"
  ok "changes behind the cursor are told" that "/v1/audit?after=$change" '.audit | length > 0'
  last_alert=$alert last_offer=$offer
  run "$2"
  ok "alerts are above" that '/v1/alerts?all=true' "[.alerts[].id] | min > $last_alert"
  ok "and offers" that '/v1/offers?all=true' "[.offers[].id] | min > $last_offer"
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
stop
start || exit 1
ok "with the history there is no gap" that '/v1/decisions?limit=1' ".decisions[-1].id - $decision < 100"
stop
finish
