#!/bin/sh
# Measures shares of quanta with the PMU over ten seconds: hard limits under normal; under low an idle function's time goes to
# the others in proportion. A new quantum is in force in the next round.
top=$(cd "$(dirname "$0")/../../.." && pwd)
. "$top/tests/scenario/lib.sh"
. "$top/tests/kernel/xe/lib.sh"

tenants() { # tenants GPU PRIORITY PF_QUANTUM QUANTUM:LOAD:SHARE...: SHARE is in hundredths of a percent
  gpu "$1"
  quanta=''
  priority=$2 pf_quantum=$3
  shift 3
  for tenant; do
    quanta="$quanta ${tenant%%:*}"
  done
  # shellcheck disable=SC2086 # several quanta
  functions "$priority" "$pf_quantum" $quanta
  i=0
  for tenant; do
    i=$((i + 1))
    rest=${tenant#*:}
    load vf$i "${rest%:*}"
    echo "$pf $i $priority ${tenant%%:*} ${rest%:*} ${rest#*:}" >>"$dir/wanted"
  done
  "$B/kernel/xe-pmu" shares "$pmu_type" 10000 0 $(seq 1 $i) >"$dir/shares.$pf" &
  measuring="$measuring $!"
}

measuring=''
tenants 3 normal 1 20:100:2000 30:100:3000 49:100:4900
tenants 4 low 1 20:100:2857 30:0:0 50:100:7143
tenants 5 normal 1 20:100:2000 30:0:0 49:100:4900
tenants 6 low 1 40:10:1000 30:100:4500 30:100:4500
# shellcheck disable=SC2086 # several numbers
wait $measuring
while read -r pf i priority quantum pct wanted; do
  active=$(awk -v i="$i" '$1 == i { print $2 }' "$dir/shares.$pf")
  ok "$pf $priority: a quantum of $quantum ms and a load of $pct % get $wanted of 10000, within 2 points" \
    near "$active" "$wanted" 200
  echo "# $active of 10000"
done <"$dir/wanted"

# VF 1 of GPU 3: 20 ms of a round of 100 ms.
gpu 3
# A guest that is halted meanwhile sees parts of turns, so there are three attempts.
for ms in 40 20 40; do
  # shellcheck disable=SC2046 # three numbers
  set -- $("$B/kernel/xe-pmu" change "$pmu_type" 1 "$admin/vf1/profile/exec_quantum_ms" $ms)
  echo "# the next turns: $1 us and $2 us; the first began $3 us after the write of $ms ms"
  near "$1" $((ms * 1000)) 2000 && near "$2" $((ms * 1000)) 2000 && [ "$3" -le 120000 ] && break
done
ok "the next turn has the written quantum" near "$1" $((ms * 1000)) 2000
ok "so has the turn after it" near "$2" $((ms * 1000)) 2000
# On a busy machine the reader continues late.
ok "the next turn begins within a round" test "$3" -le 120000
finish
