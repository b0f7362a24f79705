#!/bin/sh
# A busy time that no GPU can reach is not believed: the telemetry is invalid for this period, and no sample has the value.
# The telemetry is invalid for one period, which a slow machine must see.
GOVER_HOST=fuse period_ms=1000 speed=1
. "$(dirname "$0")/../host.sh"

[ "$(id -u)" -eq 0 ] || skip_all "a bind mount needs root"
host_setup
loop_conf
host_vgpu_files() { echo "$host_parent/$uuid_a/intel_vgpu"; }
name_vgpu a
make_on_bus "$uuid_a" 50
echo 1000 >"$dir/busy"
mount --bind "$dir/busy" "$(host_vgpu_files)/busy_time" 2>/dev/null || skip_all "a bind mount is not permitted"
cleanup="umount -l '$(host_vgpu_files)/busy_time'; $cleanup"
start || exit 1
ok "the vGPU has a contract" contract "$uuid_a" 50
valid() { that /v1/gpus ".gpus[0].telemetry_valid == $1"; }
ok "the telemetry is valid" until_ok 10 valid true

# The daemon keeps the file open, so the value is replaced in place.
for nonsense in 9223372036854775807 5000000000000; do
  echo 1000 >"$dir/busy"
  periods 3
  echo $nonsense >"$dir/busy"
  ok "busy time $nonsense: the telemetry becomes invalid" until_ok 5 valid false
  ok "busy time $nonsense: the telemetry is valid again when the value is constant" until_ok 10 valid true
done
echo garbage >"$dir/busy"
ok "a text that is no number makes the telemetry invalid" until_ok 5 valid false
periods 3
ok "the telemetry stays invalid" valid false
echo 2000 >"$dir/busy"
ok "a number makes it valid again" until_ok 10 valid true
stop
is "no sample has an impossible load" "$(history "SELECT count(load_pct) > 5, max(load_pct) <= 200 FROM sample")" "1|1"
finish
