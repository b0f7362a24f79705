#!/bin/sh
# The folder sriov_admin is that of the kernel's ABI document, and the files of SR-IOV are the kernel's own.
top=$(cd "$(dirname "$0")/../../.." && pwd)
. "$top/tests/scenario/lib.sh"
. "$top/tests/kernel/xe/lib.sh"

gpu 1
compare_with_abi /sys "$pf"
ok "a VF is enabled" sh -c "echo 1 >$device/sriov_numvfs"
is "its address follows that of the PF" "$(basename "$(realpath "$device/virtfn0")")" 0000:01:00.1
is "its PF is known" "$(basename "$(realpath "$device/virtfn0/physfn")")" "$pf"
ok "it has no driver" test ! -e "$device/virtfn0/driver"
is "the number of VFs cannot be changed while VFs are enabled" \
  "$(refused 2 "$device/sriov_numvfs")" 'Device or resource busy'
echo 0 >"$device/sriov_numvfs"
is "more VFs than sriov_totalvfs are rejected" "$(refused 17 "$device/sriov_numvfs")" 'Numerical result out of range'
is "a disabled VF has no load" "$(refused 50 "$device/gover_sim/vf1")" 'No such device'
finish
