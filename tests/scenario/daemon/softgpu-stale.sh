#!/bin/sh
# A usage counter that decreases is an invalid reading: telemetry is stale for one period, and an open offer is closed at
# once. Only control groups of version 1 can reset the counter; a unit test covers version 2.
. "$(dirname "$0")/../softgpu.sh"

period_ms=200 max_vgpus=4
softgpu_conf
start || exit 1
ctl vgpu add a --cap 80 >/dev/null
usage=''
for procs in $(get /v1/vgpus/a '.attach.cgroup_procs[]'); do
  [ -f "${procs%/*}/cpuacct.usage" ] && usage=${procs%/*}/cpuacct.usage
done
[ -n "$usage" ] || skip_all "control groups of version 2 cannot reset the counter"
sh -c "for p in $(get /v1/vgpus/a '.attach.cgroup_procs | join(" ")'); do echo \$\$ >\$p; done
  i=0; while [ \$i -lt 50000 ]; do i=\$((i + 1)); done"
ok "a has used the GPU" until_ok 10 grep -qv '^0$' "$usage"
open='[.offers[] | select(.state == "open")]'
ok "an idle GPU has an offer" until_ok 20 that /v1/offers "$open | length == 1"
id=$(get /v1/offers "${open}[0].id")
ok "some periods later" periods 3
is "it is still open" "$(get "/v1/offers?all=true" ".offers[] | select(.id == $id).state")" open
echo 0 >"$usage"
ok "the counter is reset: the offer is closed" until_ok 10 that "/v1/offers?all=true" ".offers[] | select(.id == $id) | .state == \"closed\""
is "the reason is recorded" "$(get "/v1/offers?all=true" ".offers[] | select(.id == $id).reason")" "busy time of GPU gpu0 cannot be read"
ok "when readings are valid again, a new offer is made" until_ok 20 that /v1/offers "$open | length == 1 and .[0].id > $id"
ctl vgpu remove a >/dev/null
finish
