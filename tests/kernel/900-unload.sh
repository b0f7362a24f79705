#!/bin/sh
# The module is unloaded under load with open files and loaded again with other parameters. Wrong parameters are
# rejected.
. "$(dirname "$0")/lib.sh"
gpu 0
module=$B/kernel/gover_gvt/gover_gvt.ko

refused() { insmod "$module" "$@" 2>&1 | sed 's/.*: //'; }

share_of() { # share_of FOLDER: the share of one second
  look "$1"
  before0=$before after0=$after busy0=$busy
  sleep 1
  look "$1"
  share "$before0" "$after0" "$busy0" "$before" "$after" "$busy"
}

for i in 0 1 2; do
  gpu $i
  create 8
  echo 100 >"$v/load"
  create 8
  echo 100 >"$v/load"
  echo 300 >"$q/cap_lease_ms"
done
gpu 1
echo guarantee >"$parent/gover_sharing"
exec 7<"$q/busy_time" 8<"$parent/gover_sharing"
read -r busy <&7
read -r word <&8
is "a GPU has another discipline" "$word" guarantee
ok "the vGPU was busy" test "$busy" -ge 0
ok "the module can be unloaded under load with an open file" rmmod gover_gvt
is "the open file gives ENODEV" "$(cat <&7 2>&1 | sed 's/.*: //')" 'No such device'
is "so does the open file of the GPU" "$(cat <&8 2>&1 | sed 's/.*: //')" 'No such device'
exec 7<&- 8<&-
is "no vGPU remains" "$(ls $mdev)" ''
ok "no GPU remains" test ! -e /sys/class/mdev_bus/gover_gvt.0

is "no GPU: rejected" "$(refused gpus=0)" 'Invalid parameters'
is "too many GPUs: rejected" "$(refused gpus=33)" 'Invalid parameters'
is "an unknown discipline: rejected" "$(refused discipline=fair)" 'Invalid parameters'

ok "it can be loaded with the discipline guarantee" insmod "$module" discipline=guarantee
gpu 0
is "the file of the GPU shows it" "$(cat "$parent/gover_sharing")" guarantee
create 8
echo 100 >"$v/load"
rmmod gover_gvt
ok "it can be loaded with the discipline weight" insmod "$module" discipline=weight
gpu 0
is "the file shows the name of this discipline" "$(cat "$parent/gover_sharing")" weight
create 8
one=$q
echo 100 >"$v/load"
share_of "$one"
ok "a single vGPU of 12 % has the whole GPU" test "$most" -ge 9900
create 4
echo 36 >"$q/cap"
echo 100 >"$v/load"
sleep 0.2
share_of "$q"
ok "a second one of 36 % has three quarters, within 2 points" test "$least" -le 7700 -a "$most" -ge 7300
echo "# $least to $most of 10000"
echo hard >"$parent/gover_sharing"
sleep 0.2 # the slot of the change has no slice
share_of "$q"
ok "hard: it is limited to 36 %, within 2 points" test "$least" -le 3800 -a "$most" -ge 3400
for i in 1 2 3; do
  if ! rmmod gover_gvt || ! insmod "$module" gpus=$((i * 10)); then
    break
  fi
  gpu $((i * 10 - 1))
  create 1
  echo 100 >"$v/load"
done
is "it can be loaded three times, each with more GPUs" "$(find /sys/class/mdev_bus/ -name 'gover_gvt.*' | wc -l)" 30
rmmod gover_gvt
cleanup=''
finish
