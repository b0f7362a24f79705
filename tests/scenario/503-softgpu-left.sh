#!/bin/sh
# What a daemon leaves in the kernel and the next one finds: a stranger's group that went is forgotten;
# a restore keeps the last caps for the next start; a dry run takes none of them up.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/scenario/softgpu.sh
. "$(dirname "$0")/softgpu.sh"

period_ms=200
softgpu_conf
start || exit 1
ctl vgpu add a --cap 80 >/dev/null
ctl vgpu hold a --cap 30 >/dev/null
is "a is held below its contract" "$(kernel_cap a)" 30

stranger() { # stranger QUOTA: makes group x as somebody else would, unseen until it is whole
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
remove_stranger() { find /sys/fs/cgroup -depth -type d -path "*/$root/gpu0/x" -exec rmdir {} +; }
known() { # the daemon knows x
  api GET /v1/vgpus/x >/dev/null
  [ "$(status)" = 200 ]
}
unknown() { ! known; }
stranger 20000 # of the 100000 us that a period has at first
ok "a stranger's group is found" until_ok 10 that /v1/vgpus/x '.found and .cap_pct == 20'
ok "and kept in mind" until_ok 10 grep -q '"x"' "$dir/state/contracts.json"
remove_stranger
ok "it goes while the daemon runs: it is forgotten" until_ok 10 unknown
ok "as a decision says" that '/v1/decisions?limit=1000' \
  '[.decisions[] | select(.kind == "missing" and .vgpu == "x" and (.why | contains("forgotten")))] | length == 1'
ok "and on disk too" until_ok 10 sh -c "! grep -q '\"x\"' '$dir/state/contracts.json'"
stranger 30000
ok "another of its name is found with its own cap" until_ok 10 that /v1/vgpus/x '.found and .cap_pct == 30 and (.held | not)'
ok "and kept in mind as well" until_ok 10 grep -q '"x"' "$dir/state/contracts.json"
stop
remove_stranger
start || exit 1
api GET /v1/vgpus/x >/dev/null
is "it went while nobody looked: it is forgotten" "$(status)" 404
is "nobody made it again" "$(find /sys/fs/cgroup -maxdepth 4 -path "*/$root/gpu0/x" | wc -l)" 0
ok "some periods later" periods 3
is "nobody misses it" "$(get '/v1/alerts?all=true' '[.alerts[] | select(.name == "vgpu_missing")] | length')" 0
is "a is as it was" "$(get /v1/vgpus/a '"\(.held) \(.cap_pct)"') $(kernel_cap a)" "true 30 30"
group=$(kernel_group a) # while there is somebody to ask
stop

cp "$dir/state/caps" "$dir/caps"
quota() { # the cap of a, with or without a daemon
  if [ -f "$group/cpu.max" ]; then cut -d' ' -f1 "$group/cpu.max"; else cat "$group/cpu.cfs_quota_us"; fi
}
held=$(quota)
"$B/gover-d" --config "$conf" --restore >"$dir/out" 2>&1
is "--restore" "$?" 0
ok "brings the contract in force" test "$(quota)" -gt "$held"
ok "and leaves the last caps in their file" cmp "$dir/caps" "$dir/state/caps"

{ # whoever reads what it has to say may go before it is done
  "$B/gover-d" --config "$conf" --restore
  echo $? >"$dir/rc"
} 2>&1 | true
is "--restore with a closed log" "$(cat "$dir/rc")" 0

groups() { find /sys/fs/cgroup -maxdepth 4 -path "*/$root*" | sort; }
groups >"$dir/groups"
start --dry-run || exit 1
is "a dry run says what it would do" "$(get '/v1/decisions?limit=1000' '.decisions[] | select(.kind == "adopt" and .result == "dry_run").vgpu')" a
is "and leaves the kernel alone" "$(kernel_cap a)" 80
stop
ok "and the last caps too" cmp "$dir/caps" "$dir/state/caps"
groups >"$dir/groups.after"
ok "and every group as it stood" cmp "$dir/groups" "$dir/groups.after"
start || exit 1
is "the next start takes the last cap up" "$(kernel_cap a) $(get /v1/vgpus/a .held)" "30 true"
is "and takes it for nobody's write" "$(get '/v1/alerts?all=true' '[.alerts[] | select(.name == "foreign_write")] | length')" 0
ctl vgpu remove a >/dev/null
stop
is "no group is left behind" "$(find /sys/fs/cgroup -maxdepth 3 -name "$root*" | wc -l)" 0

: >"$dir/log"
start --dry-run || exit 1
is "where nothing stands a dry run watches nothing" "$(get /v1/gpus '.gpus[0] | "\(.name) \(.vgpus)"')" "gpu0 0"
is "makes nothing" "$(groups | wc -l)" 0
is "and says so in one sentence" "$(grep -c "control group $root/gpu0 does not exist, and a dry run creates none" "$dir/log")" 1
ticks=$(get /v1/host .ticks)
ok "some periods later" until_ok 10 that /v1/host ".ticks > $ticks + 6"
is "there is nothing else to say" "$(grep -vcE 'does not exist, and a dry run|ready on|adopt|alert .* (cleared|raised)' "$dir/log")" 0
stop
is "and still nothing at its end" "$(groups | wc -l)" 0
finish
