#!/bin/sh
# What an operator has seen of broken promises survives a restart of the daemon: cleared alerts with the caller that
# acknowledged them, the broken time with the start of its counting, and an active alert, which is not raised again.
. "$(dirname "$0")/../lib.sh"

receive_webhook
conf_extra="$daemon_extra
promise_fast_window_s = 20" daemon_extra=''
start_sim

# --- a cleared alert ---

sell c 60 'frame:gpu_ms=8,cpu_ms=1' '"target_fps": 60, "vm": "win-7"'
api PATCH /v1/vgpus/c '{"held": true, "held_cap_pct": 20}' >/dev/null
ok "the alert is raised" until_ok 30 alerts 1 promise_broken c
id=$(get /v1/alerts '.alerts[] | select(.name == "promise_broken") | .id')
ok "it is acknowledged" ctl ack "$id"
ctl vgpu release c >/dev/null
ok "it is cleared" until_ok 30 alerts 0 promise_broken
listed() { get '/v1/alerts?all=true' ".alerts[] | select(.id == $id) | [.name, .cause, .vm, .acked_by, .severity, .cleared_at != null, .text] | map(tostring) | join(\"|\")"; }
before=$(listed)
is "the list of all alerts has it" "$(echo "$before" | cut -d '|' -f 1-6)" "promise_broken|held|win-7|root|critical|true"

# --- an active alert ---

api PATCH /v1/vgpus/c '{"held": true, "held_cap_pct": 20}' >/dev/null
ok "another alert is raised" until_ok 30 alerts 1 promise_broken c
second=$(get /v1/alerts '.alerts[] | select(.name == "promise_broken") | .id')
sums() { get /v1/vgpus/c '"\(.counted_since) \(.broken_s) \(.seen_s)"'; }
old=$(sums)
stop
: >"$dir/bodies"
start || exit 1
is "the cleared alert is listed after the restart as before" "$(listed)" "$before"
ok "gover-ctl shows it with its caller" sh -c "'$B/gover-ctl' --socket '$sock' alerts --all -o wide | grep -E '$id .*root'"
periods 30
is "the active alert has the same id" "$(get /v1/alerts '.alerts[] | select(.name == "promise_broken") | .id')" "$second"
ok "its diagnosis names it" that /v1/vgpus/c/diagnosis ".alert_id == $second and .cause == \"held\""
ok "it is not sent again" sh -c "! grep -q '\"event\":\"raised\".*promise_broken' '$dir/bodies'"
# shellcheck disable=SC2086 # words
ok "the sums continue" awk -v old="$old" -v new="$(sums)" 'BEGIN {
  split(old, o); split(new, n); exit !(o[1] == n[1] && n[2] >= o[2] && n[3] >= o[3] && o[2] > 0) }'
ctl vgpu release c >/dev/null
ok "it ends" until_ok 30 alerts 0 promise_broken
restart KILL
# shellcheck disable=SC2086 # words
ok "a crash soon after a start loses no earlier sums" awk -v old="$old" -v new="$(sums)" 'BEGIN {
  split(old, o); split(new, n); exit !(o[1] == n[1] && n[2] >= o[2] && n[3] >= o[3]) }'

# --- a new contract of the same id counts anew ---

api DELETE /v1/vgpus/c >/dev/null
sell c 60 idle
restart
ok "another contract of the same id begins at 0" that /v1/vgpus/c '.broken_s == 0'
finish
