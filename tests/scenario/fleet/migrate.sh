#!/bin/sh
# An overload of a host becomes a live migration: gover-fleet between gover-d, fake-placement.py (with Keystone) and fake-nova.py.
# No migration is asked for while Placement is away or knows no other host, and without the role it is only advised.
. "$(dirname "$0")/../fleet/lib.sh"
server=aaaaaaaa-0000-4000-8000-000000000001 # of fake-nova.py

start_placement || exit 1
mkfifo "$dir/nova.in"
python3 "$top/tests/fleet/fake-nova.py" "$dir/nova.sock" <"$dir/nova.in" >"$dir/nova.out" 2>&1 &
cleanup="$cleanup; kill $! 2>/dev/null"
exec 8>"$dir/nova.in" # fake-nova.py ends with its input
until_ok 20 test -s "$dir/nova.out" || exit 1
nova_url=http://127.0.0.1:$(head -n 1 "$dir/nova.out")

fake() { # fake URL BODY: controls a stand-in
  curl -sS -m 10 -H 'Content-Type: application/json' -d "$2" "$1"
}
nova_is() { fake "$nova_url/_set" "$1" >/dev/null; } # nova_is BEHAVIOUR
asked() { # asked N: succeeds if Nova was asked for N migrations
  curl -sS "$nova_url/_log" | gojq -e "[.log[] | select(.method == \"POST\" and (.path | endswith(\"/action\")))] | length == $1" >/dev/null
}
trait() { # succeeds if the cloud knows the overload
  curl -sS "$cloud_url/_fake/state" |
    gojq -e '.providers[] | select(.name == "node-1_gover_gpu0") | .traits | index("CUSTOM_GOVER_OVERLOADED") != null' >/dev/null
}
cloud() { # cloud METHOD PATH BODY: sends a request to Placement with a token
  curl -sS -m 10 -o /dev/null -X "$1" -H "X-Auth-Token: $cloud_token" -H 'Content-Type: application/json' -d "$3" "$cloud_url$2"
}
moved() { # moved WORDS...: succeeds if the reasons of all decisions about migrations have these words, in this order
  get '/v1/decisions?limit=1000' '.decisions[] | select(.kind == "migration") | .why' >"$dir/moves"
  [ "$(wc -l <"$dir/moves")" -eq $# ] || return 1
  while read -r why; do
    case $why in *"$server"*"$1"*) shift ;; *) return 1 ;; esac
  done <"$dir/moves"
}
report() { get /v1/fleet '.migrations | "\(.requested) \(.completed) \(.failed)"'; }

sim_conf
fleet_conf
echo secret >"$dir/secret"
cat >>"$fleet_conf_file" <<END
[cloud]
kind = openstack
auth_url = $cloud_url/identity
username = gover
project = service
secret_file = $dir/secret
[migrate]
by = nova
END
start || exit 1
fake "$cloud_url/_fake/root" '{"name": "node-1"}' >/dev/null
fake "$cloud_url/_fake/compute" "{\"url\": \"$nova_url\"}" >/dev/null
cloud_token=$(curl -sS -D - -o /dev/null -H 'Content-Type: application/json' \
  -d '{"auth": {"identity": {"methods": ["password"], "password": {"user": {"name": "u", "domain": {"name": "d"}, "password": "secret"}}}}}' \
  "$cloud_url/identity/v3/auth/tokens" | tr -d '\r' | sed -n 's/^X-Subject-Token: //Ip')
start_fleet

# --- an overload that names a server of the cloud ---

sell a 100 busy
api PATCH /v1/vgpus/a '{"held": true, "held_cap_pct": 20}' >/dev/null
api POST /v1/vgpus "{\"id\": \"$server\", \"initial_cap_pct\": 80, \"vm\": \"instance-1\",
  \"labels\": {\"workload\": \"busy\", \"fleet\": \"libvirt\", \"domain\": \"$server\",
  \"instance\": \"render-1\", \"project\": \"films\"}}" >/dev/null
api PATCH "/v1/vgpus/$server" '{"held": true, "held_cap_pct": 60}' >/dev/null
sell c 60 idle
ok "the contract is published" until_ok 30 fleet_is '.cloud.state == "published" and ([.wanted[].classes[] | select(.name == "CUSTOM_GOVER_SLOT") | .contracts] | add) == 1'
own=$(curl -sS "$cloud_url/_fake/state" | gojq -r '.providers[] | select(.name == "node-1_gover_gpu0") | .uuid')
cloud PUT "/allocations/$server" "{\"allocations\": {\"$own\": {\"resources\": {\"CUSTOM_GOVER_SLOT_DEFAULT\": 1}}}}"
for v in a "$server"; do api PATCH "/v1/vgpus/$v" '{"held": false}' >/dev/null; done
ok "the overload names the server" until_ok 30 alerts 1 severe_overload $server
of_server='select(.vgpu == "'$server'")'
ok "and has its name and project in the cloud" that /v1/alerts "[.alerts[] | $of_server] | all(.instance == \"render-1\" and .project == \"films\")"
ctl why "$server" >"$dir/why"
is "gover-ctl why names both" "$(grep -E '^(instance|project): ' "$dir/why" | paste -s -d ' ' -)" "instance: render-1 project: films"
ok "the cloud knows the overload" until_ok 30 trait

# --- no other host ---

ok "without another host, the operator is advised" until_ok 30 logged "should leave this host: alert severe_overload of GPU gpu0 names it; Placement finds no other host"
ok "with the command to run" logged "run \`openstack --os-compute-api-version 2.30 server migrate --live-migration $server\`"
ok "nothing was asked" asked 0
ok "and nothing is reported" moved
is "nor counted" "$(report)" "0 0 0"

# --- Placement is away ---

fake "$cloud_url/_fake/root" '{"name": "node-2", "gpus": ["gpu0"]}' >/dev/null
other=$(curl -sS "$cloud_url/_fake/state" | gojq -r '.providers[] | select(.name == "node-2_gover_gpu0") | .uuid')
cloud PUT "/resource_providers/$other/inventories" '{"resource_provider_generation": 0, "inventories": {"CUSTOM_GOVER_SLOT_DEFAULT":
  {"total": 1, "reserved": 0, "min_unit": 1, "max_unit": 1, "step_size": 1, "allocation_ratio": 1.0}}}'
fake "$cloud_url/_fake/fault" '{"kind": "503", "match": "resource_providers|allocation", "count": 1000000}' >/dev/null
stop_fleet
start_fleet
ok "a new gover-fleet cannot reach Placement" until_ok 30 fleet_is '.cloud.state == "unreachable"'
periods 20
ok "it asks for no migration" asked 0
fake "$cloud_url/_fake/heal" '{}' >/dev/null
stop_fleet
start_fleet

# --- the migration ---

ok "with Placement and another host, Nova is asked" until_ok 60 asked 1
ok "gover-d has the request and the end as decisions" until_ok 30 moved "was requested" "to host2 was completed after"
ok "the migration and its duration are logged" logged "vGPU $server: migrated to host2 in "
ok "the counts are reported" until_ok 30 that /v1/fleet '.migrations == {"requested": 1, "completed": 1, "failed": 0}'
# The stand-in moves nothing, so the alert stays.
ok "the server is not asked for again" until_ok 60 logged "it was migrated away lately and is back"
ok "there was one request" asked 1

# --- a migration that fails ---

nova_is '{"course": ["running", "failed"]}'
stop_fleet
start_fleet
ok "a failure is reported with its reason" until_ok 60 moved "was requested" "was completed" "was requested" "with status failed"
ok "and counted" until_ok 30 that /v1/fleet '.migrations.failed == 1'

# --- gover-fleet is killed during a migration ---

ms() { date -d "$1" +%s%3N; } # ms TIME: milliseconds since 1970
completed="{\"past\": [{\"id\": 1, \"instance_uuid\": \"$server\", \"source_compute\": \"host1\", \"dest_compute\": \"host2\", \"status\": \"completed\"}]}"
nova_is '{"course": ["preparing", "running"]}'
stop_fleet
start_fleet
ok "a migration goes on" until_ok 60 that /v1/fleet ".migration.vgpu == \"$server\" and .migration.to == \"host2\""
ok "the status file has it" until_ok 30 fleet_is ".migration.vgpu == \"$server\" and .migration.to == \"host2\""
since=$(get /v1/fleet .migration.since)
stop_fleet KILL
start_fleet
ok "a new gover-fleet follows it" until_ok 30 logged "an earlier gover-fleet has asked for its migration: following it"
ok "and has the time of its request" until_ok 30 fleet_is ".migration.since == \"$since\""
periods 20
ok "it asks for no second one" asked 1
nova_is "$completed"
ok "its end is reported" until_ok 30 that /v1/fleet '.migration == null and .last_migration.state == "completed"'
took=$(($(ms "$(get /v1/fleet .last_migration.time)") - $(ms "$since")))
ok "with the time since the request ($took ms)" that /v1/fleet "(.last_migration.duration_ms - $took) | . > -1000 and . <= 0"
ok "the decisions have it" moved "was requested" "was completed" "was requested" "with status failed" "was requested" "to host2 was completed after"

nova_is '{"course": ["preparing", "running"]}'
stop_fleet
start_fleet
ok "another migration goes on" until_ok 60 that /v1/fleet '.migration.to == "host2"'
stop_fleet KILL
nova_is "$completed"
start_fleet
ok "a migration that ends without gover-fleet is reported afterwards" until_ok 30 that /v1/fleet '.migration == null'
ok "as completed" that /v1/fleet '.last_migration.state == "completed" and .last_migration.to == "host2"'

# --- without the role ---

nova_is '{"errors": {"/os-migrations": 403}}'
stop_fleet
start_fleet
ok "without the role, migrations are advised" until_ok 60 logged "the cloud does not permit migrations"
periods 20
is "which is logged once" "$(grep -c 'the cloud does not permit migrations' "$dir/fleet.log")" 1
ok "Nova was asked for nothing" asked 0
stop_fleet
finish
