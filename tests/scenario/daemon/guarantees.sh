#!/bin/sh
# The simulated GPU in the daemon with sharing = guarantee: service is judged by the time that was available, not by the
# cap. A vGPU with a small cap is served while others leave time unused, and is broken as soon as they need it.
. "$(dirname "$0")/../lib.sh"

conf_extra='[policy]
name = qos'
sharing=guarantee sim_conf
start || exit 1
is "REST reports the sharing" "$(get /v1/gpus '.gpus[0].sharing')" guarantee
sell a 50 load:pct=40
sell b 50 idle
ctl vgpu hold a --cap 10 >/dev/null
ok "a vGPU uses idle time beyond its cap" until_ok 20 that /v1/vgpus/a '.cap_pct == 10 and .load_pct > 38 and .util_pct > 300'
is "it is served" "$(get /v1/vgpus/a '"\(.broken) \(.overloaded)"')" "false false"
ok "the promise is kept" until_ok 20 that /v1/vgpus/a '.promise == "kept"'
ctl vgpu set a --label workload=busy >/dev/null
ok "its contract is its ceiling" until_ok 20 that /v1/vgpus/a '.load_pct > 48 and .load_pct < 51'
is "with its contract it is served" "$(get /v1/vgpus/a .broken)" false
ok "the alert compares its use with the GPU, because it is above the cap" until_ok 20 that /v1/alerts \
  '[.alerts[] | select(.name == "held_overloaded" and .vgpu == "a")][0].text | test("^vGPU a uses (4[89]|50)[.0-9]* % of the GPU, and its cap is held at 10 %$")'
ok "a larger cap would not help" until_ok 20 that /v1/vgpus/a '.overloaded'
ctl vgpu set a --burst >/dev/null
ok "with burst it uses the whole GPU" until_ok 20 that /v1/vgpus/a '.load_pct > 95'
ctl vgpu set a --no-burst >/dev/null
ok "without burst its contract again" until_ok 20 that /v1/vgpus/a '.load_pct > 48 and .load_pct < 51'

# The other tenants need the whole GPU. The cap of b is its contract, and c has the rest.
sell c 50 busy
ctl vgpu set b --label workload=busy >/dev/null
ok "others get their guarantees" until_ok 20 that /v1/vgpus '[.vgpus[] | select(.id != "a") | .load_pct] | add > 85'
ok "the held vGPU is broken" until_ok 20 that /v1/vgpus/a '.broken and .load_pct < 20'
ok "the hold is the cause" until_ok 30 that /v1/vgpus/a '.cause == "held"'
ctl vgpu release a >/dev/null
ok "without the hold its cap is larger" until_ok 30 that /v1/vgpus/a '.cap_pct >= 20'
api PATCH /v1/policy '{"paper_mode": true}' >/dev/null
is "paper mode is rejected" "$(status)" 422
ok "with the reason" grep -q "sharing = guarantee: not possible with" "$dir/body"
stop

# By default the daemon selects guarantees itself, and paper mode makes caps hard.
: >"$dir/log"
sed -i '/^sharing = /d' "$conf"
start || exit 1
is "caps are guarantees by default" "$(get /v1/gpus '.gpus[0].sharing')" guarantee
ok "the log has a line" grep -q 'GPU gpu0: its sharing is guarantee$' "$dir/log"
ctl vgpu set a --label workload=busy >/dev/null
ctl vgpu set b --label workload=idle >/dev/null
ctl vgpu set c --label workload=idle >/dev/null
ctl vgpu hold a --cap 10 >/dev/null
ok "a vGPU uses idle time beyond its cap" until_ok 20 that /v1/vgpus/a '.load_pct > 48'
api PATCH /v1/policy '{"paper_mode": true}' >/dev/null
is "paper mode is accepted" "$(status)" 200
ok "its load is its cap" until_ok 20 that /v1/vgpus/a '.load_pct < 12'
is "REST reports hard caps" "$(get /v1/gpus '.gpus[0].sharing')" hard
ok "the log contains the reason" grep -q 'GPU gpu0: its sharing is hard: .*paper_mode = on' "$dir/log"
api PATCH /v1/policy '{"paper_mode": null}' >/dev/null
ok "without paper mode it uses idle time again" until_ok 20 that /v1/vgpus/a '.load_pct > 48'
stop

# A backend that has only hard caps.
printf '[daemon]\nsocket = %s\nstate_dir = %s\n[gpu gpu0]\nbackend = lib\nroot = gover-none-%s\nsharing = auto\n' "$sock" "$dir/none" $$ >"$dir/lib.conf"
is "auto is allowed with backend lib" "$("$B/gover-d" --config "$dir/lib.conf" --check-config >/dev/null 2>&1; echo $?)" 0
finish
