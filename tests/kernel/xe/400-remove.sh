#!/bin/sh
# VFs are disabled while they are busy and while their files and counters are open.
top=$(cd "$(dirname "$0")/../../.." && pwd)
. "$top/tests/scenario/lib.sh"
. "$top/tests/kernel/xe/lib.sh"

gpu 8
functions normal 1 20 30 49
load vf1 100
"$B/kernel/xe-pmu" shares "$pmu_type" 3000 0 1 2 >"$dir/shares" &
reader=$!
exec 7<"$admin/vf1/profile/exec_quantum_ms" 8<"$admin/vf1/device/vendor"
sleep 1
ok "busy VFs are disabled" sh -c "echo 0 >$device/sriov_numvfs"
ok "the links are removed" test ! -L "$admin/vf1/device" -a ! -e "$device/virtfn0"
is "an open file of a profile stays, with the default" "$(cat <&7)" 0
is "an open file of the PCI device gives ENODEV" "$(cat <&8 2>&1 | sed 's/.*: //')" 'No such device'
exec 7<&- 8<&-
ok "open counters stay readable" wait "$reader"
sed 's/^/# /' "$dir/shares"
ok "the VF was busy before" test "$(awk '$1 == 1 { print $2 }' "$dir/shares")" -gt 0

functions normal 1 20 30
ok "VFs are enabled again" test -L "$admin/vf2/device" -a ! -L "$admin/vf3/device"
is "with the written quanta" "$(quantum vf1) $(quantum vf2) $(quantum vf3)" '20 30 0'
ok "the kernel cannot remove the PCI device of a single VF" test ! -e "$device/virtfn0/remove"
ok "all are disabled" sh -c "echo 0 >$device/sriov_numvfs"
finish
