#!/bin/sh
# A sale that failed stops further ones until its newcomer is gone; once it is, also after a restart.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

conf_extra='[policy]
fund_window_s = 2
[offer]
max_vgpus = 4
probation_s = 1'
sim_conf
start || exit 1
load() { api PATCH "/v1/vgpus/$1" "{\"labels\": {\"workload\": \"$2\"}}" >/dev/null; }
api POST /v1/vgpus '{"id": "a", "initial_cap_pct": 100, "labels": {"workload": "load:pct=30"}}' >/dev/null
open='[.offers[] | select(.state == "open")]'
sale_failed='[.alerts[] | select(.name == "sale_failed")]'
ok "an offer" until_ok 20 that /v1/offers "$open | length == 1"
id=$(get /v1/offers "${open}[0].id")
api POST "/v1/offers/$id/claim" '{"id": "new", "labels": {"workload": "busy"}}' >/dev/null
is "is sold" "$(status)" 200
load a busy
ok "its promise is broken: the sale failed" until_ok 20 that /v1/offers ".offers[] | select(.id == $id) | .state == \"failed\""
ok "an alert says so" until_ok 10 that /v1/alerts "$sale_failed | length == 1"
load a idle
load new idle
ok "the history has it" until_ok 10 sh -c \
  "sqlite3 -readonly '$dir/state/history.db' 'SELECT state FROM offer WHERE id = $id' | grep -q failed"
stop KILL
start || exit 1
ok "after a restart too" until_ok 10 that /v1/alerts "$sale_failed | length == 1"
periods 8
is "calm sells nothing while it is there" "$(get /v1/offers "$open | length")" 0
api DELETE /v1/vgpus/new >/dev/null
is "it is removed" "$(status)" 204
ok "the alert clears" until_ok 10 that /v1/alerts "$sale_failed | length == 0"
ok "and calm sells again" until_ok 20 that /v1/offers "$open | length == 1"
stop
start || exit 1
ok "after one more restart it sells as well" until_ok 20 that /v1/offers "$open | length == 1"
is "nothing tells of the sale that failed" "$(get /v1/alerts "$sale_failed | length")" 0
stop
finish
