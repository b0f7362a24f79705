#!/bin/sh
# Runs the command of the udev rule for SR-IOV on a copy of the tree: it permits writing time slices and priorities only.
. "$(dirname "$0")/../lib.sh"

admin=$dir/device/sriov_admin
for function in pf vf1 vf2; do
  mkdir -p "$admin/$function/profile"
  for file in exec_quantum_ms preempt_timeout_us vram_quota; do
    echo 0 >"$admin/$function/profile/$file"
  done
  echo '[low] normal' >"$admin/$function/profile/sched_priority"
  echo 0 >"$admin/$function/stop"
done
mkdir "$admin/.bulk_profile"
touch "$admin/.bulk_profile/sched_priority" "$admin/.bulk_profile/exec_quantum_ms" "$dir/device/sriov_numvfs"
chmod -R u=rwX,go=rX "$dir/device"
chmod 200 "$admin"/.bulk_profile/*

# udev replaces $$ by $, and $devpath by the path of the device.
# shellcheck disable=SC2016 # for sed
command=$(sed -n 's|.*TEST=="sriov_admin/pf/profile", RUN+="/bin/sh -c '"'\(.*\)'"'"$|\1|p' "$top/dist/systemd/60-gover.rules" |
  sed "s|/sys\$devpath|$dir/device|; s|chgrp gover|chgrp $(id -g)|; s|\\\$\\\$|\$|g")
ok "the rule has a command" test -n "$command"
ok "the command succeeds" /bin/sh -c "$command"
is "the group may write the time slice of each function" "$(stat -c %a "$admin"/*/profile/exec_quantum_ms | xargs)" "664 664 664"
is "the group may write the preemption timeouts" "$(stat -c %a "$admin"/*/profile/preempt_timeout_us | xargs)" "664 664 664"
is "the group may write the priority of all functions" "$(stat -c %a "$admin/.bulk_profile/sched_priority")" 220
is "the group may write nothing else" \
  "$(find "$dir/device" -type f -perm -g=w | sed "s|.*sriov_admin/||" | grep -vE 'exec_quantum_ms|preempt_timeout_us|^.bulk_profile/sched_priority$'; stat -c %a "$admin/.bulk_profile/exec_quantum_ms")" 200
finish
