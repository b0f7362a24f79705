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
sell a 100 load:pct=30
open='[.offers[] | select(.state == "open")]'
ok "an offer" until_ok 20 that /v1/offers "$open | length == 1"
id=$(get /v1/offers "${open}[0].id")
claim "$id" '' new '"labels": {"workload": "busy"}'
is "is sold" "$(status)" 200
load a busy
ok "its promise is broken: the sale failed" until_ok 20 that /v1/offers ".offers[] | select(.id == $id) | .state == \"failed\""
ok "an alert says so" until_ok 10 alerts 1 sale_failed
load a idle
load new idle
ok "the history has it" until_ok 10 recorded "SELECT * FROM offer WHERE id = $id AND state = 'failed'"
stop KILL
start || exit 1
ok "after a restart too" until_ok 10 alerts 1 sale_failed
periods 8
is "calm sells nothing while it is there" "$(get /v1/offers "$open | length")" 0
api DELETE /v1/vgpus/new >/dev/null
is "it is removed" "$(status)" 204
ok "the alert clears" until_ok 10 alerts 0 sale_failed
ok "and calm sells again" until_ok 20 that /v1/offers "$open | length == 1"
stop
start || exit 1
ok "after one more restart it sells as well" until_ok 20 that /v1/offers "$open | length == 1"
ok "nothing tells of the sale that failed" alerts 0 sale_failed
stop
finish
