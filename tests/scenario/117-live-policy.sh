#!/bin/sh
# The policy is changed while it runs: each change is in force in the next period, is a decision that says what was
# before, outlives a restart, and where the database cannot keep it says that too.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

conf_extra='[policy]
lowload_pct = 55
[offer]
max_vgpus = 2'
sim_conf
start || exit 1
newest='.decisions[-1]'
sell a 80 frame:gpu_ms=2,cpu_ms=20 '"target_fps": 60'
sell b 20 idle
# a is short of its target and its GPU is nearly idle: its own doing, unless the policy is the paper's.
ok "short, but not of GPU time" until_ok 20 that /v1/alerts '[.alerts[].name] | index("qos_not_gpu_bound") != null'
is "it raises no signal" "$(get /v1/vgpus/a '"\(.short) \(.overloaded)"')" "true false"
api PATCH /v1/policy '{"paper_mode": true, "steal_fraction": 0.25}' >/dev/null
is "paper mode is switched on" "$(status) $(jq -r '.params.paper_mode' "$dir/body")" "200 true"
is "one decision tells it, for no GPU and no vGPU" "$(get '/v1/decisions?limit=1' "$newest | \"\(.kind) \(.result) \(.gpu) \(.vgpu)\"")" "set noted  null"
ok "with what was before" that '/v1/decisions?limit=1' "$newest.why | contains(\"paper_mode off -> on\") and contains(\"steal_fraction 0.2 -> 0.25\")"
ok "and it is in force: the same reading is a signal now" until_ok 10 that /v1/vgpus/a .overloaded
id=$(get '/v1/decisions?limit=1' "$newest.id")
api PATCH /v1/policy '{"paper_mode": true}' >/dev/null
is "what stays as it was is no decision" "$(get "/v1/decisions?after=$id" '[.decisions[] | select(.kind == "set")] | length')" 0
api PATCH /v1/policy '{"name": "quake"}' >/dev/null
is "a policy there is none of is refused" "$(status)" 422
ok "by name" grep -q quake "$dir/body"
api PATCH /v1/policy '{"name": "gover", "lowload_pct": 40}' >/dev/null
is "the policy there is can be named" "$(status)" 200
# What the next policy would have otherwise is moved in its first period.
api PATCH /v1/policy '{"name": "static"}' >/dev/null
ok "another takes over: half of each contract" until_ok 10 that /v1/vgpus/a '.cap_pct == 40'
is "of all" "$(get /v1/vgpus/b .cap_pct)" 10
is "by one decision" "$(get '/v1/decisions?limit=1' "$newest | \"\(.kind) \(.result) \(.moves | length)\"")" "share written 2"
api PATCH /v1/policy '{"name": "none"}' >/dev/null
ok "and another: equal shares, none above its contract" until_ok 10 that /v1/vgpus/a '.cap_pct == 80'
is "of all" "$(get /v1/vgpus/b .cap_pct)" 20
for name in credit fair p99 nsigma max gover; do
  api PATCH /v1/policy "{\"name\": \"$name\"}" >/dev/null
  is "$name takes over as well" "$(status) $(get /v1/policy .params.name)" "200 $name"
  ticks=$(get /v1/host .ticks)
  ok "and the host goes on" until_ok 10 that /v1/host ".ticks > $ticks + 1"
done
is "all caps are within the GPU" "$(get /v1/vgpus '[.vgpus[].cap_pct] | add <= 100')" true
stop
start || exit 1
is "over a restart the changes stand" "$(get /v1/policy '.params | "\(.paper_mode) \(.steal_fraction) \(.lowload_pct)"')" "true 0.25 40"
is "and are marked" "$(get /v1/policy '.differs | sort | join(" ")')" "lowload_pct paper_mode steal_fraction"
ok "in force" until_ok 10 that /v1/vgpus/a .overloaded
api PATCH /v1/policy '{"paper_mode": null, "lowload_pct": null, "steal_fraction": null}' >/dev/null
is "null is the file's value" "$(get /v1/policy '"\(.params.lowload_pct) \(.differs | length)"')" "55 0"
ok "in force at once" until_ok 10 that /v1/vgpus/a '.overloaded == false'
stop
start || exit 1
is "that, too, outlives a restart" "$(get /v1/policy '.differs | length')" 0
stop

rm -f "$dir"/state/history.db*
mkdir "$dir/state/history.db"
start || exit 1
api PATCH /v1/policy '{"lowload_pct": 30}' >/dev/null
is "without a database it is in force" "$(status) $(get /v1/policy .params.lowload_pct)" "200 30"
ok "and its decision says how long" that '/v1/decisions?limit=1' "$newest.why | contains(\"restart\")"
stop
finish
