# Shared by the tests of the kernel module: creates and removes vGPUs as an administrator does, and reads their
# files. Sourced, never run. Removes all vGPUs at the end.
# shellcheck shell=sh disable=SC2034 # v and q are read by the tests
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/tests/scenario/lib.sh"
mdev=/sys/bus/mdev/devices
cleanup='remove_all'

gpu() { parent=/sys/class/mdev_bus/gover_gvt.$1; } # gpu N: each test has its own GPU, so that tests can run in parallel

type_dir() { echo "$parent/mdev_supported_types/i915-GVTg_V5_$1"; }

create() { # create PARTS: a vGPU of 1/PARTS of the GPU; sets $uuid, $v (its folder), $q (its folder intel_vgpu)
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

# Starts no new process, because starting a process takes longer than the measured times.
now() { # sets $now, in units of 10 ms
  # shellcheck disable=SC2034 # the second number
  read -r now idle </proc/uptime
  now=${now%.*}${now#*.}
}

value() { read -r value <"$1"; } # value FILE: sets $value

# Sets $busy and $allotted from the counters in FOLDER. Also sets $before and $after, the times before and after the
# reading, because a reading takes time on a busy machine.
look() { # look FOLDER
  now
  before=$now
  read -r busy <"$1/busy_time"
  read -r allotted <"$1/sched_time"
  now
  after=$now
}

# Sets $least and $most, the lower and upper bound of the share between two readings, in hundredths of a percent.
share() { # share BEFORE0 AFTER0 BUSY0 BEFORE1 AFTER1 BUSY1
  least=$((($6 - $3) / (($5 - $1) * 1000)))
  most=$((($6 - $3) / (($4 - $2) * 1000)))
}

# --- tenants: vGPUs on several GPUs ---

folders=''
tenant() { # tenant GPU CAP LOAD EXPECTED: EXPECTED is its share in hundredths of a percent
  gpu "$1"
  create 8
  folders="$folders $v"
  echo "$2" >"$q/cap"
  echo "$3" >"$v/load"
  echo "$q $1 $2 $3 $4" >>"$dir/tenants"
}

look_at_all() {
  while read -r q rest; do
    look "$q"
    echo "$before $after $busy $allotted"
  done <"$dir/tenants"
}

remove_tenants() {
  for left in $folders; do
    remove "$left"
  done
}
