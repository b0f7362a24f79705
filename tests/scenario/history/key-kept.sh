#!/bin/sh
# A repeated POST /v1/vgpus with an idempotency key is not executed again: after kill -9, after the removal of its vGPU
# and a restart, and with a contracts file of an earlier version.
. "$(dirname "$0")/../lib.sh"

start_sim
post() { # post KEY ID CAP
  curl -sS --unix-socket "$sock" -X POST -H "Idempotency-Key: $1" -H 'Content-Type: application/json' \
    -o "$dir/body" -w '%{http_code}' -d "{\"id\": \"$2\", \"initial_cap_pct\": $3}" http://gover/v1/vgpus >"$dir/status"
}
vgpus() { get /v1/vgpus '[.vgpus[].id] | join(" ")'; }
created() { gojq -r --arg id "$1" '.vgpus[] | select(.id == $id) | .created_ms' "$dir/state/contracts.json"; }
again() { # again HOW: repeats the request for vGPU a
  post key-1 a 30
  is "$1: the same key returns the same vGPU" "$(status) $(gojq -r '"\(.id) \(.weight)"' "$dir/body")" "201 a 2"
  post key-1 a 31
  is "$1: another body is rejected" "$(status)" 422
  post key-1 other 30
  is "$1: another vGPU is rejected" "$(status)" 422
  post key-2 a 30
  is "$1: another key is executed, and rejected" "$(status)" 409
}

post key-1 a 30
is "a vGPU is sold" "$(status)" 201
made=$(created a)
restart KILL
api PATCH /v1/vgpus/a '{"weight": 2}' >/dev/null
again "after kill -9"
is "the contract is the same" "$(created a)" "$made"
curl -sS --unix-socket "$sock" -X POST -H "Idempotency-Key: key-1" -H 'Content-Type: application/json' \
  -o "$dir/body" -w '%{http_code}' -d '{"id": "a"}' http://gover/v1/offers/1/claim >"$dir/status"
is "a claim with this key is rejected" "$(status)" 422

# The entry of a vGPU had the key of its sale until version 10 of the file.
post key-3 b 20
stop
gojq '.version = 10 | .keys as $keys | del(.keys, .audit, .ids.audit) | .vgpus |= map(. as $v | ([$keys[] | select(.vgpu == $v.id)][0]) as $key |
  .claim_key = $key.key | .claim_body = $key.body)' "$dir/state/contracts.json" >"$dir/older" &&
  cat "$dir/older" >"$dir/state/contracts.json"
start || exit 1
again "with a file of version 10"
is "the file has the newest version, and the keys" "$(gojq -r '"\(.version) \(.keys | length)"' "$dir/state/contracts.json")" "12 2"

api DELETE /v1/vgpus/a >/dev/null
for how in "the removal" "a restart" "kill -9"; do
  post key-1 a 30
  is "after $how the request is rejected" "$(status) $(gojq -r .detail "$dir/body")" \
    "410 Idempotency-Key: vGPU a, which was sold with key key-1, was removed (use a new key to sell it again)"
  is "after $how no contract returns" "$(vgpus)" b
  case $how in *removal) restart ;; *restart) restart KILL ;; esac
done
post key-4 a 30
is "a new key sells the vGPU again" "$(status)" 201
post key-1 a 30
is "the old key does not return the new vGPU" "$(status)" 410

# A request that failed has no key.
post key-5 a 30
is "a request for an existing vGPU is rejected" "$(status)" 409
post key-5 c 10
is "its key can be used again" "$(status)" 201

# Keys expire by the wall clock.
stop
gojq '(.keys[] | select(.key | endswith(" key-3")) | .created_ms) -= 86400000' "$dir/state/contracts.json" >"$dir/older" &&
  cat "$dir/older" >"$dir/state/contracts.json"
start || exit 1
post key-3 b 20
is "after a day the request is executed, and rejected" "$(status)" 409
finish
