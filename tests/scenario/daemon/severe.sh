#!/bin/sh
# Two vGPUs that are overloaded at the same time raise the alert severe_overload. The daemon runs the on_migrate program
# for the VM to be migrated, and makes no steal.
. "$(dirname "$0")/../lib.sh"

cat >"$dir/hook" <<EOF
#!/bin/sh
echo "\$GOVER_EVENT \$GOVER_GPU \$GOVER_VGPU \$GOVER_VM" >>"$dir/hook.out"
EOF
chmod +x "$dir/hook"
daemon_extra="on_migrate = $dir/hook"
start_sim
add() { # add ID CAP WORKLOAD
  sell "$1" "$2" "$3" "\"vm\": \"vm-$1\""
}
add a 100 busy
api PATCH /v1/vgpus/a '{"held": true, "held_cap_pct": 20}' >/dev/null
add b 80 busy
api PATCH /v1/vgpus/b '{"held": true, "held_cap_pct": 60}' >/dev/null
add c 60 idle
is "the idle vGPU has the rest" "$(get /v1/vgpus/c .cap_pct)" 20
ok "a held overloaded vGPU raises only held_overloaded" \
  until_ok 20 that /v1/alerts '[.alerts[].name] | index("held_overloaded") != null and index("severe_overload") == null'
# Once released, vGPUs a and b are both receivers.
for v in a b; do api PATCH /v1/vgpus/$v '{"held": false}' >/dev/null; done
ok "two receivers raise the severe warning" until_ok 20 alerts 1 severe_overload
is "the alert is critical and names the vGPU whose migration relieves most" \
  "$(get /v1/alerts '.alerts[] | select(.name == "severe_overload") | "\(.severity) \(.vgpu) \(.vm)"')" "critical b vm-b"
ok "the hook runs" until_ok 10 test -s "$dir/hook.out"
is "the hook receives the VM to migrate" "$(head -n 1 "$dir/hook.out")" "severe_overload gpu0 b vm-b"
severe=$(get '/v1/decisions?limit=1000' '[.decisions[] | select(.kind == "severe")][0].id')
periods 8
is "no steal is made during a severe overload" \
  "$(get '/v1/decisions?limit=1000' "[.decisions[] | select(.id > $severe and (.kind == \"steal\" or .kind == \"wake\"))] | length")" 0
load a idle
ok "the warning clears when one vGPU is no longer overloaded" until_ok 20 alerts 0 severe_overload
ok "the other vGPU is served" until_ok 20 that '/v1/decisions?limit=1000' "[.decisions[] | select(.id > $severe and .kind == \"steal\" and .vgpu == \"b\")] | length > 0"
finish
