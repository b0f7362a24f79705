#!/bin/sh
# The module is unloaded while VFs are busy and files are open, and loaded again. Open counters keep it loaded.
top=$(cd "$(dirname "$0")/../../.." && pwd)
. "$top/tests/scenario/lib.sh"
. "$top/tests/kernel/xe/lib.sh"

for i in 1 2 3; do
  gpu $i
  functions low 1 20 30
  load vf1 100
  load vf2 endless
done
"$B/kernel/xe-pmu" shares "$pmu_type" 3000 0 1 >"$dir/shares" &
reader=$!
sleep 1
is "open counters keep the module loaded" "$(rmmod gover_xe 2>&1 | grep -c 'in use')" 1
wait "$reader"
exec 7<"$admin/vf1/profile/exec_quantum_ms" 8<"$device/gover_sim/vf1"
ok "the module can be unloaded while VFs are busy and files are open" rmmod gover_xe
is "an open file of a profile gives ENODEV" "$(cat <&7 2>&1 | sed 's/.*: //')" 'No such device'
is "so does an open load" "$(cat <&8 2>&1 | sed 's/.*: //')" 'No such device'
exec 7<&- 8<&-
ok "no PMU remains" sh -c '! ls -d /sys/bus/event_source/devices/xe_*'
ok "no VF remains" sh -c '! ls -d /sys/bus/pci/devices/*/physfn'
ok "it can be loaded again" insmod "$B/kernel/gover_xe/gover_xe.ko"
gpu 1
functions normal 1 20 30
load vf2 100
ok "and works" near "$("$B/kernel/xe-pmu" shares "$pmu_type" 1000 0 1 2 | awk '$1 == 2 { print $2 }')" 5882 500
finish
