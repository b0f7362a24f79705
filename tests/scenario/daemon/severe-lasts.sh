#!/bin/sh
# The alert for severe overload is raised once and lasts as long as the overload, also on a frozen GPU, after a late
# tick, and after the removal of the vGPU that it names.
. "$(dirname "$0")/../lib.sh"

conf_extra='[policy]
fund_window_s = 1'
start_sim
for v in a b c; do
  sell "$v" 100 idle
  ok "$v has a valid use" until_ok 10 that "/v1/vgpus/$v" '.util_pct != null'
done
for v in a b c; do load $v busy; done
severe='[.alerts[] | select(.name == "severe_overload")]'
ok "three overloaded vGPUs raise severe_overload" until_ok 20 alerts 1 severe_overload
named=$(get /v1/alerts "${severe}[0].vgpu")
lasts() { # lasts PERIODS: succeeds if the alert is active in each of these periods
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
ok "a late tick is recorded" until_ok 10 that /v1/host ".gaps > $gaps"
ok "a late tick does not end the alert" lasts 8
is "a late tick raises no second alert" "$(get '/v1/alerts?all=true' "$severe | length")" 1
is "one severe decision is recorded" "$(get '/v1/decisions?limit=1000' '[.decisions[] | select(.kind == "severe")] | length')" 1
ctl freeze >/dev/null
ok "a frozen GPU keeps the alert" lasts 8
ctl thaw >/dev/null
api DELETE "/v1/vgpus/$named" >/dev/null
is "the named vGPU is removed" "$(status)" 204
ok "the alert stays active for the remaining vGPUs" lasts 8
ok "the alert no longer names the removed vGPU" until_ok 10 that /v1/alerts "$severe | map(.vgpu) | index(\"$named\") == null"
for v in a b c; do load $v idle; done
ok "the alert clears when no vGPU is overloaded" until_ok 20 alerts 0 severe_overload
ctl freeze >/dev/null
for v in a b c; do load $v busy; done
ok "the alert is also raised on a frozen GPU" until_ok 20 alerts 1 severe_overload
finish
