#!/bin/sh
# vGPUs created by other programs: found with their cap, limited to the GPU in the first tick, given a contract on
# their GPU, and never created again. Also tests the caps that --restore sets in the kernel.
. "$(dirname "$0")/../softgpu.sh"

period_ms=200
softgpu_conf
cat >>"$conf" <<EOF
[gpu gpu1]
backend = sim
EOF
start || exit 1
in_every_hierarchy() { # in_every_hierarchy COMMAND VGPU: runs COMMAND in the folders with the groups of vGPU a
  for parent in $parents; do "$1" "$parent/$2"; done
}
put_cap() { # put_cap VGPU PCT: a foreign write
  for parent in $parents; do
    if [ -f "$parent/$1/cpu.cfs_quota_us" ]; then
      echo $(($(cat "$parent/$1/cpu.cfs_period_us") * $2 / 100)) >"$parent/$1/cpu.cfs_quota_us"
    elif [ -f "$parent/$1/cpu.max" ]; then
      echo "$(($2 * 1000)) 100000" >"$parent/$1/cpu.max"
    fi
  done
}
quota() { # prints the cap of a in the kernel
  if [ -f "$group/cpu.cfs_quota_us" ]; then
    echo $((($(cat "$group/cpu.cfs_quota_us") * 100 + 1) / $(cat "$group/cpu.cfs_period_us")))
  else
    awk '{print int(($1 * 100 + 1) / $2)}' "$group/cpu.max"
  fi
}
caps() { get /v1/vgpus '[.vgpus[] | "\(.id) \(.cap_pct)"] | join(", ")'; }
post() { api POST /v1/vgpus "$1" >/dev/null; }

post '{"id": "a", "gpu": "gpu0", "initial_cap_pct": 60}'
is "a gets a contract" "$(status)" 201
parents=$(for procs in $(get /v1/vgpus/a '.attach.cgroup_procs[]'); do dirname "${procs%/*}"; done)
group=$(kernel_group a)
stop
in_every_hierarchy mkdir y
put_cap y 30
start || exit 1
ok "y, created without a daemon, is found" until_ok 20 that /v1/vgpus/y .found
is "its contract is its own cap without a target" "$(get /v1/vgpus/y '"\(.initial_cap_pct) \(.cap_pct) \(.target_fps) \(.held)"')" "30 30 0 false"
is "it is included in the sums" "$(get /v1/gpus '.gpus[0] | "\(.sum_cap_pct) \(.sum_initial_cap_pct)"')" "90 90"

post '{"id": "y", "gpu": "gpu1", "initial_cap_pct": 10}'
ok "a found vGPU cannot get a contract on another GPU" grep -q 'belongs to GPU gpu0' "$dir/body"
is "the status is 409" "$(status)" 409
post '{"id": "y", "gpu": "gpu0", "initial_cap_pct": 10, "vm": "vm-y"}'
is "it can get a contract on its GPU" "$(status) $(gojq -r '"\(.found) \(.vm)"' "$dir/body")" "201 false vm-y"
is "its cap is limited to the contract" "$(caps)" "a 60, y 10"
is "the cap is set in the kernel too" "$(kernel_cap y)" 10
ok "a decision records it" that '/v1/decisions?limit=1000' '[.decisions[] | select(.vgpu == "y")][-1] | .kind == "set" and .result == "written"'
post '{"id": "y", "gpu": "gpu0", "initial_cap_pct": 20}'
is "it cannot get a second contract" "$(status)" 409

in_every_hierarchy mkdir x
ok "x, which has no limit, is found" until_ok 20 that /v1/vgpus/x .found
is "no limit counts as the whole GPU" "$(get /v1/vgpus/x .initial_cap_pct)" 100
found_at=$(get '/v1/decisions?limit=1000' '[.decisions[] | select(.kind == "found" and .vgpu == "x")][0].time')
is "in the same tick all caps are limited to the GPU" \
  "$(get '/v1/decisions?limit=1000' "[.decisions[] | select(.kind == \"fit\" and .time == \"$found_at\").result] | join(\" \")")" written
is "the sum of the caps is 100" "$(get /v1/gpus '.gpus[0].sum_cap_pct')" 100
is "the kernel has the caps of the daemon" "a $(kernel_cap a), x $(kernel_cap x), y $(kernel_cap y)" "$(caps)"
is "no vGPU is on hold" "$(get /v1/vgpus '[.vgpus[].held] | any')" false
stop
in_every_hierarchy rmdir x
start || exit 1
is "a found and removed vGPU is not created" "$(get /v1/vgpus '[.vgpus[].id] | join(" ")')" "a y"

ctl vgpu hold a --cap 20 >/dev/null
stop
is "a stop does not change the cap" "$(quota)" 20
ok "--restore" "$B/gover-d" --config "$conf" --restore
is "sets the contract in the kernel" "$(quota)" 60
start || exit 1
is "the next daemon sets the last cap" "$(get /v1/vgpus/a '"\(.cap_pct) \(.held)"') $(quota)" "20 true 20"
for v in a y; do ctl vgpu remove "$v" >/dev/null; done
stop
is "no control group remains" "$(find /sys/fs/cgroup -maxdepth 3 -name "$root*" | wc -l)" 0
finish
