#!/bin/sh
# A driver that acknowledges a cap and does not keep it: the alert write_failed names it, the cap is written again after
# pauses, and no vGPU goes on hold. When the driver keeps caps again, the cap follows and the alert ends.
. "$(dirname "$0")/../lib.sh"

start_sim
sell a 50 idle
foreign() { get '/v1/decisions?limit=1000' '[.decisions[] | select(.kind == "foreign_write")] | length'; }
rate() { get '/v1/decisions?limit=1000' '[.decisions[] | select(.vgpu == "a")] | length'; }
for fault in ignore forget; do
  # A release would leave the cap at 30 % if the daemon wrote it again between the end of the fault and the release.
  ok "a is held at its contract" until_ok 70 ctl vgpu hold a --cap 50
  ok "it has this cap" until_ok 70 that /v1/vgpus/a '.cap_pct == 50'
  ok "no alert is active" until_ok 20 alerts 0 write_failed
  periods 5
  echo $fault >"$dir/poke/a.fault"
  ok "fault $fault begins" until_ok 10 test ! -e "$dir/poke/a.fault"
  ctl vgpu hold a --cap 30 >/dev/null 2>&1
  ok "the alert names the driver" until_ok 10 that /v1/alerts \
    '[.alerts[] | select(.name == "write_failed" and (.text | test("driver does not keep the cap of vGPU a: 30 %")))] | length == 1'
  before=$(rate)
  periods 30
  ok "3 s have at most four further decisions" test $(($(rate) - before)) -le 4
  is "nothing is an external change" "$(foreign) $(alerts 0 foreign_write && echo none)" "0 none"
  is "the cap in force is reported" "$(get /v1/vgpus/a .cap_pct)" 50
  echo none >"$dir/poke/a.fault"
  ok "fault $fault ends" until_ok 10 test ! -e "$dir/poke/a.fault"
done
ok "the alert ends" until_ok 70 alerts 0 write_failed
finish
