#!/bin/sh
# kvmgt with gover's policy is loaded and unloaded, alone and with i915. Without an Intel GPU no device binds.
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/tests/scenario/lib.sh"
modules=$OUT/modules
kvmgt=$modules/kvmgt.ko
discipline=/sys/module/kvmgt/parameters/discipline

load_rest() { # loads the missing modules that kvmgt needs
  while read -r file; do
    name=$(basename "$file" .ko | tr - _)
    [ "$name" = kvmgt ] || [ -d "/sys/module/$name" ] || insmod "$modules/$file" || return 1
  done <"$modules/list"
}

refused() { insmod "$kvmgt" "$@" 2>&1 | sed 's/.*: //'; }

ok "the kernel's own modules load, including i915" load_rest
ok "i915 is loaded" test -d /sys/module/i915
ok "kvmgt loads" insmod "$kvmgt"
is "it contains gover's policy" "$(awk '$4 == "[kvmgt]" && $3 ~ /_schedule_ops$/ { print $3 }' /proc/kallsyms)" gover_schedule_ops
for symbol in sched_pick intel_vgpu_sched_attrs intel_gvt_sharing_attr intel_vgpu_end_workload; do
  ok "it contains $symbol" grep -q " $symbol.\[kvmgt\]" /proc/kallsyms
done
ok "kvmgt is a holder of i915" test -e /sys/module/i915/holders/kvmgt
is "the discipline is cap" "$(cat $discipline)" cap
is "the parameter is read-only" "$(stat -c %a $discipline)" 444
ok "kvmgt can be unloaded" rmmod kvmgt

for other in weight guarantee; do
  ok "it can be loaded with the discipline $other" insmod "$kvmgt" discipline=$other
  is "the parameter shows it" "$(cat $discipline)" "$other"
  ok "it can be unloaded again" rmmod kvmgt
done
is "an unknown discipline is rejected" "$(refused discipline=fair)" 'Invalid parameters'
is "a long one is rejected too" "$(refused discipline=weightweightweightweight)" 'Invalid parameters'
ok "kvmgt is not loaded then" test ! -e /sys/module/kvmgt

load_and_unload() {
  times=0
  while [ "$times" -lt 10 ]; do
    insmod "$kvmgt" && rmmod kvmgt || return 1
    times=$((times + 1))
  done
}
ok "it can be loaded and unloaded ten times" load_and_unload

both() {
  times=0
  while [ "$times" -lt 3 ]; do
    rmmod i915 && load_rest && insmod "$kvmgt" && rmmod kvmgt || return 1
    times=$((times + 1))
  done
}
ok "three times together with i915" both
finish
