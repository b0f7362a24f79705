#!/bin/sh
# Bad input: each error names the field, and nothing is changed.
. "$(dirname "$0")/../lib.sh"

start_sim
sell a 50

refused() { # refused "text" STATUS WORD BODY
  api POST /v1/vgpus "$4" >/dev/null
  is "$1: $2" "$(status)" "$2"
  ok "$1: the answer names it" grep -q -- "$3" "$dir/body"
}
refused "a cap of 0" 422 initial_cap_pct '{"id": "x", "initial_cap_pct": 0}'
refused "a cap of -1" 422 initial_cap_pct '{"id": "x", "initial_cap_pct": -1}'
refused "a cap of 101" 422 initial_cap_pct '{"id": "x", "initial_cap_pct": 101}'
refused "a cap that is NaN" 400 JSON '{"id": "x", "initial_cap_pct": NaN}'
refused 'a cap of "ten"' 422 ten '{"id": "x", "initial_cap_pct": "ten"}'
refused "half a percent" 422 initial_cap_pct '{"id": "x", "initial_cap_pct": 12.5}'
refused "no cap" 422 initial_cap_pct '{"id": "x"}'
refused "a duplicate vGPU" 409 "vGPU a" '{"id": "a", "initial_cap_pct": 50}'
refused "an id that is a path" 422 id '{"id": "../x", "initial_cap_pct": 50}'
refused "an unknown field" 422 colour '{"id": "x", "initial_cap_pct": 50, "colour": "red"}'
refused "an unknown GPU" 422 gpu9 '{"id": "x", "gpu": "gpu9", "initial_cap_pct": 50}'
refused "an unknown workload" 422 workload '{"id": "x", "initial_cap_pct": 50, "labels": {"workload": "quake"}}'
refused "not JSON" 400 JSON 'cap=50'
refused "not an object" 400 object '[1, 2]'
refused "a duplicate key" 400 duplicate '{"id": "x", "id": "y", "initial_cap_pct": 50}'
head -c 10000000 /dev/zero | tr '\0' ' ' >"$dir/big"
code=$(curl -sS --unix-socket "$sock" -X POST -H 'Content-Type: application/json' -o "$dir/body" -w '%{http_code}' \
  --data-binary "@$dir/big" http://gover/v1/vgpus 2>/dev/null)
is "a body of 10 MB is rejected" "$code" 413
is "rejected requests create no vGPU" "$(get /v1/vgpus '[.vgpus[].id] | join(" ")')" a
is "rejected requests write no contract" "$(gojq -r '[.vgpus[].id] | join(" ")' "$dir/state/contracts.json")" a
api PATCH /v1/policy '{"overload_pct": 200, "lowload_pct": 50}' >/dev/null
is "an invalid parameter is rejected" "$(status)" 422
is "an invalid parameter changes no other" "$(get /v1/policy '.differs | length')" 0
api GET /v1/nothing >/dev/null
is "an unknown path is not found" "$(status)" 404
api PUT /v1/vgpus '{}' >/dev/null
is "an unknown method is not allowed" "$(status)" 405
api DELETE /v1/vgpus/nobody >/dev/null
is "an unknown vGPU is not found" "$(status)" 404
ctl vgpu add y --cap ten >"$dir/out" 2>&1
is "gover-ctl rejects an invalid cap without a request" "$?" 2
"$B/gover-ctl" --socket "$dir/no.sock" status >"$dir/out" 2>&1
is "a missing daemon has its own exit status" "$?" 3
ok "the message names the socket" grep -q "$dir/no.sock" "$dir/out"
stop

echo 'colour = red' >>"$conf"
"$B/gover-d" --config "$conf" >"$dir/out" 2>&1
is "an unknown key prevents the start" "$?" 1
ok "the error names file and line" grep -q "$conf:[0-9]*: .*colour" "$dir/out"
finish
