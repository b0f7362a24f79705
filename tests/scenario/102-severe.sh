#!/bin/sh
# Two receivers at once: the severe warning, the on_migrate hook with the right VM, and no stealing.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

cat >"$dir/hook" <<EOF
#!/bin/sh
echo "\$GOVER_EVENT \$GOVER_GPU \$GOVER_VGPU \$GOVER_VM" >>"$dir/hook.out"
EOF
chmod +x "$dir/hook"
daemon_extra="on_migrate = $dir/hook"
sim_conf
start || exit 1
add() { # add ID CAP WORKLOAD
  sell "$1" "$2" "$3" "\"vm\": \"vm-$1\""
}
add a 100 busy
api PATCH /v1/vgpus/a '{"held": true, "held_cap_pct": 20}' >/dev/null
add b 80 busy
api PATCH /v1/vgpus/b '{"held": true, "held_cap_pct": 60}' >/dev/null
add c 60 idle
is "the idle one has the rest" "$(get /v1/vgpus/c .cap_pct)" 20
ok "held and overloaded is told, and nothing else" \
  until_ok 20 that /v1/alerts '[.alerts[].name] | index("held_overloaded") != null and index("severe_overload") == null'
# A released one becomes a receiver; both at once are two.
for v in a b; do api PATCH /v1/vgpus/$v '{"held": false}' >/dev/null; done
ok "the severe warning" until_ok 20 alerts 1 severe_overload
is "it is critical and names the one whose move relieves most" \
  "$(get /v1/alerts '.alerts[] | select(.name == "severe_overload") | "\(.severity) \(.vgpu) \(.vm)"')" "critical b vm-b"
ok "the hook was run" until_ok 10 test -s "$dir/hook.out"
is "with whom to migrate" "$(head -n 1 "$dir/hook.out")" "severe_overload gpu0 b vm-b"
severe=$(get '/v1/decisions?limit=1000' '[.decisions[] | select(.kind == "severe")][0].id')
periods 8
is "no stealing while it stands" \
  "$(get '/v1/decisions?limit=1000' "[.decisions[] | select(.id > $severe and (.kind == \"steal\" or .kind == \"wake\"))] | length")" 0
load a idle
ok "one calms down: the warning clears" until_ok 20 alerts 0 severe_overload
ok "and the other is served" until_ok 20 that '/v1/decisions?limit=1000' "[.decisions[] | select(.id > $severe and .kind == \"steal\" and .vgpu == \"b\")] | length > 0"
stop
finish
