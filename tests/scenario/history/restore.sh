#!/bin/sh
# --restore names the vGPUs that it cannot restore, and does not change the stored contracts and last caps.
. "$(dirname "$0")/../lib.sh"

conf_extra='[gpu gpu1]
backend = sim
speed = 10
sharing = hard'
start_sim
api POST /v1/vgpus '{"id": "a", "gpu": "gpu0", "initial_cap_pct": 80}' >/dev/null
api POST /v1/vgpus '{"id": "b", "gpu": "gpu1", "initial_cap_pct": 60}' >/dev/null
api PATCH /v1/vgpus/a '{"held": true, "held_cap_pct": 30}' >/dev/null
is "a cap differs from its contract" "$(get /v1/vgpus/a .cap_pct)" 30
stop
cp "$dir/state/caps" "$dir/caps"
cp "$dir/state/contracts.json" "$dir/contracts.json"
"$B/gover-d" --config "$conf" --restore >"$dir/out" 2>&1
is "vGPUs that ended with their GPU are no error" "$?" 0
ok "--restore names them" grep -q "vGPU a does not exist" "$dir/out"

conf_extra=''
sim_conf # without conf_extra, which contains gpu1
"$B/gover-d" --config "$conf" --restore >"$dir/out" 2>&1
is "a contract on a GPU without configuration is an error" "$?" 1
ok "the error names the vGPU and the GPU" grep -q "vGPU b.*gpu1" "$dir/out"
ok "the other vGPUs are restored" grep -q "vGPU a" "$dir/out"
ok "the file of last caps is not changed" cmp "$dir/caps" "$dir/state/caps"
ok "the file of contracts is not changed" cmp "$dir/contracts.json" "$dir/state/contracts.json"
"$B/gover-d" --config "$conf" --dry-run --restore >"$dir/out" 2>&1
is "--restore with --dry-run is a usage error" "$?" 2
ok "the error names both options" grep -q -e '--restore.*--dry-run' "$dir/out"

# With an invalid configuration, --restore uses the configuration of the last start.
echo 'perod_ms = 100' >>"$conf"
"$B/gover-d" --config "$conf" --state-dir "$dir/state" --restore >"$dir/out" 2>&1
is "--restore works with an invalid configuration" "$?" 0
ok "the error in the configuration is printed" grep -q 'has no key "perod_ms"' "$dir/out"
ok "the configuration in use is printed" grep -q "with $dir/state/config.last, the configuration of the last start" "$dir/out"
ok "each GPU of that configuration is handled" grep -q "vGPU b does not exist" "$dir/out"
is "only root can read it, because it may contain secrets" "$(stat -c %a "$dir/state/config.last")" 600

finish
