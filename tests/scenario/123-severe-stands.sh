#!/bin/sh
# Severe overload is told as long as it lasts, and once: also on a frozen GPU, over a late tick, and when the vGPU it
# named is removed.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

conf_extra='[policy]
fund_window_s = 1'
sim_conf
start || exit 1
for v in a b c; do
  sell "$v" 100 idle
  ok "$v has a cap" until_ok 10 that "/v1/vgpus/$v" '.util_pct != null'
done
for v in a b c; do load $v busy; done
severe='[.alerts[] | select(.name == "severe_overload")]'
ok "all three want more: severe overload" until_ok 20 alerts 1 severe_overload
named=$(get /v1/alerts "${severe}[0].vgpu")
stands() { # stands PERIODS: in every one of them
  end=$(($(get /v1/host .ticks) + $1))
  while [ "$(get /v1/host .ticks)" -lt "$end" ]; do
    that /v1/alerts "$severe | length > 0" || return 1
    sleep 0.05
  done
}
gaps=$(get /v1/host .gaps)
kill -STOP "$daemon_pid"
sleep 0.5
kill -CONT "$daemon_pid"
ok "a tick comes late" until_ok 10 that /v1/host ".gaps > $gaps"
ok "that does not end it" stands 8
is "nor is it another then" "$(get '/v1/alerts?all=true' "$severe | length")" 1
is "it was decided once" "$(get '/v1/decisions?limit=1000' '[.decisions[] | select(.kind == "severe")] | length')" 1
ctl freeze >/dev/null
ok "frozen: it still stands" stands 8
ctl thaw >/dev/null
api DELETE "/v1/vgpus/$named" >/dev/null
is "the one it named is removed" "$(status)" 204
ok "it still stands for the others" stands 8
ok "and names that one no more" until_ok 10 that /v1/alerts "$severe | map(.vgpu) | index(\"$named\") == null"
for v in a b c; do load $v idle; done
ok "all calm: it clears" until_ok 20 alerts 0 severe_overload
ctl freeze >/dev/null
for v in a b c; do load $v busy; done
ok "it begins on a frozen GPU too" until_ok 20 alerts 1 severe_overload
stop
finish
