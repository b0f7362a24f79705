#!/bin/sh
# A thousand vGPUs on twenty GPUs at one hertz: all are found, sampled, leased and, where they need it, helped. How long
# a tick takes is bench/'s affair (make bench-vgpus).
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"
GOVER_HOST=fuse
# shellcheck source=tests/scenario/host.sh
. "$(dirname "$0")/host.sh"
# shellcheck source=bench/thousand.sh
. "$top/bench/thousand.sh"

fuse_mount "$dir/sys" --gpus 20 --vgpus 50
thousand_make "$dir/sys"
is "a thousand stand on the bus" "$(find "$dir/sys/bus/mdev/devices" -mindepth 1 | wc -l)" 1000
thousand_conf >"$conf"
start || exit 1
ok "the daemon knows all" until_ok 60 that /v1/vgpus '.vgpus | length == 1000'
ok "each is sampled" until_ok 60 that /v1/vgpus '[.vgpus[] | select(.load_pct != null)] | length == 1000'
ok "twenty have bought more than they have" thousand_sell
ok "who needs more wins it on every GPU" until_ok 90 that /v1/vgpus '[.vgpus[] | select(.steals_in > 0)] | map(.gpu) | unique | length == 20'
ok "no GPU gives more than it has" that /v1/gpus '[.gpus[].sum_cap_pct] | max <= 100'
ok "all telemetry is good" that /v1/gpus '[.gpus[].telemetry_valid] | all'
# shellcheck disable=SC2016
is "every cap is leased" "$(cat "$dir"/sys/devices/pci0000:00/*/*/intel_vgpu/cap_lease_ms | sort -u)" 60000
echo "# $(get /v1/host '"\(.ticks) ticks, \(.late_ticks) late, \(.gaps) gaps"')"
stop
is "a clean stop" "$stopped" 0
fuse_unmount
finish
