#!/bin/sh
# An overload of a host without Nova: libvirt migrates a guest of QEMU to the host of the configuration. Two libvirtd, two gover-d
# and two gover-fleet run on this machine. gover-fleet is killed in the middle of the second migration.
. "$(dirname "$0")/../fleet/lib.sh"
need_libvirt
for program in qemu-system-x86_64 hostname; do
  command -v $program >/dev/null || skip_all "no $program"
done
unshare -u hostname node-1 2>/dev/null || skip_all "no namespaces for the name of the host"
conf_extra=$(echo "$conf_extra" | sed 's/^probation_s = .*/probation_s = 5/')
base=$dir
second=22222222-2222-3333-4444-555555555555
pids=''
# shellcheck disable=SC2016 # run at the exit
cleanup='for pid in $pids; do kill -CONT $pid; kill -KILL $pid; done 2>/dev/null; dir=$base'

use() { # use HOST: the functions of the two files above act on this host
  libvirt_host=$1
  dir=$base/$1
  sock=$dir/gover.sock conf=$dir/gover.conf
  fleet_conf_file=$dir/fleet.conf fleet_status=$dir/status.json fleet_hook=$dir/hook.sock
  libvirt_uri="qemu:///system?socket=$dir/libvirt-sock"
  mkdir -p "$dir"
}
virsh_() { timeout 60 virsh -q -c "$libvirt_uri" "$@"; }
start_fleet_here() {
  start_fleet
  pids="$pids $fleet_pid"
}

for host in 2 1; do
  use $host
  sim_conf
  fleet_conf 'on_failure = closed'
  [ $host = 2 ] || printf '[migrate]\nby = libvirt\nto_uri = qemu+unix:///system?socket=%s/2/libvirt-sock\n' "$base" >>"$fleet_conf_file"
  start_libvirt || exit 1
  pids="$pids $libvirt_pid"
  virsh_ list >/dev/null 2>&1 || skip_all "libvirtd has no driver for QEMU"
  start || exit 1
  pids="$pids $daemon_pid"
  start_fleet_here
  ok "host $host: gover-fleet is connected" until_ok 20 fleet_is '.libvirt.connected'
  ok "host $host: there is an open offer" open_offer
  [ "$host" = 1 ] || libvirt_2=$libvirt_pid
done

place() { # place NAME: prints the hosts on which the domain runs
  for host in 1 2; do
    virsh -q -r -c "qemu:///system?socket=$base/$host/libvirt-sock" domstate "$1" 2>/dev/null | grep -q running && printf %s $host
  done
}
sale_is() { # sale_is UUID FILTER: succeeds if FILTER is true for the state of the last offer that was sold to it
  that '/v1/offers?all=true' "[.offers[] | select(.vgpu == \"$1\")] | max_by(.id) | .state | $2"
}
# The program of a contract on host 1 cannot get its frames, even with the whole GPU, so the sale fails its probation and the
# newcomer should leave. On a slow machine the probation may end before the program begins. The vGPU is then sold again.
overload() { # overload NAME UUID: starts a domain on host 1 and fails its sale
  domain_xml "$1" "$2" default qemu >"$dir/$1.xml"
  for _ in 1 2 3 4 5; do
    load unkept idle
    open_offer
    ok "host 1: domain $1 starts" virsh_ create "$dir/$1.xml"
    ok "it has a contract" sold "$2"
    load unkept frame:gpu_ms=20,cpu_ms=2
    ok "its probation ends" until_ok 60 sale_is "$2" '. != null and . != "probation"'
    sale_is "$2" '. == "kept"' || return 0
    virsh_ destroy "$1" && until_ok 20 unsold "$2"
  done
  ok "host 1: the sale of $1 fails its probation" false
}

# --- a migration ---

sell unkept 100 idle '"target_fps": 60'
overload d1 $uuid
ok "its overload ends with a migration" until_ok 60 that /v1/fleet '.last_migration.state == "completed"'
ok "of this domain, to the host of the configuration" that /v1/fleet ".last_migration | .vgpu == \"$uuid\" and (.to | endswith(\"/2/libvirt-sock\")) and .duration_ms > 0"
is "it runs on host 2 only" "$(place d1)" 2
ok "its contract on host 1 ends" until_ok 20 unsold $uuid
use 2
ok "host 2 has its contract" that /v1/vgpus/$uuid '.labels.migrated == "yes"'
created=$(get /v1/vgpus/$uuid .created_at)
began=$(sed -n 's/^\([0-9-]* [0-9:.]*\)+0000: starting up.*/\1/p' "$dir/ns/var/log/libvirt/qemu/d1.log")
ok "it was made before QEMU was started there" test "$(date -d "$created" +%s%3N)" -le "$(date -u -d "$began" +%s%3N)"
ok "by the hook" fleet_is '.counts.hook_claimed == 1 and .counts.claimed_later == 0'

# --- gover-fleet is killed in the middle ---

use 1
stop_fleet KILL # no waiting time after the first migration
start_fleet_here
kill -STOP "$libvirt_2"
overload d2 $second
ok "a migration has begun" until_ok 60 that /v1/fleet ".migration.vgpu == \"$second\""
stop_fleet KILL
start_fleet_here
ok "a new gover-fleet follows it" until_ok 20 logged "vGPU $second: an earlier gover-fleet has asked for its migration"
ok "the migration is in its status" until_ok 20 fleet_is ".migration.vgpu == \"$second\""
kill -CONT "$libvirt_2"
ok "the migration ends" until_ok 60 that /v1/fleet '.migration == null'
ok "its end is reported" that /v1/fleet ".last_migration.vgpu == \"$second\""
was=$(get /v1/fleet .last_migration.state)
[ "$was" = completed ] && wanted=2 || wanted=1
is "as $was, the domain runs on host $wanted only" "$(place d2)" "$wanted"
use "$wanted"
ok "where it has a contract" sold $second
use $((3 - wanted))
ok "and not on the other host" until_ok 20 unsold $second
for host in 1 2; do
  use $host
  for domain in d1 d2; do virsh_ destroy $domain >/dev/null 2>&1; done
done
dir=$base
finish
