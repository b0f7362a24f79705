#!/bin/sh
# --restore tells by name what it cannot do, and leaves contracts and last caps for the next start.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

conf_extra='[gpu gpu1]
backend = sim
speed = 10'
sim_conf
start || exit 1
api POST /v1/vgpus '{"id": "a", "gpu": "gpu0", "initial_cap_pct": 80}' >/dev/null
api POST /v1/vgpus '{"id": "b", "gpu": "gpu1", "initial_cap_pct": 60}' >/dev/null
api PATCH /v1/vgpus/a '{"held": true, "held_cap_pct": 30}' >/dev/null
is "a cap was moved away from its contract" "$(get /v1/vgpus/a .cap_pct)" 30
stop
cp "$dir/state/caps" "$dir/caps"
cp "$dir/state/contracts.json" "$dir/contracts.json"
"$B/gover-d" --config "$conf" --restore >"$dir/out" 2>&1
is "vGPUs that ended with their GPU are no failure" "$?" 0
ok "and are told" grep -q "vGPU a does not exist" "$dir/out"

conf_extra=''
sim_conf # without gpu1
"$B/gover-d" --config "$conf" --restore >"$dir/out" 2>&1
is "a contract on a GPU that is not configured is one" "$?" 1
ok "and names both" grep -q "vGPU b.*gpu1" "$dir/out"
ok "the others are restored all the same" grep -q "vGPU a" "$dir/out"
ok "the last caps stand in their file" cmp "$dir/caps" "$dir/state/caps"
ok "and the contracts in theirs" cmp "$dir/contracts.json" "$dir/state/contracts.json"
"$B/gover-d" --config "$conf" --dry-run --restore >"$dir/out" 2>&1
is "a dry run restores nothing: refused as usage" "$?" 2
ok "with both named" grep -q -e '--restore.*--dry-run' "$dir/out"

# Who fell over a typing error is restored by what was in force before it.
echo 'perod_ms = 100' >>"$conf"
"$B/gover-d" --config "$conf" --state-dir "$dir/state" --restore >"$dir/out" 2>&1
is "a configuration that is refused is no reason to restore nothing" "$?" 0
ok "what is wrong with it is said" grep -q 'has no key "perod_ms"' "$dir/out"
ok "and by what instead" grep -q "by $dir/state/config.last, the configuration of the last start" "$dir/out"
ok "each GPU of which is looked after" grep -q "vGPU b does not exist" "$dir/out"
is "nobody else can read it: it may hold a secret" "$(stat -c %a "$dir/state/config.last")" 600

finish
