#!/bin/sh
# gover-fleet between gover-d, libvirt's test driver and fake-placement.py: publishing, claims by allocation, verification,
# leaks, a cloud that is away, and the withdrawal.
. "$(dirname "$0")/../fleet/lib.sh"
need_libvirt
virsh_() { timeout 60 virsh -q -c "test+unix:///default?socket=$dir/libvirt-sock" "$@"; }
uuid2=22222222-2222-3333-4444-555555555555
uuid3=33333333-2222-3333-4444-555555555555
cloud() { # cloud METHOD PATH [BODY]: sends a request to the cloud
  curl -sS -m 10 -X "$1" -H 'X-Auth-Token: admin' ${3+-H 'Content-Type: application/json' -d "$3"} "$cloud_url$2"
}
provider() { # provider FILTER: succeeds if the gojq filter returns true for the provider of gpu0
  cloud GET /_fake/state | gojq -e ".providers[] | select(.name == \"node-1_gover_gpu0\") | $1" >/dev/null
}
total() { provider ".inventories.CUSTOM_GOVER_SLOT_DEFAULT | .total - .reserved == $1"; }
allocate() { # allocate UUID: allocates a slot of gpu0, as Nova does
  number=$(cloud GET /_fake/state | gojq -r '.providers[] | select(.name == "node-1_gover_gpu0") | .uuid')
  cloud PUT "/allocations/$1" "{\"allocations\": {\"$number\": {\"resources\": {\"CUSTOM_GOVER_SLOT_DEFAULT\": 1}}}}" >/dev/null
}
nova_xml() { # nova_xml NAME UUID: a server of a Nova that writes no extra specs
  cat <<EOF
<domain type='test'><name>$1</name><uuid>$2</uuid><memory unit='MiB'>32</memory><os><type>hvm</type></os><metadata>
<nova:instance xmlns:nova='http://openstack.org/xmlns/libvirt/nova/1.1'><nova:name>web</nova:name>
<nova:flavor name='g.default'/><nova:owner><nova:project uuid='p'>shop</nova:project></nova:owner></nova:instance></metadata></domain>
EOF
}
sim_conf
start_placement || exit 1
start_libvirt || exit 1
hold_domains
libvirt_uri="test+unix:///default?socket=$dir/libvirt-sock"
fleet_conf 'hook_timeout_s = 2
on_failure = closed'
placement_conf
start || exit 1
start_fleet

# --- publishing ---

ok "without a compute node it waits" until_ok 20 fleet_is '.cloud.state == "waiting"'
cloud POST /_fake/root '{"name": "node-1"}' >/dev/null
ok "with the compute node it publishes" until_ok 30 fleet_is '.cloud.state == "published"'
ok "an offer is sold by the cloud" until_ok 30 total 1
ok "gover-d knows it" until_ok 20 that /v1/fleet ".state == \"published\" and .cloud == \"$cloud_url\""
ok "the policy is a trait" provider '.traits | index("CUSTOM_GOVER_POLICY_GOVER")'

# --- a server of Nova: only its allocation names the slot ---

nova_xml d1 $uuid >"$dir/d1.xml"
hook d1 <"$dir/d1.xml"
is "a server without an allocation is none of gover's" "$hook_status" 0
ok "and gets no contract" unsold $uuid
allocate $uuid
hook d1 <"$dir/d1.xml"
is "a server with an allocation may start" "$hook_status" 0
ok "its contract has its name, project and flavour" that "/v1/vgpus/$uuid" \
  '.labels | .instance == "web" and .project == "shop" and .flavor == "g.default" and .unverified == null'
ok "it starts" virsh_ create "$dir/d1.xml"
ok "the slot is sold" until_ok 20 fleet_is '.wanted[0].classes[0].contracts == 1 and .counts.unverified == 0'

# --- a leak ---

ok "there is an open offer" open_offer
allocate $uuid2
ok "an allocation of an offer is no leak" until_ok 20 fleet_is '.cloud.leaks == 0'
api PATCH /v1/gpus/gpu0 '{"selling": "off"}' >/dev/null
get /v1/offers '.offers[] | select(.state == "open") | .id' | while read -r id; do api DELETE "/v1/offers/$id" >/dev/null; done
ok "an allocation without contract and offer is a leak" until_ok 30 fleet_is '.cloud.leaks == 1'
ok "which gover-d reports" until_ok 30 alerts 1 fleet_leak
ok "with the name of its flavour" that /v1/fleet '.leaks | length == 1 and .[0].flavor == "default"'
nova_xml d2 $uuid2 >"$dir/d2.xml"
hook d2 <"$dir/d2.xml"
is "its server is refused" "$hook_status" 1
cloud DELETE "/allocations/$uuid2"
api PATCH /v1/gpus/gpu0 '{"selling": "on"}' >/dev/null
ok "it is removed by the cloud, not by gover" until_ok 90 fleet_is '.cloud.leaks == 0'

# --- an allocation that waits for its domain ---

offer_is() { # offer_is FILTER: succeeds if the gojq filter returns true for the offer $offer
  that '/v1/offers?all=true' "[.offers[] | select(.id == $offer)][0] | $1"
}
next_offer() { # next_offer: sets offer, an open one without a holder
  until_ok 30 that /v1/offers '[.offers[] | select(.state == "open" and .held_by == null)] | length > 0' &&
    offer=$(get /v1/offers '[.offers[] | select(.state == "open")][0].id')
}
withdrawn() { total 1 && offer_is '.state == "open"'; }
api PATCH /v1/policy '{"ttl_s": 20}' >/dev/null
is "offers live for 20 seconds" "$(status) $(get /v1/policy .params.ttl_s)" "200 20"
get /v1/offers '.offers[] | select(.state == "open") | .id' | while read -r id; do api DELETE "/v1/offers/$id" >/dev/null; done
ok "there is an offer" next_offer
ok "it is published" until_ok 30 total 2
ok "without an allocation it is withdrawn before it expires" until_ok 30 withdrawn
ok "and is no leak" fleet_is '.cloud.leaks == 0'
api PATCH /v1/policy '{"ttl_s": 8}' >/dev/null
ok "it expires" until_ok 30 offer_is '.state == "expired"'
is "no offer was held" "$(grep -c 'is held for' "$dir/fleet.log")" 0
ok "there is another offer" next_offer
ok "it is published, too" until_ok 30 total 2
allocate $uuid3
ok "the allocation uses the offer" provider '.used.CUSTOM_GOVER_SLOT_DEFAULT == 2'
ok "the offer is held for its server" until_ok 30 offer_is ".held_by == \"$uuid3/$offer\""
sleep 9
ok "it outlives its time" offer_is '.state == "open"'
ok "and is no leak either" fleet_is '.cloud.leaks == 0'
nova_xml d3 $uuid3 >"$dir/d3.xml"
hook d3 <"$dir/d3.xml"
is "its server may start" "$hook_status" 0
ok "with this offer" offer_is ".vgpu == \"$uuid3\""
api DELETE "/v1/vgpus/$uuid3" >/dev/null
cloud DELETE "/allocations/$uuid3"
api PATCH /v1/policy '{"ttl_s": 60}' >/dev/null

# --- the cloud is away ---

ok "there is an open offer" open_offer
allocate $uuid2
kill -STOP "$cloud_pid"
hook d2 <"$dir/d2.xml"
is "a server of Nova cannot be judged: closed refuses" "$hook_status" 1
sed "s|<nova:flavor name='g.default'/>|<nova:flavor name='g.default'><nova:extraSpecs><nova:extraSpec \
name='resources:CUSTOM_GOVER_SLOT_DEFAULT'>1</nova:extraSpec></nova:extraSpecs></nova:flavor>|" "$dir/d2.xml" >"$dir/d2-specs.xml"
hook d2 <"$dir/d2-specs.xml"
is "with extra specs it may start" "$hook_status" 0
ok "unverified" that "/v1/vgpus/$uuid2" '.labels.unverified == "yes"'
ok "the domain starts" virsh_ create "$dir/d2-specs.xml"
ok "it is counted" until_ok 30 fleet_is '.counts.unverified == 1 and .cloud.state == "unreachable"'
ok "gover-d has alerts about both" until_ok 30 sh -c "curl -s --unix-socket '$sock' http://gover/v1/alerts |
  gojq -e '[.alerts[].name] | index(\"fleet_unverified\") and index(\"fleet_unreachable\")'"
kill -CONT "$cloud_pid"
ok "it is verified when the cloud returns" until_ok 30 that "/v1/vgpus/$uuid2" '.labels | .unverified == null and .instance == "web"'
ok "and published" until_ok 30 fleet_is '.counts.unverified == 0 and .cloud.state == "published"'

# --- withdrawal ---

ok "there is an open offer" until_ok 60 total 3
stop_fleet
"$B/gover-fleet" --config "$fleet_conf_file" --withdraw
is "the withdrawal succeeds" $? 0
ok "contracts stay in the cloud, offers do not" total 2
start_fleet
ok "the next start offers again" until_ok 60 total 3
stop KILL
ok "without gover-d the offers stay for their life" total 3
stop_fleet
"$B/gover-fleet" --config "$fleet_conf_file" --withdraw
is "the withdrawal succeeds without gover-d" $? 0
ok "what is allocated stays" total 2
kill -KILL "$cloud_pid"
"$B/gover-fleet" --config "$fleet_conf_file" --withdraw 2>"$dir/err"
is "without the cloud it fails" $? 1
ok "and says why" grep -q Placement "$dir/err"
finish
