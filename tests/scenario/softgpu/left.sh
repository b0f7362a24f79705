#!/bin/sh
# Control groups while no daemon runs: a removed foreign group is forgotten, a restore keeps the last caps for the
# next start, and a dry run changes nothing.
. "$(dirname "$0")/../softgpu.sh"

period_ms=200
softgpu_conf
start || exit 1
ctl vgpu add a --cap 80 >/dev/null
ctl vgpu hold a --cap 30 >/dev/null
is "a is held below its contract" "$(kernel_cap a)" 30

foreign() { # foreign QUOTA: creates group x as another program does; the daemon is stopped meanwhile
  places=$(get /v1/vgpus/a '.attach.cgroup_procs[]')
  group=$(kernel_group a)
  kill -STOP "$daemon_pid"
  for procs in $places; do mkdir "${procs%/a/*}/x"; done
  if [ -f "$group/cpu.max" ]; then
    echo "$1 100000" >"${group%/a}/x/cpu.max"
  else
    echo "$1" >"${group%/a}/x/cpu.cfs_quota_us"
  fi
  kill -CONT "$daemon_pid"
}
remove_foreign() { find /sys/fs/cgroup -depth -type d -path "*/$root/gpu0/x" -exec rmdir {} +; }
known() { # succeeds if the daemon has vGPU x
  api GET /v1/vgpus/x >/dev/null
  [ "$(status)" = 200 ]
}
unknown() { ! known; }
foreign 20000 # quota in the default period of 100000 us
ok "a foreign group is found" until_ok 10 that /v1/vgpus/x '.found and .cap_pct == 20'
ok "it is in the contracts file" until_ok 10 grep -q '"x"' "$dir/state/contracts.json"
remove_foreign
ok "removed while the daemon runs, it is forgotten" until_ok 10 unknown
ok "a decision records it" that '/v1/decisions?limit=1000' \
  '[.decisions[] | select(.kind == "missing" and .vgpu == "x" and (.why | contains("vanished")))] | length == 1'
ok "the vGPU is removed from the contracts file" until_ok 10 sh -c "! grep -q '\"x\"' '$dir/state/contracts.json'"
foreign 30000
ok "another group with the same name is found with its own cap" until_ok 10 that /v1/vgpus/x '.found and .cap_pct == 30 and (.held | not)'
ok "it is in the contracts file too" until_ok 10 grep -q '"x"' "$dir/state/contracts.json"
stop
remove_foreign
start || exit 1
api GET /v1/vgpus/x >/dev/null
is "removed without a daemon, it is forgotten" "$(status)" 404
is "a deleted group is not created again" "$(find /sys/fs/cgroup -maxdepth 4 -path "*/$root/gpu0/x" | wc -l)" 0
ok "some periods pass" periods 3
is "no alert vgpu_missing is raised" "$(get '/v1/alerts?all=true' '[.alerts[] | select(.name == "vgpu_missing")] | length')" 0
is "a is unchanged" "$(get /v1/vgpus/a '"\(.held) \(.cap_pct)"') $(kernel_cap a)" "true 30 30"
group=$(kernel_group a) # before the stop, because kernel_group sends a request to the daemon
stop

cp "$dir/state/caps" "$dir/caps"
quota() { # prints the quota of a in the kernel
  if [ -f "$group/cpu.max" ]; then cut -d' ' -f1 "$group/cpu.max"; else cat "$group/cpu.cfs_quota_us"; fi
}
held=$(quota)
"$B/gover-d" --config "$conf" --restore >"$dir/out" 2>&1
is "--restore" "$?" 0
ok "sets the contract" test "$(quota)" -gt "$held"
ok "the last caps stay in their file" cmp "$dir/caps" "$dir/state/caps"

{ # true closes the pipe before the daemon prints
  "$B/gover-d" --config "$conf" --restore
  echo $? >"$dir/rc"
} 2>&1 | true
is "--restore with a closed output" "$(cat "$dir/rc")" 0

groups() { find /sys/fs/cgroup -maxdepth 4 -path "*/$root*" | sort; }
groups >"$dir/groups"
start --dry-run || exit 1
is "a dry run reports what it would do" "$(get '/v1/decisions?limit=1000' '.decisions[] | select(.kind == "adopt" and .result == "dry_run").vgpu')" a
is "a dry run does not change the kernel" "$(kernel_cap a)" 80
stop
ok "the last caps are not changed" cmp "$dir/caps" "$dir/state/caps"
groups >"$dir/groups.after"
ok "the groups are not changed" cmp "$dir/groups" "$dir/groups.after"
start || exit 1
is "the next daemon sets the last cap" "$(kernel_cap a) $(get /v1/vgpus/a .held)" "30 true"
is "this is not reported as a foreign write" "$(get '/v1/alerts?all=true' '[.alerts[] | select(.name == "foreign_write")] | length')" 0
ctl vgpu remove a >/dev/null
stop
is "no control group remains" "$(find /sys/fs/cgroup -maxdepth 3 -name "$root*" | wc -l)" 0

: >"$dir/log"
start --dry-run || exit 1
is "without groups a dry run has no vGPUs" "$(get /v1/gpus '.gpus[0] | "\(.name) \(.vgpus)"')" "gpu0 0"
is "a dry run creates no group" "$(groups | wc -l)" 0
is "a dry run logs missing groups once" "$(grep -c "control group $root/gpu0 does not exist, and a dry run does not create it" "$dir/log")" 1
ok "some periods pass" periods 7
is "a dry run logs nothing else" "$(grep -vcE 'does not exist, and a dry run|its sharing is|ready on|adopt|alert .* (cleared|raised)|the daemon was restarted' "$dir/log")" 0
stop
is "no group exists at its end" "$(groups | wc -l)" 0
finish
