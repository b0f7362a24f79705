# What the tests of the kernel module share: vGPUs made and removed as an administrator does it, and what
# the kernel answers. Sourced, never run. Must never leave a vGPU behind.
# shellcheck shell=sh disable=SC2034 # v and q are read by the tests
top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/scenario/lib.sh
. "$top/tests/scenario/lib.sh"
mdev=/sys/bus/mdev/devices
cleanup='remove_all'

gpu() { parent=/sys/class/mdev_bus/gover_gvt.$1; } # gpu N: the tests' GPUs are apart, so that they can run at once

type_dir() { echo "$parent/mdev_supported_types/i915-GVTg_V5_$1"; }

create() { # create PARTS: a vGPU of 1/PARTS of the GPU; $uuid, $v its folder, $q that of the scheduler's files
  uuid=$(cat /proc/sys/kernel/random/uuid)
  v=$mdev/$uuid q=$mdev/$uuid/intel_vgpu
  echo "$uuid" >"$(type_dir "$1")/create"
}

remove() { echo 1 >"$1/remove"; } # remove FOLDER

remove_all() {
  for left in "$parent"/*-*-*-*-*; do
    [ ! -e "$left/remove" ] || remove "$left"
  done
}

# Without a process of their own, since what has to be timed may take less than to start one.
now() { # sets $now, in units of 10 ms
  # shellcheck disable=SC2034 # its other number
  read -r now idle </proc/uptime
  now=${now%.*}${now#*.}
}

value() { read -r value <"$1"; } # value FILE: sets $value

# The counters of the vGPU whose scheduler's files are in FOLDER: $busy, $allotted, and that they were
# read between $before and $after; on a machine with much to do a moment may pass in between.
look() { # look FOLDER
  now
  before=$now
  read -r busy <"$1/busy_time"
  read -r allotted <"$1/sched_time"
  now
  after=$now
}

# Of what was looked at twice: its share of the time in hundredths of a percent, $least to $most.
share() { # share BEFORE0 AFTER0 BUSY0 BEFORE1 AFTER1 BUSY1
  least=$((($6 - $3) / (($5 - $1) * 1000)))
  most=$((($6 - $3) / (($4 - $2) * 1000)))
}
