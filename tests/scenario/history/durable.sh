#!/bin/sh
# Each route that changes something, on a disk that fails in each step of a durable write: the answer is 507, and nothing
# has changed, now and after kill -9. Once the disk works, the answer is 2xx, and the change survives kill -9.
. "$(dirname "$0")/../faults.sh"

conf_extra="[gpu gpu1]
backend = sim
speed = 10
root = $dir/poke1
[gpu gpu2]
backend = sim
speed = 10
root = $dir/poke2
[gpu gpu3]
backend = sim
speed = 10
root = $dir/poke3
[offer]
flavor_cap_pct = 10
ttl_s = 86400
probation_s = 1"
mkdir "$dir/poke1" "$dir/poke2" "$dir/poke3"
sim_conf

crash() { # kill -9 and a restart
  restart KILL
}

fail_disk() { # fail_disk EFFECT STEP FILE: makes the durable writes of FILE fail in this step
  case $2 in
  write | sync) fault "$2" "*/$3.new" "$1" ;;
  rename) fault rename "*/$3" "$1" ;;
  sync_folder) fault sync '*/state' "$1" ;;
  esac
}

# The changing routes as "method path | file | body | answer | filter". After the change, the filter is true for the
# state that print_state prints. $i is the number of the round. A key that decides about admission would close the held offer.
routes() {
  cat <<END
PATCH /v1/gpus/gpu1|contracts|{"mode": "$([ $((i % 2)) -eq 0 ] && echo act || echo frozen)"}|200|.gpus[1].mode == "$([ $((i % 2)) -eq 0 ] && echo act || echo frozen)"
POST /v1/vgpus|contracts|{"id": "new$i", "gpu": "gpu1", "initial_cap_pct": 5}|201|.vgpus | has("new$i")
PATCH /v1/vgpus/a|contracts|{"initial_cap_pct": $((30 + i)), "target_fps": $i, "labels": {"round": "$i"}}|200|.vgpus.a | .initial_cap_pct == 30 + $i and .target_fps == $i and .labels.round == "$i"
PATCH /v1/vgpus/b|contracts|{"held": true, "held_cap_pct": $((10 + i))}|200|.vgpus.b | .held and .held_cap_pct == 10 + $i
PATCH /v1/vgpus/b/contract|contracts|{"weight": $((2 + i)), "target_fps": $((10 + i))}|200|.vgpus.b | .weight == 2 + $i and .target_fps == 10 + $i
DELETE /v1/vgpus/old$i|contracts||204|.vgpus | has("old$i") | not
POST /v1/alerts/$alert/ack|contracts||200|.acked | index($alert) != null
POST /v1/silences|contracts|{"vgpu": "a", "until": "$later", "reason": "new$i"}|201|.silences | index("new$i") != null
DELETE /v1/silences/$silence|contracts||204|.silences | index("old$i") == null
POST /v1/offers/$(offer_of gpu3)/hold|contracts|{"holder": "vm$i", "ttl_s": 600}|200|.held | index("vm$i") != null
POST /v1/offers/$(offer_of gpu0)/claim|contracts|{"id": "sold$i"}|200|.vgpus | has("sold$i")
DELETE /v1/offers/$(offer_of gpu2)|contracts||204|.open | index($(offer_of gpu2)) == null
PATCH /v1/policy|contracts|{"probation_s": $((1 + i)), "ttl_s": $((1000 + i))}|200|.policy | .probation_s == 1 + $i and .ttl_s == 1000 + $i
POST /v1/tokens|tokens|{"name": "new$i", "scope": "read"}|201|.tokens | index("new$i") != null
DELETE /v1/tokens/old$i|tokens||204|.tokens | index("old$i") == null
END
}

later=$(date -u -d '+1 day' +%Y-%m-%dT%H:%M:%SZ)
offer_of() { get /v1/offers "[.offers[] | select(.gpu == \"$1\" and .state == \"open\")][0].id // 0"; }
has_offer() { [ "$(offer_of "$1")" != 0 ]; }
limited() { get /v1/alerts "[.alerts[] | select(.name == \"contract_limit\" and .vgpu == \"hog$i\")][0].id // 0"; }
is_limited() { [ "$(limited)" != 0 ]; }

print_state() { # prints what clients have changed, and the open offers, in one object
  curl -sS --unix-socket "$sock" "http://gover/v1/{vgpus,gpus,silences,tokens,policy,alerts?all=true,offers?all=true}" |
    gojq -n '[inputs] | add | {
    vgpus: (.vgpus | map({key: .id, value: {gpu, vm, labels, initial_cap_pct, min_cap_pct, target_fps, fps_limit, weight,
      burst, flavor, held, held_cap_pct: (if .held then .cap_pct else null end), found}}) | from_entries),
    gpus: (.gpus | map({name, mode, selling})), policy: .params,
    silences: (.silences | map(.reason)), tokens: (.tokens | map(.name)), acked: (.alerts | map(select(.acked_at) | .id)),
    sold: (.offers | map(select(.vgpu) | {id, vgpu})),
    withdrawn: (.offers | map(select((.reason // "") | contains("withdrawn")) | .id)),
    held: (.offers | map(.held_by // empty)), open: (.offers | map(select(.state == "open") | .id))}'
}

prepare() { # creates what the round removes, acknowledges and claims
  api POST /v1/vgpus "{\"id\": \"old$i\", \"gpu\": \"gpu1\", \"initial_cap_pct\": 5}" >/dev/null
  api POST /v1/vgpus "{\"id\": \"hog$i\", \"gpu\": \"gpu0\", \"initial_cap_pct\": 2, \"labels\": {\"workload\": \"load:pct=100\"}}" >/dev/null
  silence=$(api POST /v1/silences "{\"vgpu\": \"b\", \"until\": \"$later\", \"reason\": \"old$i\"}" | gojq .id)
  api POST /v1/tokens "{\"name\": \"old$i\", \"scope\": \"read\"}" >/dev/null
  until_ok 60 is_limited || return 1
  alert=$(limited)
  for selling in off on; do # closes an offer that is held since the round before
    api PATCH /v1/gpus/gpu3 "{\"selling\": \"$selling\"}" >/dev/null
  done
  wait_for_offers
}

wait_for_offers() { until_ok 60 has_offer gpu0 && until_ok 60 has_offer gpu2 && until_ok 60 has_offer gpu3; }

each_route() { # each_route COMMAND: calls COMMAND METHOD PATH FILE BODY ANSWER FILTER for each route of $dir/routes
  while IFS='|' read -r route file body answer filter <&3; do
    "$1" "${route% *}" "${route#* }" "$file" "$body" "$answer" "$filter"
  done 3<"$dir/routes"
}

same() { # same A B: compares two states, without the offers, which the daemon opens and closes
  for file in "$1" "$2"; do gojq 'del(.open)' "$file" >"$file.durable"; done
  diff "$1.durable" "$2.durable"
}

is_refused() {
  print_state >"$dir/before"
  fail_disk "$effect" "$step" "$3.json"
  api "$1" "$2" ${4:+"$4"} >"$dir/answer"
  is "$effect in $step: $1 $2 is answered with 507" "$(status) $(gojq -r .status "$dir/answer")" "507 507"
  print_state >"$dir/after"
  fault clear
  ok "$effect in $step: $1 $2 changes nothing" same "$dir/before" "$dir/after"
}

is_true() { print_state | gojq -e "$1"; }

is_accepted() {
  api "$1" "$2" ${4:+"$4"} >"$dir/answer"
  is "after $effect in $step: $1 $2 is accepted" "$(status)" "$5"
  ok "$1 $2 is in force" is_true "$6"
}

is_kept() { ok "after kill -9: $1 $2 is in force" gojq -e "$6" "$dir/kept"; }

# Each route of the program that is not a GET must be in the list above. Reports of gover-fleet are not stored in a file: the
# fleet's state is in memory only, and a migration is a decision.
is_listed() { # is_listed METHOD PATTERN
  grep -q "^$1 $(echo "$2" | sed 's|{[a-z]*}|[^/\|]*|g')|" "$dir/routes"
}

start || exit 1
for id in a b; do
  api POST /v1/vgpus "{\"id\": \"$id\", \"gpu\": \"gpu0\", \"initial_cap_pct\": 30}" >/dev/null
done
i=0
for how in "ENOSPC write" "EIO sync" "EIO rename" "EIO sync_folder"; do
  effect=${how% *} step=${how#* } i=$((i + 1))
  ok "round $i is prepared" prepare
  routes >"$dir/routes"
  each_route is_refused
  print_state >"$dir/before"
  crash
  print_state >"$dir/after"
  ok "$effect in $step: after kill -9, no refused change is in force" same "$dir/before" "$dir/after"
  ok "offers are open again" wait_for_offers
  routes >"$dir/routes" # the offers have other ids now
  each_route is_accepted
  crash
  print_state >"$dir/kept"
  each_route is_kept
done
fault write '*/caps' ENOSPC
api POST /v1/vgpus '{"id": "full", "gpu": "gpu0", "initial_cap_pct": 5}' >/dev/null
is "a vGPU whose cap cannot be stored" "$(status)" 507
ok "the detail names the cause" gojq -e '.detail | contains("No space left on device")' "$dir/body"
is "the vGPU is not created" "$(get /v1/vgpus/full .status)" 404
fault clear
sed -n 's/.*{"\(POST\|PATCH\|PUT\|DELETE\)", "\(\/[^"]*\)", .*/\1 \2/p' "$top"/gover-d/api/resource/*.c >"$dir/patterns"
ok "the program has changing routes" test -s "$dir/patterns"
sed -i '/^PUT \/v1\/fleet$/d; /^POST .*\/migration$/d' "$dir/patterns"
while read -r method pattern; do
  ok "$method $pattern is tested" is_listed "$method" "$pattern"
done <"$dir/patterns"
finish
