#!/bin/sh
# Every change is recorded in the audit: principal, origin, request, values before and after. Read-only and refused
# requests are not recorded. The audit persists across a restart, is logged, and contains no token.
. "$(dirname "$0")/../lib.sh"

tcp
start_sim
token robot operate
token chief admin
sell a 50 idle
ask robot PATCH /v1/vgpus/a '{"target_fps": 25, "burst": true}' >/dev/null

last() { # last FILTER: applies FILTER to the newest row
  api GET '/v1/audit?limit=1' | gojq -r ".audit[0] | $1"
}

is "a change over TCP is recorded" "$(last '[.who, .from, .method, .path, .status] | join(" ")')" \
  "token robot 127.0.0.1 PATCH /v1/vgpus/a 200"
is "the row has the values before and after" "$(last '[.before, .after] | tostring')" \
  '[{"burst":false,"target_fps":0},{"burst":true,"target_fps":25}]'
api DELETE /v1/vgpus/a >/dev/null
is "a change over the unix socket is recorded with the process" "$(last '.who, (.from | test("^pid [0-9]+$"))' | tr '\n' ' ')" "root true "
is "a removal has values before and none after" "$(last '[.before.initial_cap_pct, .after] | tostring')" '[50,null]'
sell a 40 idle
is "a creation has values after and none before" "$(last '[.before, .after.id, .after.initial_cap_pct, .status] | tostring')" '[null,"a",40,201]'

api PATCH /v1/gpus/gpu0 '{"selling": "off"}' >/dev/null
is "a GPU setting is recorded" "$(last '[.before, .after] | tostring')" '[{"selling":"on"},{"selling":"off"}]'
api PATCH /v1/policy '{"overload_pct": 90}' >/dev/null
is "a policy parameter is recorded" "$(last '[.path, .before, .after] | tostring')" '["/v1/policy",{"overload_pct":95},{"overload_pct":90}]'
api PATCH /v1/gpus/gpu0 '{"selling": "on"}' >/dev/null
ok "an offer is made" until_ok 30 that /v1/offers '.offers[0].state == "open"'
offer=$(get /v1/offers '.offers[0].id')
claim "$offer" key-1 b
is "a sale is recorded" "$(last '[.path, .before, .after] | tostring')" \
  "[\"/v1/offers/$offer/claim\",{\"state\":\"open\",\"vgpu\":null},{\"state\":\"probation\",\"vgpu\":\"b\"}]"
ctl vgpu hold b --cap 10 >/dev/null
is "a hold is recorded" "$(last '.after.held')" true
ok "an alert is raised" until_ok 30 sh -c "curl -sS --unix-socket '$sock' http://gover/v1/alerts | gojq -e '.alerts | length > 0' >/dev/null || {
  curl -sS --unix-socket '$sock' -X PATCH -H 'Content-Type: application/json' -d '{\"labels\": {\"workload\": \"glxgears\"}, \"target_fps\": 9000}' http://gover/v1/vgpus/b >/dev/null; false; }"
alert=$(get /v1/alerts '.alerts[0].id')
ctl ack "$alert" >/dev/null
is "an acknowledgement is recorded" "$(last '[.path, .before.acked_at, (.after.acked_at | type)] | tostring')" "[\"/v1/alerts/$alert/ack\",null,\"string\"]"

rows=$(get '/v1/audit?limit=1000' '.audit | length')
ask robot PATCH /v1/vgpus/a '{"target_fps": -1}' >/dev/null
ask robot GET /v1/tokens >/dev/null
ask '' PATCH /v1/vgpus/a '{"target_fps": 1}' >/dev/null
ask chief GET /v1/audit >/dev/null
is "refused and read-only requests are not recorded" "$(get '/v1/audit?limit=1000' '.audit | length')" "$rows"
is "reading the audit requires the scope admin" "$(ask robot GET /v1/audit) $(ask chief GET /v1/audit)" "403 200"

token extra read
is "a new token is recorded" "$(last '[.path, .before, .after.name, .after.scope] | tostring')" '["/v1/tokens",null,"extra","read"]'
ctl token remove extra >/dev/null
is "a revocation is recorded" "$(last '[.path, .before.scope, .after] | tostring')" '["/v1/tokens/extra","read",null]'
mkdir "$dir/state/tokens.json.new"
api POST /v1/tokens '{"name": "lost", "scope": "admin"}' >/dev/null
is "a failed creation is recorded as no change" "$(last '[.path, .status, .before, .after] | tostring')" '["/v1/tokens",507,null,null]'
api DELETE /v1/tokens/robot >/dev/null
is "a failed revocation is recorded as no change" "$(last '[.path, .status, .before, .after] | tostring')" '["/v1/tokens/robot",507,{},{}]'
rmdir "$dir/state/tokens.json.new"
mkdir "$dir/state/contracts.json.new"
api PATCH /v1/vgpus/a '{"target_fps": 20}' >/dev/null
is "a failed change is recorded as no change" "$(last '[.status, .before, .after] | tostring')" '[507,{},{}]'
rmdir "$dir/state/contracts.json.new"

ctl audit --limit 5 >"$dir/out"
ok "gover-ctl audit prints it" grep -qE ' root +pid [0-9]+ +PATCH /v1/vgpus/a +507( |$)' "$dir/out"
ok "for a token only its name, scope and expiry" grep -qE ' DELETE /v1/tokens/extra +204 +name extra, scope read, expires_at null \(removed\)' "$dir/out"
first=$(get '/v1/audit?limit=1&after=0' '.audit[0].id')
is "after=0 begins with the oldest row" "$first $(get "/v1/audit?limit=1&after=$first" '.audit[0].id - .next_after')" \
  "$(get '/v1/audit?limit=1000' '.audit[0].id') 0"
ok "the log contains each row too" grep -qE 'token robot \(127.0.0.1\): PATCH /v1/vgpus/a: 200$' "$dir/log"
rows=$(get '/v1/audit?limit=1000' '.audit | length')
stop
start --dry-run || exit 1
api PATCH /v1/vgpus/a '{"target_fps": 25}' >/dev/null
is "a dry run records the intended change" "$(last '[.before.target_fps, .after.target_fps] | tostring')" '[0,25]'
is "the metric counts the request once" \
  "$(curl -sS --unix-socket "$sock" http://gover/metrics | grep -c '^gover_http_requests_total{.*method="PATCH".*} 1$')" 1
restart
rows=$((rows + 1))
is "the audit persists across a restart" "$(get '/v1/audit?limit=1000' '.audit | length')" "$rows"
stop
cut -c 5- "$dir/robot.token" "$dir/chief.token" "$dir/extra.token" >"$dir/secrets"
ok "the audit log and the daemon's log contain no token" sh -c "! grep -rFf '$dir/secrets' '$dir/state' '$dir/log'"
finish
