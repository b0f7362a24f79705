#!/bin/sh
# The PMU has the formats, events, parameters and errors of drivers/gpu/drm/xe/xe_pmu.c (drm-tip 8b866a89208e).
top=$(cd "$(dirname "$0")/../../.." && pwd)
. "$top/tests/scenario/lib.sh"
. "$top/tests/kernel/xe/lib.sh"

gpu 2
functions normal 10 30 60
is "formats" "$(cd "$pmu/format" && grep . -- * | sort | paste -s -d ' ')" \
  "engine_class:config:20-27 engine_instance:config:12-19 event:config:0-11 function:config:44-59 gt:config:60-63"
is "events" "$(cd "$pmu/events" && grep . -- * | sort | paste -s -d ' ')" \
  "engine-active-ticks:event=0x02 engine-total-ticks:event=0x03 gt-actual-frequency.unit:MHz gt-actual-frequency:event=0x04 \
gt-c6-residency.unit:ms gt-c6-residency:event=0x01 gt-requested-frequency.unit:MHz gt-requested-frequency:event=0x05"

config() { # config EVENT [FUNCTION [CLASS [INSTANCE [GT]]]]
  printf '%#x' $(($1 | ${4-0} << 12 | ${3-0} << 20 | ${2-0} << 44 | ${5-0} << 60))
}
opens() { # opens RESULT TEXT CONFIG [MODE]
  is "$2: $1" "$("$B/kernel/xe-pmu" open "$pmu_type" "$3" ${4+"$4"})" "$1"
}
opens ok "active ticks of the PF" "$(config 2)"
opens ok "of a VF" "$(config 2 1)"
opens ok "of a VF that is not enabled" "$(config 3 16)"
opens ENOENT "of a function beyond sriov_totalvfs" "$(config 2 17)"
opens ok "of the copy engine" "$(config 2 1 1)"
opens ok "of a video engine on GT 1" "$(config 2 1 2 0 1)"
opens ENOENT "of a video engine on GT 0" "$(config 2 1 2)"
opens ENOENT "of a second render engine" "$(config 2 1 0 1)"
opens ENOENT "of an unknown class" "$(config 2 1 9)"
opens ENOENT "of a third GT" "$(config 2 1 0 0 2)"
opens ok "residency of a GT" "$(config 1 0 0 0 1)"
opens ENOENT "residency of a function" "$(config 1 1)"
opens ENOENT "event 0" 0
opens ENOENT "event 6" 6
opens EINVAL "sampling" "$(config 2)" sample
opens EINVAL "a task instead of a CPU" "$(config 2)" task

load vf1 100
load vf2 20
ok "a group is read" sh -c "'$B/kernel/xe-pmu' shares '$pmu_type' 5000 0 1 2 16 >'$dir/shares'"
sed 's/^/# function, active, total (1\/10000): /' "$dir/shares"
# Times of readings differ by some ms.
while read -r function active total; do
  case $function in
  0) wanted='0 1000' ;;
  1) wanted='3000 3000' ;;
  2) wanted='2000 6000' ;;
  16) wanted='0 0' ;;
  esac
  ok "active ticks of function $function" near "$active" "${wanted% *}" 150
  ok "total ticks of function $function, its part of the round" near "$total" "${wanted#* }" 150
done <"$dir/shares"
ok "a frequency is counted" test "$("$B/kernel/xe-pmu" read "$pmu_type" 4 10)" -ge 1300
# The GPU is busy for half of the time.
residency=$("$B/kernel/xe-pmu" read "$pmu_type" 1 1000)
ok "the residency is the idle time in ms: $residency" test "$residency" -ge 400 -a "$residency" -lt 900
is "other engines are idle" "$("$B/kernel/xe-pmu" read "$pmu_type" "$(config 2 1 1)" 300)" 0
finish
