#!/bin/sh
# The module goes under load, with files open, and comes again with other parameters; wrong ones are
# refused.
# shellcheck source=tests/kernel/lib.sh
. "$(dirname "$0")/lib.sh"
gpu 0
module=$B/kernel/gover_gvt/gover_gvt.ko

refused() { insmod "$module" "$@" 2>&1 | sed 's/.*: //'; }

share_of() { # share_of FOLDER: of a second
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
exec 7<"$q/busy_time"
read -r busy <&7
ok "it was busy" test "$busy" -ge 0
ok "the module can go under load, with a file open" rmmod gover_gvt
is "the open file gives ENODEV" "$(cat <&7 2>&1 | sed 's/.*: //')" 'No such device'
exec 7<&-
is "no vGPU is left" "$(ls $mdev)" ''
ok "no parent is left" test ! -e /sys/class/mdev_bus/gover_gvt.0

is "no GPU: refused" "$(refused gpus=0)" 'Invalid parameters'
is "too many: refused" "$(refused gpus=33)" 'Invalid parameters'
is "an unknown discipline: refused" "$(refused discipline=fair)" 'Invalid parameters'

ok "it comes again, with the other discipline" insmod "$module" discipline=weight
gpu 0
create 8
one=$q
echo 100 >"$v/load"
share_of "$one"
ok "a vGPU of 12 % alone has the whole GPU" test "$most" -ge 9900
create 4
echo 36 >"$q/cap"
echo 100 >"$v/load"
sleep 0.2
share_of "$q"
ok "beside it 36 % are three quarters, within 2 points" test "$least" -le 7700 -a "$most" -ge 7300
echo "# $least to $most of 10000"
for i in 1 2 3; do
  if ! rmmod gover_gvt || ! insmod "$module" gpus=$((i * 10)); then
    break
  fi
  gpu $((i * 10 - 1))
  create 1
  echo 100 >"$v/load"
done
is "three times again, each with more GPUs" "$(find /sys/class/mdev_bus/ -name 'gover_gvt.*' | wc -l)" 30
rmmod gover_gvt
cleanup=''
finish
