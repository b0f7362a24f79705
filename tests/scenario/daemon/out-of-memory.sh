#!/bin/sh
# If an allocation fails, gover-d logs one line and ends with status 1. The next start waits 10 s, changes no cap, and
# raises an alert, which ends when it is acknowledged.
. "$(dirname "$0")/../faults.sh"

start_sim
exhausted='[.alerts[] | select(.name == "out_of_memory")]'
is "the mark is not set" "$(cat "$dir/state/out-of-memory")" 0
sell a 50
is "a contract is created" "$(status)" 201
api PATCH /v1/vgpus/a '{"held": true, "held_cap_pct": 30}' >/dev/null
ok "the cap is in force" until_ok 10 that /v1/vgpus/a '.cap_pct == 30'

fault memory
wait "$daemon_pid"
is "the daemon ends with status 1 when an allocation fails" $? 1
daemon_pid=''
fault clear
ok "its last line states the reason" sh -c "tail -n 1 '$dir/log' | grep -qE '^gover-d: out of memory: cannot allocate [0-9]+ bytes\$'"
is "it logs one such line" "$(grep -c memory "$dir/log")" 1
is "the mark is set" "$(cat "$dir/state/out-of-memory")" 1

began=$(date +%s)
start || exit 1
ok "the next start waits 10 s" test $(($(date +%s) - began)) -ge 9
ok "an alert reports it" until_ok 10 that /v1/alerts "$exhausted | length == 1 and .[0].severity == \"warning\""
is "no cap is changed" "$(get /v1/vgpus/a '"\(.cap_pct) \(.held)"')" "30 true"

restart
ok "the alert is raised again after a restart" until_ok 10 that /v1/alerts "$exhausted | length == 1 and .[0].cleared == null"
api POST "/v1/alerts/$(get /v1/alerts "${exhausted}[0].id")/ack" >/dev/null
is "the alert is acknowledged" "$(status)" 200
ok "the alert ends" until_ok 10 alerts 0 out_of_memory
is "the mark is not set any more" "$(cat "$dir/state/out-of-memory")" 0
finish
