#!/bin/sh
# gover-fleet with a libvirtd and its test driver: contracts follow the life of domains, over events, whole lists and restarts.
. "$(dirname "$0")/../fleet/lib.sh"
need_libvirt
virsh_() { timeout 60 virsh -q -c "test+unix:///default?socket=$dir/libvirt-sock" "$@"; }
uuid2=22222222-2222-3333-4444-555555555555
sim_conf
start_libvirt || exit 1
libvirt_uri="test+unix:///default?socket=$dir/libvirt-sock"
fleet_conf 'hook_timeout_s = 1'
start || exit 1
start_fleet
ok "gover-fleet connects to libvirt" until_ok 20 fleet_is '.libvirt.connected and .libvirt.domains == 1'

# The test driver calls no hook: a domain starts without a claim, as after a hook that failed open.
domain_xml d1 $uuid default >"$dir/d1.xml"
ok "there is an open offer" open_offer
ok "a domain starts" virsh_ create "$dir/d1.xml"
ok "it gets a contract" until_ok 20 sold $uuid
ok "which is counted" until_ok 20 fleet_is '.counts.claimed_later == 1 and .counts.unverified == 0'

# The contract of another program and a domain that wants nothing are left alone.
sell other 10
domain_xml plain 99999999-2222-3333-4444-555555555555 '' >"$dir/plain.xml"
ok "a domain without a wish starts" virsh_ create "$dir/plain.xml"

ok "a domain is defined" sh -c "sed 's/d1</d2</; s/$uuid/$uuid2/' '$dir/d1.xml' >'$dir/d2.xml'"
ok "the definition is accepted" virsh_ define "$dir/d2.xml"
ok "there is an open offer" open_offer
ok "it starts" virsh_ start d2
ok "it gets a contract" until_ok 20 sold $uuid2
ok "it is stopped" virsh_ destroy d2
ok "a stopped domain keeps its contract" sh -c "sleep 2" && sold $uuid2
ok "its definition is removed" virsh_ undefine d2
ok "and its contract ends" until_ok 20 unsold $uuid2
ok "the first domain keeps its contract" sold $uuid
ok "the contract of another program stays" that /v1/vgpus/other '.found == false'
ok "a domain that wants nothing has no contract" unsold 99999999-2222-3333-4444-555555555555

# A domain without an offer is counted as unverified until there is one.
api PATCH /v1/gpus/gpu0 '{"selling": "off"}' >/dev/null
get /v1/offers '.offers[] | select(.state == "open") | .id' | while read -r id; do api DELETE "/v1/offers/$id" >/dev/null; done
ok "draining is a trait" until_ok 20 fleet_is '.wanted[0].draining'
ok "a domain starts while nothing is sold" virsh_ create "$dir/d2.xml"
ok "it is unverified" until_ok 20 fleet_is '.counts.unverified == 1'
ok "it has no contract" unsold $uuid2
api PATCH /v1/gpus/gpu0 '{"selling": "on"}' >/dev/null
ok "it gets a contract with the next offer" until_ok 30 sold $uuid2
ok "and is verified" until_ok 20 fleet_is '.counts.unverified == 0'

# --- libvirtd ends and returns: its test driver then has forgotten all domains ---

stop_libvirt KILL
ok "gover-fleet notices the end of libvirtd" until_ok 20 fleet_is '.libvirt.connected == false'
periods 30
ok "no contract ends while libvirt does not answer" sold $uuid
start_libvirt || exit 1
ok "it connects again" until_ok 20 fleet_is '.libvirt.connected'
ok "contracts of domains that no longer exist end" until_ok 20 unsold $uuid
ok "all of them" until_ok 20 unsold $uuid2
ok "the contract of another program stays" that /v1/vgpus/other '.found == false'

# --- gover-fleet is away while a domain ends, and gover-d while another one ends ---

ok "there is an open offer" open_offer
ok "a domain starts" virsh_ create "$dir/d1.xml"
ok "it gets a contract" until_ok 20 sold $uuid
stop KILL
ok "gover-d is away" until_ok 20 fleet_is '.gover.connected == false'
ok "the domain ends" virsh_ destroy d1
start || exit 1
ok "its contract ends when gover-d returns" until_ok 20 unsold $uuid

# --- a libvirtd that does not answer ---

kill -STOP "$libvirt_pid"
domain_xml d3 33333333-2222-3333-4444-555555555555 default >"$dir/d3.xml"
ok "there is an open offer" open_offer
hook d3 <"$dir/d3.xml"
is "a libvirtd that hangs delays no claim" "$hook_status" 0
ok "the contract is in force" sold 33333333-2222-3333-4444-555555555555
began=$(date +%s)
stop_fleet
is "gover-fleet ends although libvirtd hangs" "$stopped" 0
ok "within 10 s" test $(($(date +%s) - began)) -le 10
kill -CONT "$libvirt_pid"
start_fleet
ok "the contract of a domain that never came ends" until_ok 30 unsold 33333333-2222-3333-4444-555555555555
stop_fleet
is "the daemon ends" "$stopped" 0
finish
