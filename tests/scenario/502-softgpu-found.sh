#!/bin/sh
# vGPUs that somebody else made: found with the cap they have, brought within the GPU in the tick that first sees them,
# sold where they stand and no larger than sold, and never made again. And what --restore puts into the kernel.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/scenario/softgpu.sh
. "$(dirname "$0")/softgpu.sh"

period_ms=200
softgpu_conf
cat >>"$conf" <<EOF
[gpu gpu1]
backend = sim
EOF
start || exit 1
in_every_hierarchy() { # in_every_hierarchy COMMAND VGPU: beside a's groups
  for parent in $parents; do "$1" "$parent/$2"; done
}
put_cap() { # put_cap VGPU PCT, behind the daemon's back
  for parent in $parents; do
    if [ -f "$parent/$1/cpu.cfs_quota_us" ]; then
      echo $(($(cat "$parent/$1/cpu.cfs_period_us") * $2 / 100)) >"$parent/$1/cpu.cfs_quota_us"
    elif [ -f "$parent/$1/cpu.max" ]; then
      echo "$(($2 * 1000)) 100000" >"$parent/$1/cpu.max"
    fi
  done
}
quota() { # of a, when there is no daemon to ask for its group
  if [ -f "$group/cpu.cfs_quota_us" ]; then
    echo $((($(cat "$group/cpu.cfs_quota_us") * 100 + 1) / $(cat "$group/cpu.cfs_period_us")))
  else
    awk '{print int(($1 * 100 + 1) / $2)}' "$group/cpu.max"
  fi
}
caps() { get /v1/vgpus '[.vgpus[] | "\(.id) \(.cap_pct)"] | join(", ")'; }
post() { api POST /v1/vgpus "$1" >/dev/null; }

post '{"id": "a", "gpu": "gpu0", "initial_cap_pct": 60}'
is "a is sold" "$(status)" 201
parents=$(for procs in $(get /v1/vgpus/a '.attach.cgroup_procs[]'); do dirname "${procs%/*}"; done)
group=$(kernel_group a)
stop
in_every_hierarchy mkdir y
put_cap y 30
start || exit 1
ok "y, made meanwhile, is found" until_ok 20 that /v1/vgpus/y .found
is "with its own cap for a contract, and no promise" "$(get /v1/vgpus/y '"\(.initial_cap_pct) \(.cap_pct) \(.target_fps) \(.held)"')" "30 30 0 false"
is "it counts" "$(get /v1/gpus '.gpus[0] | "\(.sum_cap_pct) \(.sum_initial_cap_pct)"')" "90 90"

post '{"id": "y", "gpu": "gpu1", "initial_cap_pct": 10}'
ok "it is not sold where it does not stand" grep -q 'stands on GPU gpu0' "$dir/body"
is "which is a conflict" "$(status)" 409
post '{"id": "y", "gpu": "gpu0", "initial_cap_pct": 10, "vm": "vm-y"}'
is "it gets a contract" "$(status) $(jq -r '"\(.found) \(.vm)"' "$dir/body")" "201 false vm-y"
is "and no more than that" "$(caps)" "a 60, y 10"
is "in the kernel too" "$(kernel_cap y)" 10
ok "as its decision says" that '/v1/decisions?limit=1000' '[.decisions[] | select(.vgpu == "y")][-1] | .kind == "set" and .result == "written"'
post '{"id": "y", "gpu": "gpu0", "initial_cap_pct": 20}'
is "it is sold once" "$(status)" 409

in_every_hierarchy mkdir x
ok "x, which has no limit, is found" until_ok 20 that /v1/vgpus/x .found
is "no limit counts as the whole GPU" "$(get /v1/vgpus/x .initial_cap_pct)" 100
found_at=$(get '/v1/decisions?limit=1000' '[.decisions[] | select(.kind == "found" and .vgpu == "x")][0].time')
is "in the same tick all are brought within the GPU" \
  "$(get '/v1/decisions?limit=1000' "[.decisions[] | select(.kind == \"fit\" and .time == \"$found_at\").result] | join(\" \")")" written
is "which is full then" "$(get /v1/gpus '.gpus[0].sum_cap_pct')" 100
is "the kernel has what the daemon says" "a $(kernel_cap a), x $(kernel_cap x), y $(kernel_cap y)" "$(caps)"
is "nobody is on hold for it" "$(get /v1/vgpus '[.vgpus[].held] | any')" false
stop
in_every_hierarchy rmdir x
start || exit 1
is "what was found and went again is not made by us" "$(get /v1/vgpus '[.vgpus[].id] | join(" ")')" "a y"

ctl vgpu hold a --cap 20 >/dev/null
stop
is "a stop leaves the cap" "$(quota)" 20
ok "--restore" "$B/gover-d" --config "$conf" --restore
is "puts what was sold into the kernel" "$(quota)" 60
start || exit 1
is "and the next daemon the last cap" "$(get /v1/vgpus/a '"\(.cap_pct) \(.held)"') $(quota)" "20 true 20"
for v in a y; do ctl vgpu remove "$v" >/dev/null; done
stop
is "no group is left behind" "$(find /sys/fs/cgroup -maxdepth 3 -name "$root*" | wc -l)" 0
finish
