#!/bin/sh
# Changing the policy at run time: a change applies in the next period, is recorded as a decision with the old values,
# and survives a restart and the loss of the database.
. "$(dirname "$0")/../lib.sh"

conf_extra='[policy]
lowload_pct = 55
[offer]
max_vgpus = 2'
start_sim
newest='.decisions[-1]'
sell a 80 frame:gpu_ms=2,cpu_ms=20 '"target_fps": 60'
sell b 20 idle
# vGPU a misses its target on a nearly idle GPU. Only paper mode treats this as overload.
ok "a vGPU is short but not GPU-bound" until_ok 20 that /v1/alerts '[.alerts[].name] | index("qos_not_gpu_bound") != null'
is "a vGPU that is not GPU-bound is not overloaded" "$(get /v1/vgpus/a '"\(.short) \(.overloaded)"')" "true false"
api PATCH /v1/policy '{"paper_mode": true, "steal_fraction": 0.25}' >/dev/null
is "paper mode is enabled" "$(status) $(gojq -r '.params.paper_mode' "$dir/body")" "200 true"
is "one decision records it without GPU and vGPU" "$(get '/v1/decisions?limit=1' "$newest | \"\(.kind) \(.result) \(.gpu) \(.vgpu)\"")" "set noted  null"
ok "the decision contains the old values" that '/v1/decisions?limit=1' "$newest.why | contains(\"paper_mode off -> on\") and contains(\"steal_fraction 0.2 -> 0.25\")"
ok "the change applies: the same reading is a signal" until_ok 10 that /v1/vgpus/a .overloaded
id=$(get '/v1/decisions?limit=1' "$newest.id")
api PATCH /v1/policy '{"paper_mode": true}' >/dev/null
is "an unchanged value makes no decision" "$(get "/v1/decisions?after=$id" '[.decisions[] | select(.kind == "set")] | length')" 0
api PATCH /v1/policy '{"name": "quake"}' >/dev/null
is "an unknown policy is rejected" "$(status)" 422
ok "the error names it" grep -q quake "$dir/body"
api PATCH /v1/policy '{"name": "gover", "lowload_pct": 40}' >/dev/null
is "the current policy is accepted" "$(status)" 200
# The policies static and none set all caps in their first period.
api PATCH /v1/policy '{"name": "static"}' >/dev/null
ok "policy static gives half of each contract" until_ok 10 that /v1/vgpus/a '.cap_pct == 40'
is "policy static changes all vGPUs" "$(get /v1/vgpus/b .cap_pct)" 10
is "policy static makes one decision" "$(get '/v1/decisions?limit=1' "$newest | \"\(.kind) \(.result) \(.moves | length)\"")" "share written 2"
api PATCH /v1/policy '{"name": "none"}' >/dev/null
ok "policy none gives equal shares up to the contract" until_ok 10 that /v1/vgpus/a '.cap_pct == 80'
is "policy none changes all vGPUs" "$(get /v1/vgpus/b .cap_pct)" 20
for name in credit fair p99 nsigma max gover; do
  api PATCH /v1/policy "{\"name\": \"$name\"}" >/dev/null
  is "$name is accepted" "$(status) $(get /v1/policy .params.name)" "200 $name"
  ok "the loop runs with $name" periods 2
done
is "all caps fit the GPU" "$(get /v1/vgpus '[.vgpus[].cap_pct] | add <= 100')" true
restart
is "changes survive a restart" "$(get /v1/policy '.params | "\(.paper_mode) \(.steal_fraction) \(.lowload_pct)"')" "true 0.25 40"
is "changed values are marked" "$(get /v1/policy '.differs | sort | join(" ")')" "lowload_pct paper_mode steal_fraction"
ok "changes apply after the restart" until_ok 10 that /v1/vgpus/a .overloaded
api PATCH /v1/policy '{"paper_mode": null, "lowload_pct": null, "steal_fraction": null}' >/dev/null
is "null restores the value of the file" "$(get /v1/policy '"\(.params.lowload_pct) \(.differs | length)"')" "55 0"
ok "the restored value applies at once" until_ok 10 that /v1/vgpus/a '.overloaded == false'
restart
is "the restored value survives a restart" "$(get /v1/policy '.differs | length')" 0
stop

rm -f "$dir"/state/history.db*
sqlite3 "$dir/state/history.db" 'PRAGMA application_id = 1' # a database of another program is not used
start || exit 1
api PATCH /v1/policy '{"lowload_pct": 30}' >/dev/null
is "without a database a change applies" "$(status) $(get /v1/policy .params.lowload_pct)" "200 30"
restart KILL
is "it survives kill -9 without a database" "$(get /v1/policy .params.lowload_pct)" 30
stop
start --dry-run || exit 1
api PATCH /v1/policy '{"lowload_pct": 20}' >/dev/null
ok "in a dry run, the decision states that the change ends with a restart" that '/v1/decisions?limit=1' "$newest.why | contains(\"restart\")"
restart
is "a dry run changes nothing" "$(get /v1/policy .params.lowload_pct)" 30
finish
