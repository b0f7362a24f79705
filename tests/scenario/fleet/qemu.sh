#!/bin/sh
# A sale through libvirt's hook with QEMU: the contract is in force before the guest's first instruction, and ends with the domain.
. "$(dirname "$0")/../fleet/lib.sh"
need_libvirt
command -v qemu-system-x86_64 >/dev/null || skip_all "no qemu-system-x86_64"
virsh_() { timeout 60 virsh -q -c "qemu:///system?socket=$dir/libvirt-sock" "$@"; }
sim_conf
libvirt_uri="qemu:///system?socket=$dir/libvirt-sock"
fleet_conf 'hook_timeout_s = 2
on_failure = closed'
start_libvirt || exit 1
virsh_ list >/dev/null 2>&1 || skip_all "libvirtd has no driver for QEMU"
start || exit 1
start_fleet
ok "gover-fleet connects to libvirt" until_ok 20 fleet_is '.libvirt.connected'
ok "there is an open offer" open_offer

domain_xml d1 $uuid default qemu >"$dir/d1.xml"
ok "a domain starts" virsh_ create "$dir/d1.xml"
ok "it runs" sh -c "virsh -q -r -c 'qemu:///system?socket=$dir/libvirt-sock' domstate d1 | grep -q running"
ok "it has a contract" sold $uuid
created=$(get "/v1/vgpus/$uuid" .created_at)
began=$(sed -n 's/^\([0-9-]* [0-9:.]*\)+0000: starting up.*/\1/p' "$dir/ns/var/log/libvirt/qemu/d1.log")
ok "the contract was made before QEMU was started" test "$(date -d "$created" +%s%3N)" -le "$(date -u -d "$began" +%s%3N)"
ok "gover-fleet did not claim later" fleet_is '.counts.hook_claimed == 1 and .counts.claimed_later == 0'
ok "the domain ends" virsh_ destroy d1
ok "and its contract ends" until_ok 20 unsold $uuid

# Refused: libvirt does not start the domain.
domain_xml d2 22222222-2222-3333-4444-555555555555 unknown qemu >"$dir/d2.xml"
virsh_ create "$dir/d2.xml" >"$dir/out" 2>&1
is "a domain without an offer does not start" $? 1
ok "libvirt has the reason" grep -q 'no open offer of CUSTOM_GOVER_SLOT_UNKNOWN' "$dir/out"
is "the domain does not exist" "$(virsh_ list --all --name | tr -d '\n')" ''

# A persistent domain keeps its contract while it is defined.
ok "there is an open offer" open_offer
ok "a domain is defined" virsh_ define "$dir/d1.xml"
ok "it starts" virsh_ start d1
ok "it has a contract" sold $uuid
ok "it is stopped" virsh_ destroy d1
periods 30
ok "a stopped domain keeps its contract" sold $uuid
ok "it starts again" virsh_ start d1
is "with the same contract" "$(get /v1/vgpus '[.vgpus[].id] | join(" ")')" $uuid

# The guest survives a restart of libvirtd, and so does its contract.
stop_libvirt KILL
start_libvirt || exit 1
ok "gover-fleet connects again" until_ok 30 fleet_is '.libvirt.connected'
periods 30
ok "the contract stays" sold $uuid
ok "the domain ends" virsh_ destroy d1
ok "its definition is removed" virsh_ undefine d1
ok "the contract ends" until_ok 20 unsold $uuid

# gover-fleet is killed while the hook waits: closed refuses, and no contract remains.
ok "there is an open offer" open_offer
kill -STOP "$daemon_pid"
timeout 60 virsh -q -c "qemu:///system?socket=$dir/libvirt-sock" create "$dir/d1.xml" >"$dir/out" 2>&1 &
creating=$!
sleep 1
kill -KILL "$fleet_pid"
wait "$fleet_pid" 2>/dev/null
kill -CONT "$daemon_pid"
wait $creating
is "the domain does not start" $? 1
start_fleet
ok "no contract remains without its domain" until_ok 30 unsold $uuid
ok "there is an open offer" open_offer
ok "the domain starts afterwards" virsh_ create "$dir/d1.xml"
ok "with a contract" sold $uuid
virsh_ destroy d1
finish
