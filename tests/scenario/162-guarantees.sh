#!/bin/sh
# The simulated GPU in the daemon with sharing = guarantee: service is judged by the time that was available, not by the
# cap. A vGPU with a small cap is served while others leave time unused, and broken when they do not.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

conf_extra='[policy]
name = qos'
sim_conf
sed -i 's/^backend = sim$/&\nsharing = guarantee/' "$conf"
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
ok "a larger cap would not help" until_ok 20 that /v1/vgpus/a '.overloaded'
ctl vgpu set a --burst >/dev/null
ok "with burst it uses the whole GPU" until_ok 20 that /v1/vgpus/a '.load_pct > 95'
ctl vgpu set a --no-burst >/dev/null
ok "without burst its contract again" until_ok 20 that /v1/vgpus/a '.load_pct > 48 and .load_pct < 51'

# The other tenants want the whole GPU: b has its contract as cap, and c the rest.
sell c 50 busy
ctl vgpu set b --label workload=busy >/dev/null
ok "others get their guarantees" until_ok 20 that /v1/vgpus '[.vgpus[] | select(.id != "a") | .load_pct] | add > 85'
ok "the held vGPU is broken" until_ok 20 that /v1/vgpus/a '.broken and .load_pct < 20'
ok "the hold is the cause" until_ok 30 that /v1/vgpus/a '.cause == "held"'
ctl vgpu release a >/dev/null
ok "without the hold it gets more" until_ok 30 that /v1/vgpus/a '.cap_pct >= 20'
api PATCH /v1/policy '{"paper_mode": true}' >/dev/null
is "paper mode is rejected" "$(status)" 422
ok "with the reason" grep -q "sharing = guarantee: not possible with" "$dir/body"
stop
finish
