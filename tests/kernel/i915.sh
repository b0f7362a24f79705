#!/bin/sh
# kvmgt with gover's policy comes and goes, alone and with i915. There is no Intel GPU, so nothing binds.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/../scenario/lib.sh"
modules=$OUT/modules
kvmgt=$modules/kvmgt.ko
discipline=/sys/module/kvmgt/parameters/discipline

load_rest() { # what kvmgt needs and is not there
  while read -r file; do
    name=$(basename "$file" .ko | tr - _)
    [ "$name" = kvmgt ] || [ -d "/sys/module/$name" ] || insmod "$modules/$file" || return 1
  done <"$modules/list"
}

refused() { insmod "$kvmgt" "$@" 2>&1 | sed 's/.*: //'; }

ok "the kernel's own modules load, i915 among them" load_rest
ok "i915 is there" test -d /sys/module/i915
ok "kvmgt loads" insmod "$kvmgt"
is "the policy in it is gover's" "$(awk '$4 == "[kvmgt]" && $3 ~ /_schedule_ops$/ { print $3 }' /proc/kallsyms)" gover_schedule_ops
for symbol in sched_pick intel_vgpu_sched_attrs intel_vgpu_end_workload; do
  ok "$symbol is there" grep -q " $symbol.\[kvmgt\]" /proc/kallsyms
done
ok "i915 knows that kvmgt uses it" test -e /sys/module/i915/holders/kvmgt
is "the discipline is cap" "$(cat $discipline)" cap
is "and is fixed while it is loaded" "$(stat -c %a $discipline)" 444
ok "kvmgt goes" rmmod kvmgt

ok "it comes with another discipline" insmod "$kvmgt" discipline=weight
is "which it tells" "$(cat $discipline)" weight
ok "and goes" rmmod kvmgt
is "an unknown discipline is refused" "$(refused discipline=fair)" 'Invalid parameters'
is "a long one too" "$(refused discipline=weightweightweightweight)" 'Invalid parameters'
ok "and nothing is left of that" test ! -e /sys/module/kvmgt

come_and_go() {
  times=0
  while [ "$times" -lt 10 ]; do
    insmod "$kvmgt" && rmmod kvmgt || return 1
    times=$((times + 1))
  done
}
ok "ten times again" come_and_go

both() {
  times=0
  while [ "$times" -lt 3 ]; do
    rmmod i915 && load_rest && insmod "$kvmgt" && rmmod kvmgt || return 1
    times=$((times + 1))
  done
}
ok "three times with i915" both
finish
