#!/bin/sh
# Three tenants with full load and caps of 20, 30 and 50 %: over ten seconds each vGPU gets its share within one
# percentage point, and the daemon does not change the caps.
. "$(dirname "$0")/../host.sh"

host_vfs='a:20 b:30 c:50'
start_loop
for vgpu in a:20 b:30 c:50; do
  ok "a contract of ${vgpu#*:} %" host_vgpu "${vgpu%:*}" "${vgpu#*:}"
  host_load "${vgpu%:*}" 100
done
ok "all three are busy" until_ok 20 that /v1/vgpus '[.vgpus[] | select(.util_pct > 95)] | length == 3'
ticks=$(get /v1/host .ticks)
since=$(date +%s%3N)
# Measure at least ten seconds of GPU time. At a speed above 1 and in an emulated machine, measure four times as long, because a
# late reading has a larger effect.
needed=$((10000 * (speed > 1 || ${GOVER_POLL:-1} > 1 ? 4 : 1) / (period_ms * speed) + 2))
ok "ten seconds pass" until_ok 120 that /v1/host ".ticks >= $ticks + $needed"
# Below, the history is polled, because samples are written with a delay of some seconds.
mean() { # mean NAME: prints the mean load in percent since $since, weighted by the length of the periods
  history "SELECT round(sum(s.load_pct * s.dt_s) / sum(s.dt_s), 2) FROM sample s JOIN vgpu v ON v.num = s.vgpu
    WHERE v.id = '$(host_uuid "$1")' AND s.ts_ms > $since"
}
has() { mean "$1" | awk -v pct="$2" '{ exit !($1 > pct - 1 && $1 < pct + 1) }'; } # has NAME PCT
for vgpu in a:20 b:30 c:50; do
  ok "a cap of ${vgpu#*:} % gives ${vgpu#*:} %, within a point" until_ok 20 has "${vgpu%:*}" "${vgpu#*:}"
  echo "# ${vgpu#*:} %: $(mean "${vgpu%:*}") %"
done
is "no cap is changed" "$(host_cap a) $(host_cap b) $(host_cap c)" "20 30 50"
ok "an alert reports each at its limit" \
  until_ok 20 that /v1/alerts '[.alerts[] | select(.name == "contract_limit")] | length == 3'
finish
