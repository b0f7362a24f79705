#!/bin/sh
# A thousand vGPUs on twenty GPUs with a period of one second: all are found and sampled, have leases and get cap if they
# need it. make bench-vgpus measures the duration of a tick.
GOVER_HOST=fuse
. "$(dirname "$0")/../host.sh"
. "$top/tests/bench/thousand.sh"

fuse_mount "$dir/sys" --gpus 20 --vgpus 50
thousand_make "$dir/sys"
is "a thousand vGPUs are on the bus" "$(find "$dir/sys/bus/mdev/devices" -mindepth 1 | wc -l)" 1000
thousand_conf >"$conf"
start || exit 1
ok "the daemon finds all" until_ok 60 that /v1/vgpus '.vgpus | length == 1000'
ok "each is sampled" until_ok 60 that /v1/vgpus '[.vgpus[] | select(.load_pct != null)] | length == 1000'
ok "twenty have a contract above their cap" thousand_sell
ok "on every GPU a vGPU gets cap by a steal" until_ok 90 that /v1/vgpus '[.vgpus[] | select(.steals_in > 0)] | map(.gpu) | unique | length == 20'
ok "no sum of caps exceeds 100" that /v1/gpus '[.gpus[].sum_cap_pct] | max <= 100'
ok "all telemetry is valid" that /v1/gpus '[.gpus[].telemetry_valid] | all'
# shellcheck disable=SC2016
is "every cap has a lease" "$(cat "$dir"/sys/devices/pci0000:00/*/*/intel_vgpu/cap_lease_ms | sort -u)" 60000
echo "# $(get /v1/host '"\(.ticks) ticks, \(.late_ticks) late, \(.gaps) gaps"')"
stop
is "a clean stop" "$stopped" 0
fuse_unmount
finish
