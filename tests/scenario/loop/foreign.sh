#!/bin/sh
# Another program writes a cap to the scheduler: the vGPU is held at that cap, the daemon does not change it, and after
# a release the policy changes it again.
. "$(dirname "$0")/../host.sh"

conf_extra='[offer]
max_vgpus = 2'
host_vfs='a:50 b:50'
start_loop
ok "a has 50 %" host_vgpu a 50
ok "b has 50 %" host_vgpu b 50
ok "both are sampled" until_ok 20 that /v1/vgpus '[.vgpus[] | select(.load_pct != null)] | length == 2'
host_write_cap a 37
foreign=$written
ok "a is on hold" until_ok 20 vgpu_is a .held
is "at the written cap" "$(vgpu a .cap_pct)" "$foreign"
is "an alert names it" "$(get /v1/alerts '.alerts[] | select(.name == "foreign_write") | .vgpu')" "$uuid_a"
is "b is not on hold" "$(vgpu b .held)" false
ok "periods pass" periods 4
is "the daemon does not change the cap" "$(host_cap a)" "$foreign"
host_write_cap b 50
ok "more periods pass" periods 3
is "a write of the same cap has no effect" "$(vgpu b .held)" false
ctl vgpu release "$uuid_a" >/dev/null
ok "after its release it gets the free cap" until_ok 20 cap_is a 50
is "a released vGPU is not on hold" "$(vgpu a .held)" false
ok "the alert clears" until_ok 20 that /v1/alerts '[.alerts[] | select(.name == "foreign_write")] | length == 0'
finish
