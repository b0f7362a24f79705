#!/bin/sh
# The file system of gover-sim rejects the same operations as a kernel with the same errors, also for root. gover-sim
# starts and ends cleanly.
GOVER_HOST=fuse
. "$(dirname "$0")/../host.sh"

# --- the command line of gover-sim ---

usage() { # usage WORD...: exits with 2 and a hint
  timeout 20 "$B/gover-sim" "$@" >"$dir/out" 2>&1
  [ $? -eq 2 ] && grep -q 'gover-sim --help' "$dir/out"
}
ok "no argument is wrong usage" usage
ok "an unknown verb is wrong usage" usage umount "$dir"
ok "no directory" usage mount
ok "two of them" usage mount "$dir" "$dir"
ok "an unknown option" usage mount --cards 3 "$dir"
ok "no GPUs at all" usage mount --gpus 0 "$dir"
ok "too many vGPUs" usage mount --vgpus 257 "$dir"
ok "a speed of 0" usage mount --speed 0 "$dir"
ok "the version is printed" sh -c "'$B/gover-sim' --version | grep -q '^gover-sim [0-9]'"

refused() { # refused TEXT WORD...: exits with 1 and a message
  text=$1
  shift
  "$B/gover-sim" "$@" >"$dir/out" 2>&1
  [ $? -eq 1 ] && grep -q "$text" "$dir/out"
}
: >"$dir/file"
ok "a missing directory is rejected" refused "$dir/nowhere: No such file" mount "$dir/nowhere"
ok "a file is rejected" refused "not a directory" mount "$dir/file"

# --- the files of gover-sim ---

fuse_mount "$dir/sys" --vgpus 4
gpu=$dir/sys/class/mdev_bus/0000:00:02.0
types=$gpu/mdev_supported_types
u=aaaaaaaa-0000-0000-0000-000000000001
v=$dir/sys/bus/mdev/devices/$u
fails() { # fails MESSAGE COMMAND: the shell prints the message
  (eval "$2") 2>"$dir/said"
  grep -q "$1" "$dir/said" || {
    cat "$dir/said"
    return 1
  }
}
ok "a vGPU can be created" sh -c "echo $u >$types/i915-GVTg_V5_8/create"
is "it is on the bus" "$(readlink -f "$v")" "$(readlink -f "$gpu/$u")"
is "it has its type" "$(basename "$(readlink -f "$v/mdev_type")")" i915-GVTg_V5_8
while IFS='|' read -r words command; do
  ok "$command: $words" fails "$words" "$command"
done <<EOF
File exists|env echo $u >$types/i915-GVTg_V5_8/create
Invalid argument|env echo me >$types/i915-GVTg_V5_8/create
No space left on device|env echo bbbbbbbb-0000-0000-0000-000000000002 >$types/i915-GVTg_V5_1/create
Permission denied|cat $types/i915-GVTg_V5_8/create
Permission denied|env echo 8 >$types/i915-GVTg_V5_8/available_instances
Invalid argument|env echo 101 >$v/intel_vgpu/cap
Invalid argument|env echo -1 >$v/intel_vgpu/cap
Invalid argument|env echo much >$v/intel_vgpu/cap
Invalid argument|env echo >$v/intel_vgpu/cap
Numerical result out of range|env echo 99999999999 >$v/intel_vgpu/cap
Permission denied|env echo 0 >$v/intel_vgpu/busy_time
Permission denied|env echo 0 >$v/intel_vgpu/vgpu_id
Permission denied|: >$v/intel_vgpu/sched_time
Numerical result out of range|env echo 4294967296 >$v/intel_vgpu/cap_lease_ms
Invalid argument|env echo glxgear >$v/load
Permission denied|cat $v/remove
Not a directory|cat $v/load/x
No such file|cat $v/intel_vgpu/weight
EOF
ok "no file can be created" fails "" ": >$v/more"
is "the initial cap can be written" "$(echo 40 >"$v/intel_vgpu/initial_cap" && cat "$v/intel_vgpu/cap")" 40
is "a cap can be written" "$(echo 30 >"$v/intel_vgpu/cap" && cat "$v/intel_vgpu/cap")" 30
ok "after that the initial cap is fixed" fails "Operation not permitted" "env echo 50 >$v/intel_vgpu/initial_cap"
ok "a file can be read in parts" test "$(dd if="$v/intel_vgpu/cap" bs=1 count=2 2>/dev/null)" = 30

exec 8<>"$v/intel_vgpu/cap"
ok "the vGPU can be removed" sh -c "echo 1 >$v/remove"
ok "it is not on the bus any more" test ! -e "$v" -a ! -L "$v"
ok "a write to an open file of it fails" fails "No such device" "env echo 20 >&8"
ok "another vGPU with the same name can be created" sh -c "echo $u >$types/i915-GVTg_V5_8/create && echo 25 >$v/intel_vgpu/cap"
ok "the open file does not refer to it" fails "No such device" "env echo 20 >&8"
exec 8>&-

# --- the end of gover-sim ---

ok "a second mount on the same directory works" sh -c "'$B/gover-sim' mount '$dir/sys' >'$dir/second.log' 2>&1 & echo \$! >'$dir/second'"
ok "it does not have the vGPU of the first" until_ok 20 test ! -e "$v" -a -d "$dir/sys/bus"
kill -INT "$(cat "$dir/second")"
ok "it ends on SIGINT" until_ok 20 test -e "$v"
exec 8<"$v/intel_vgpu/cap"
fuse_unmount
is "SIGTERM ends the first mount with an open file" "$unmounted" 0
exec 8<&-
ok "the directory is empty then" test -z "$(ls -A "$dir/sys")"
fuse_mount "$dir/sys"
umount "$dir/sys" 2>/dev/null || fusermount3 -u "$dir/sys"
wait "$mounted"
is "an external umount ends it normally" "$?" 0
finish
