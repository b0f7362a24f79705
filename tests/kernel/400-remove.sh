#!/bin/sh
# vGPUs are created and removed under load while other processes read and write the files of these vGPUs: nothing
# hangs, and the share of another vGPU does not change.
. "$(dirname "$0")/lib.sh"
gpu 0
create 4
neighbour=$q
echo 50 >"$q/cap"
echo 100 >"$v/load"

hammer() { # reads and writes all files, also while they are removed
  while [ ! -e "$dir/stop" ]; do
    for file in "$parent"/*-*-*-*-*/intel_vgpu/*; do
      value "$file"
      [ "${file##*/}" != cap_lease_ms ] || echo 100000000 >"$file"
    done
  done 2>/dev/null
}
hammer &
hammer &
hammer &

made=0
make_and_remove() {
  while [ "$made" -lt 60 ]; do
    create 8 || return 1
    second=$v
    echo $((made % 30 + 1)) >"$q/cap" # the sum of the three caps is at most 100
    echo 100 >"$v/load"
    create 8 || return 1
    echo 100 >"$v/load"
    remove "$second" || return 1
    remove "$v" || return 1
    made=$((made + 2))
  done
}
sleep 0.3
look "$neighbour"
before0=$before after0=$after busy0=$busy
ok "60 vGPUs are created and removed under load" make_and_remove
now
[ $((now - after0)) -ge 300 ] || sleep 3
look "$neighbour"
: >"$dir/stop"
wait
share "$before0" "$after0" "$busy0" "$before" "$after" "$busy"
points=${GOVER_POINTS:-1} # tolerance; larger if workloads cannot be preempted
ok "the other vGPU has its 50 %, within $points points" test "$least" -le $((5000 + points * 100)) -a "$most" -ge $((5000 - points * 100))
echo "# $least to $most of 10000"
is "it is the only remaining vGPU" "$(cat "$parent/mdev_supported_types/i915-GVTg_V5_8/available_instances")" 6
remove_all
is "after that none remains" "$(cat "$parent/mdev_supported_types/i915-GVTg_V5_8/available_instances")" 8
finish
