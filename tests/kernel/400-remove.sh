#!/bin/sh
# vGPUs made and removed under load while others read and write their files as fast as they can: nothing
# hangs, nothing is lost, and the neighbour's share does not notice.
# shellcheck source=tests/kernel/lib.sh
. "$(dirname "$0")/lib.sh"
gpu 0
create 4
neighbour=$q
echo 50 >"$q/cap"
echo 100 >"$v/load"

hammer() { # reads and writes whatever is there, also what goes away under its hands
  while [ ! -e "$dir/enough" ]; do
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
    echo $((made % 30 + 1)) >"$q/cap" # with the neighbour and the other never more than 100
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
ok "60 vGPUs made and removed under load" make_and_remove
now
[ $((now - after0)) -ge 300 ] || sleep 3
look "$neighbour"
: >"$dir/enough"
wait
share "$before0" "$after0" "$busy0" "$before" "$after" "$busy"
points=${GOVER_POINTS:-1} # more where a GPU cannot be taken away in the middle of something
ok "the neighbour had its 50 %, within $points" test "$least" -le $((5000 + points * 100)) -a "$most" -ge $((5000 - points * 100))
echo "# $least to $most of 10000"
is "it is the only one left" "$(cat "$parent/mdev_supported_types/i915-GVTg_V5_8/available_instances")" 6
remove_all
is "and then none is" "$(cat "$parent/mdev_supported_types/i915-GVTg_V5_8/available_instances")" 8
finish
