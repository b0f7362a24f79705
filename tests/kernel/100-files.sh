#!/bin/bash
# Tests the files of gover_gvt: types, the files of a vGPU, and the errors for invalid values.
. "$(dirname "$0")/lib.sh"
gpu 1

of() { value "$1" && echo "$value"; }

answer() { # answer VALUE FILE: the error message of the write; "" for success
  message=$({ printf '%s\n' "$1" >"$2"; } 2>&1)
  echo "${message##*: }"
}

# --- types ---

is "the types are those of GVT-g" "$(ls "$parent/mdev_supported_types")" 'i915-GVTg_V5_1
i915-GVTg_V5_2
i915-GVTg_V5_4
i915-GVTg_V5_8'
is "a type describes itself in five lines" "$(cat "$(type_dir 4)/description")" 'low_gm_size: 128MB
high_gm_size: 512MB
fence: 4
resolution: 1920x1200
weight: 4'
is "it is a PCI device, as with GVT-g" "$(of "$(type_dir 4)/device_api")" vfio-pci
available() {
  for parts in 8 4 2 1; do
    printf '%s ' "$(of "$(type_dir $parts)/available_instances")"
  done
}
is "the number of available vGPUs" "$(available)" '8 4 2 1 '
create 4
is "fewer are available after one was created" "$(available)" '6 3 1 0 '
is "it is listed under its type" "$(ls "$(type_dir 4)/devices")" "$uuid"

# --- create ---

is "a UUID in use: EEXIST" "$(answer "$uuid" "$(type_dir 4)/create")" 'File exists'
is "not a UUID: EINVAL" "$(answer 1234 "$(type_dir 4)/create")" 'Invalid argument'
is "no room: ENOSPC" "$(answer 01234567-0123-0123-0123-0123456789ab "$(type_dir 1)/create")" 'No space left on device'
ok "nothing was created" test ! -e "$mdev/01234567-0123-0123-0123-0123456789ab"

# --- files of a vGPU ---

is "a vGPU has the scheduler's files" "$(cd "$q" && stat -c '%n %a' -- *)" 'busy_time 444
cap 644
cap_ceiling 644
cap_lease_ms 644
initial_cap 644
sched_time 444
vgpu_id 444'
is "and the file load of the test host" "$(stat -c %a "$v/load")" 644
is "its id is 1" "$(of "$q/vgpu_id")" 1
is "its cap is its part of the GPU" "$(of "$q/cap")" 25
is "so is its initial cap" "$(of "$q/initial_cap")" 25
is "it has no lease" "$(of "$q/cap_lease_ms")" 0
is "it has no busy time" "$(of "$q/busy_time")" 0
is "its load is 0" "$(of "$v/load")" 0
first=$v first_q=$q
create 8
is "the next vGPU has id 2" "$(of "$q/vgpu_id")" 2
is "an eighth is 12 %" "$(of "$q/cap")" 12
remove "$first"
create 8
is "a free id is used again" "$(of "$q/vgpu_id")" 1
ok "a removed vGPU has no files" test ! -e "$first_q"

# --- values ---

while read -r file value want; do
  is "$file <- $value: ${want:-success}" "$(answer "${value#x}" "$mdev/$uuid/$file")" "$want"
done <<'EOT'
intel_vgpu/initial_cap 101 Invalid argument
intel_vgpu/initial_cap -1 Invalid argument
intel_vgpu/initial_cap many Invalid argument
intel_vgpu/initial_cap 40
intel_vgpu/cap 101 Invalid argument
intel_vgpu/cap -1 Invalid argument
intel_vgpu/cap 1.5 Invalid argument
intel_vgpu/cap x Invalid argument
intel_vgpu/cap 0x10 Invalid argument
intel_vgpu/cap 99999999999 Numerical result out of range
intel_vgpu/cap_lease_ms -1 Invalid argument
intel_vgpu/cap_lease_ms 1s Invalid argument
intel_vgpu/cap_lease_ms 4294967296 Numerical result out of range
intel_vgpu/cap_lease_ms 4294967295
load 101 Invalid argument
load busy Invalid argument
load 100
intel_vgpu/busy_time 0 Permission denied
intel_vgpu/sched_time 0 Permission denied
intel_vgpu/vgpu_id 3 Permission denied
EOT
is "the initial cap is in force until a cap is written" "$(of "$q/cap")" 40
is "the lease reads as written" "$(of "$q/cap_lease_ms")" 4294967295
for cap in 0 1 55 100; do
  is "cap <- $cap reads back" "$(answer "$cap" "$q/cap")$(of "$q/cap")" "$cap"
done
is "after that the initial cap is fixed: EPERM" "$(answer 50 "$q/initial_cap")" 'Operation not permitted'
is "it is unchanged" "$(of "$q/initial_cap")" 40

# --- open files of a removed vGPU ---

exec 7<"$q/cap"
exec 8>"$q/cap"
remove "$v"
is "a removed vGPU's open file gives ENODEV" "$(cat <&7 2>&1 | sed 's/.*: //')" 'No such device'
is "and rejects writes" "$(printf 5 2>/dev/null | tee /dev/fd/8 2>&1 >/dev/null | sed 's/.*: //')" 'No such device'
exec 7<&- 8>&-
remove_all
is "all vGPUs are available again" "$(available)" '8 4 2 1 '
is "the other GPUs are not affected" "$(cat /sys/class/mdev_bus/gover_gvt.15/mdev_supported_types/*V5_8/available_instances)" 8
finish
