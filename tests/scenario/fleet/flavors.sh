#!/bin/sh
# An offer of two flavours in fake-placement.py: two buyers of different classes want it, and one gets it. A buyer without a
# unit of the common class takes an offer, too; two such buyers of one offer are a leak.
. "$(dirname "$0")/../fleet/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
conf_extra='[policy]
name = static
static_ratio = 1
[offer]
flavor = half
flavor_cap_pct = 50
ttl_s = 600
probation_s = 1
[flavor quarter]
cap_pct = 25
offered = on'
server() { printf '%s-2222-3333-4444-555555555555' "$1$1$1$1$1$1$1$1"; }
cloud() { # cloud METHOD PATH [BODY]: prints the status; the answer is in $dir/cloud
  curl -sS -m 10 -o "$dir/cloud" -w '%{http_code}' -X "$1" -H 'X-Auth-Token: admin' ${3+-H 'Content-Type: application/json' -d "$3"} "$cloud_url$2"
}
provider() { # provider FILTER: prints a value of the provider of gpu0
  cloud GET /_fake/state >/dev/null
  gojq -r ".providers[] | select(.name == \"node-1_gover_gpu0\") | $1" "$dir/cloud"
}
slots() { # prints "CLASS total-reserved ..."
  provider '.inventories | to_entries | sort_by(.key) | map("\(.key | sub("CUSTOM_GOVER_SLOT_?"; "") | if . == "" then "all" else . end) \(.value.total)-\(.value.reserved)") | join(", ")'
}
shows() { [ "$(slots)" = "$1" ]; }
allocate() { # allocate SERVER CLASS [COMMON]: allocates a slot, as Nova does for a flavor with or without the common class
  number=$(provider .uuid)
  cloud PUT "/allocations/$(server "$1")" "{\"allocations\": {\"$number\": {\"resources\": {\"CUSTOM_GOVER_SLOT_$2\": 1${3:+, \"CUSTOM_GOVER_SLOT\": 1}}}}}"
}
starts() { # starts SERVER: runs the hook for a server of Nova that has no extra specs; prints the exit status
  cat >"$dir/domain.xml" <<EOF
<domain type='test'><name>$1</name><uuid>$(server "$1")</uuid><os><type>hvm</type></os><metadata>
<nova:instance xmlns:nova='http://openstack.org/xmlns/libvirt/nova/1.1'><nova:flavor name='g'/></nova:instance></metadata></domain>
EOF
  hook "$1" <"$dir/domain.xml"
  echo "$hook_status"
}
contract() { get "/v1/vgpus/$(server "$1")" '"\(.flavor) \(.initial_cap_pct)"'; }
leave() { # leave SERVER: ends its contract and its allocation
  api DELETE "/v1/vgpus/$(server "$1")" >/dev/null
  cloud DELETE "/allocations/$(server "$1")" >/dev/null
}

sim_conf
start_placement || exit 1
cloud POST /_fake/root '{"name": "node-1"}' >/dev/null
fleet_conf 'hook_timeout_s = 4
on_failure = closed'
placement_conf
start || exit 1
start_fleet

ok "an offer counts for each of its flavours, and once in the common class" until_ok 30 shows "all 1-0, HALF 1-0, QUARTER 1-0"
is "a buyer of the small flavour gets it" "$(allocate 1 QUARTER common)" 204
is "a buyer of the other flavour is refused by Placement" "$(allocate 2 HALF common)" 409
is "the first server may start" "$(starts 1)" 0
is "it has the flavour of its allocation, though the other one led the offer" "$(contract 1)" "quarter 25"
ok "the next offer lists both flavours again" until_ok 30 shows "all 2-0, HALF 1-0, QUARTER 2-0"
is "now the other buyer gets it" "$(allocate 2 HALF common) $(starts 2) $(contract 2)" "204 0 half 50"
ok "with little room, only the small flavour is offered" until_ok 30 shows "all 3-0, HALF 1-0, QUARTER 2-0"
is "a further buyer of the large one is refused" "$(allocate 3 HALF common)" 409

is "a flavor without the common class takes an offer" "$(allocate 4 QUARTER)" 204
ok "for which a unit of the common class is reserved" until_ok 90 shows "all 3-1, HALF 1-0, QUARTER 2-0"
is "so that no other buyer gets this offer" "$(allocate 5 QUARTER common)" 409
is "its server may start" "$(starts 4) $(contract 4)" "0 quarter 25"
ok "without an offer, all slots are those of contracts" until_ok 30 shows "all 3-1, HALF 1-0, QUARTER 2-0"

leave 2
ok "after a server has left, both flavours are offered" until_ok 90 shows "all 3-1, HALF 1-0, QUARTER 3-0"
is "two flavors without the common class can take one offer" "$(allocate 6 HALF) $(allocate 7 QUARTER)" "204 204"
ok "this is a leak" until_ok 90 fleet_is '.cloud.leaks == 1'
ok "of the common class" until_ok 20 that /v1/fleet '[.leaks[] | "\(.flavor) \(.used) \(.sold)"] == ["CUSTOM_GOVER_SLOT 4 3"]'
ok "no further slot of the common class is left" until_ok 20 shows "all 3-3, HALF 1-0, QUARTER 3-0"
is "one of both servers starts" "$(starts 6) $(contract 6)" "0 half 50"
ok "the leak remains while the other one has its allocation" until_ok 20 fleet_is '.cloud.leaks == 1'
leave 7
ok "and ends with it" until_ok 90 fleet_is '.cloud.leaks == 0'
stop_fleet
finish
