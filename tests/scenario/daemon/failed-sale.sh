#!/bin/sh
# A failed sale stops further offers until its vGPU is removed, also after a restart.
. "$(dirname "$0")/../lib.sh"

conf_extra='[policy]
fund_window_s = 2
[offer]
max_vgpus = 4
probation_s = 1'
start_sim
sell a 100 load:pct=30
periods 3 # an offer of the empty GPU is closed
open='[.offers[] | select(.state == "open")]'
ok "an offer is made" until_ok 20 that /v1/offers "$open | length == 1"
id=$(get /v1/offers "${open}[0].id")
claim "$id" '' new '"labels": {"workload": "busy"}'
is "the offer is claimed" "$(status)" 200
load a busy
ok "a broken promise fails the sale" until_ok 20 that /v1/offers ".offers[] | select(.id == $id) | .state == \"failed\""
ok "an alert reports the failed sale" until_ok 10 alerts 1 sale_failed
load a idle
load new idle
ok "the history contains the failed sale" until_ok 10 recorded "SELECT * FROM offer WHERE id = $id AND state = 'failed'"
restart KILL
ok "the alert is raised again after a restart" until_ok 10 alerts 1 sale_failed
periods 8
is "no offer is made while the vGPU exists" "$(get /v1/offers "$open | length")" 0
api DELETE /v1/vgpus/new >/dev/null
is "the vGPU is removed" "$(status)" 204
ok "the alert clears" until_ok 10 alerts 0 sale_failed
ok "a calm GPU makes an offer again" until_ok 20 that /v1/offers "$open | length == 1"
restart
ok "after another restart a calm GPU makes an offer" until_ok 20 that /v1/offers "$open | length == 1"
ok "the failed sale raises no alert any more" alerts 0 sale_failed
finish
