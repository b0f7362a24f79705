#!/bin/sh
# Measures shares with the counters of the kernel over ten seconds. Each vGPU gets its cap within one percentage point.
# Time that an idle vGPU does not use is not given to others. Caps whose sum exceeds 100 are reduced in proportion.
. "$(dirname "$0")/lib.sh"
cleanup=remove_tenants

tenant 2 20 100 2000
tenant 2 30 100 3000
tenant 2 50 100 5000
tenant 3 80 100 5000
tenant 3 80 100 5000
tenant 4 70 0 0
tenant 4 20 100 2000
tenant 4 10 7 700
tenant 5 0 100 10000
sleep 0.2
look_at_all >"$dir/from"
sleep 10
look_at_all >"$dir/to"

paste -d ' ' "$dir/tenants" "$dir/from" "$dir/to" >"$dir/all"
while read -r q gpu cap load want before0 after0 busy0 allotted0 before1 after1 busy1 allotted1; do
  share "$before0" "$after0" "$busy0" "$before1" "$after1" "$busy1"
  ok "GPU $gpu, cap $cap, load $load: $((want / 100)) % of ten seconds, within 1 point" \
    test "$least" -le $((want + 100)) -a "$most" -ge $((want - 100))
  echo "# $least to $most of 10000"
  [ "$cap" -gt 0 ] || cap=100
  share "$before0" "$after0" "$allotted0" "$before1" "$after1" "$allotted1"
  ok "and $cap % of them allotted" test "$least" -le $((cap * 100 + 50)) -a "$most" -ge $((cap * 100 - 50))
done <"$dir/all"
finish
