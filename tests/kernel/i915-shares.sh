#!/bin/sh
# Measures shares of the scheduling policy for i915 on a simulated GPU. If the sum of the caps is below 100, each vGPU
# gets its cap within one percentage point. No two vGPUs use the GPU at the same time. Simultaneous use of two engines
# counts once. An engine sleeps 4 ms for each workload. Shares are tested only if such a sleep takes at most 6 ms.
. "$(dirname "$0")/lib.sh"

cleanup=remove_tenants

gpu 5
create 8
folders=$v
control=$q
echo 0 >"$q/cap"
echo 10 >"$v/load"
tenant 2 10 100 1000
tenant 2 20 100 2000
tenant 2 30 100 3000
tenant 3 50 100 5000
tenant 4 70 0 0
tenant 4 20 100 2000
sleep 0.2
look "$control"
before0=$before after0=$after busy0=$busy
look_at_all >"$dir/from"
sleep 10
look_at_all >"$dir/to"
look "$control"
share "$before0" "$after0" "$busy0" "$before" "$after" "$busy"
took_us=$((most * 4))
echo "# 4 ms take $took_us us"

paste -d ' ' "$dir/tenants" "$dir/from" "$dir/to" >"$dir/all"
while read -r q gpu cap load want before0 after0 busy0 allotted0 before1 after1 busy1 allotted1; do
  share "$before0" "$after0" "$busy0" "$before1" "$after1" "$busy1"
  echo "$gpu $least" >>"$dir/least"
  text="GPU $gpu, cap $cap, load $load: $((want / 100)) % of ten seconds, within 1 point"
  if [ "$took_us" -gt 6000 ]; then
    n=$((n + 1))
    echo "ok $n - $text # SKIP 4 ms take $took_us us here"
  else
    ok "$text" test "$least" -le $((want + 100)) -a "$most" -ge $((want - 100))
  fi
  echo "# $least to $most of 10000"
  share "$before0" "$after0" "$allotted0" "$before1" "$after1" "$allotted1"
  ok "and $cap % of them allotted" test "$least" -le $((cap * 100 + 50)) -a "$most" -ge $((cap * 100 - 50))
done <"$dir/all"
is "no GPU is busy for more than the whole time" \
  "$(awk '{ sum[$1] += $2 } END { for (gpu in sum) if (sum[gpu] > 10000) print gpu, sum[gpu] }' "$dir/least")" ''
finish
