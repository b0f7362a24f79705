# The host of a closed loop, selected by $GOVER_HOST: sim (in the daemon), fuse (gover-sim in user space), kernel (the
# real /sys, with the GPU $GOVER_MDEV_PARENT), xe or fuse-xe (SR-IOV, host-xe.sh). The same scenarios run on each of these
# hosts. Sourced by a scenario, also instead of lib.sh. Removes its mounts and vGPUs at the end.
# shellcheck shell=sh disable=SC2154
GOVER_HOST=${GOVER_HOST:-sim}
# shellcheck source=tests/scenario/lib.sh
command -v finish >/dev/null || . "$(dirname "$0")/../lib.sh"
type_of_all=i915-GVTg_V5_8 # at most eight vGPUs on a GPU
vgpus_made=0 uuids='' host_gpu=gpu0 host_sys='' host_parent='' mounted=''
# shellcheck disable=SC2034 # read by scenarios
uuid_a='' uuid_b='' uuid_c=''

case $GOVER_HOST in
sim | fuse) period_ms=${period_ms:-100} speed=${speed:-10} ;;
# Shares are computed from the counters of all VFs, which FUSE cannot read at the same instant: a longer period reduces the error.
fuse-xe) period_ms=${period_ms:-250} speed=${speed:-4} ;;
kernel | xe) period_ms=${period_ms:-500} speed=1 ;;
*)
  echo "GOVER_HOST=$GOVER_HOST: unknown (allowed: sim, fuse, kernel, xe, fuse-xe)" >&2
  exit 1
  ;;
esac

fuse_mount() { # fuse_mount DIR [OPTION...]: mounts gover-sim, or skips the scenario
  mount_dir=$1
  shift
  [ -w /dev/fuse ] || skip_all "no permission to use /dev/fuse"
  mkdir -p "$mount_dir"
  "$B/gover-sim" mount "$@" "$mount_dir" >"$dir/gover-sim.log" 2>&1 &
  mounted=$!
  cleanup="kill $mounted 2>/dev/null; $cleanup"
  until_ok 20 test -d "$mount_dir/bus" && return 0
  kill -0 "$mounted" 2>/dev/null || skip_all "FUSE does not work: $(tail -n 1 "$dir/gover-sim.log")"
  echo "# gover-sim did not mount"
  exit 1
}

fuse_unmount() { # ends the last mount and sets $unmounted to the exit status of gover-sim
  kill -TERM "$mounted"
  wait "$mounted"
  # shellcheck disable=SC2034 # read by scenarios
  unmounted=$?
}

# Stops gover-sim while it waits in poll(). The kernel cannot kill a program whose request gover-sim has taken and not
# answered: on a busy machine, 3 of 300 readers stayed.
fuse_hang() { # fuse_hang PID
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    kill -STOP "$1"
    until grep -q '^State:.T' "/proc/$1/status"; do sleep 0.01; done
    case $(uname -m) in # poll and restart_syscall, or ppoll and restart_syscall
    x86_64) grep -qE '^(7|219) ' "/proc/$1/syscall" ;;
    *) grep -qE '^(73|128) ' "/proc/$1/syscall" ;;
    esac && return 0
    kill -CONT "$1"
    sleep 0.02
  done
  echo "# gover-sim does not wait in poll()"
  exit 1
}

host_setup() {
  case $GOVER_HOST in
  sim) mkdir -p "$dir/poke" ;;
  fuse)
    fuse_mount "$dir/sys" --speed "$speed"
    host_sys=$dir/sys
    host_parent=$host_sys/class/mdev_bus/0000:00:02.0
    ;;
  kernel)
    host_sys=/sys
    host_parent=$GOVER_MDEV_PARENT
    [ -d "$host_parent" ] || skip_all "$host_parent does not exist"
    cleanup="host_clear; $cleanup"
    ;;
  esac
}

host_clear() {
  for uuid in $uuids; do
    [ -e "$host_parent/$uuid" ] && echo 1 >"$host_parent/$uuid/remove"
  done
}

host_conf() { # prints the section [gpu gpu0], with hard caps unless $sharing is set
  echo '[gpu gpu0]'
  case $GOVER_HOST in
  sim) printf 'backend = sim\nroot = %s\n' "$dir/poke" ;;
  fuse) printf 'backend = gvt\nroot = %s\n' "$host_sys" ;;
  kernel) printf 'backend = gvt\nparent = %s\n' "$(basename "$host_parent")" ;;
  esac
  printf 'speed = %s\nlease_ms = %s\nsharing = %s\n' "$speed" "${lease_ms:-60000}" "${sharing:-hard}"
}

loop_conf() { # writes a configuration, with $conf_extra
  cat >"$conf" <<EOF
[daemon]
socket = $sock
state_dir = $dir/state
period_ms = $period_ms
$(host_conf)
[fps]
socket = $dir/fps.sock
${conf_extra-}
EOF
}

start_loop() { # starts a daemon on the host
  host_setup
  loop_conf
  start || exit 1
}

host_outlives() { # true if the host continues without the daemon
  [ "$GOVER_HOST" != sim ]
}

host_leases() { host_outlives; } # true if the host restores the initial caps without the daemon

host_ok() { # like ok, if the host continues without the daemon
  if host_outlives; then
    ok "$@"
  else
    n=$((n + 1))
    echo "ok $n - $1 # SKIP the simulated GPU is part of the daemon"
  fi
}

host_uuid() { # host_uuid NAME: prints its UUID
  eval "echo \"\$uuid_$1\""
}

name_vgpu() { # name_vgpu NAME: sets $uuid and $uuid_NAME to a new UUID
  vgpus_made=$((vgpus_made + 1))
  uuid=$(printf '%08x-0000-4000-8000-%012x' $$ "$vgpus_made")
  uuids="$uuids $uuid"
  eval "uuid_$1=\$uuid"
}

# Creates a vGPU on the bus. The daemon is paused meanwhile: it must not read the vGPU before its initial cap is written.
make_on_bus() { # make_on_bus UUID CAP
  [ -z "${daemon_pid:-}" ] || kill -STOP "$daemon_pid"
  made=1
  echo "$1" >"$host_parent/mdev_supported_types/$type_of_all/create" &&
    echo "$2" >"$host_parent/$1/intel_vgpu/initial_cap" && made=0
  [ -z "${daemon_pid:-}" ] || kill -CONT "$daemon_pid"
  return $made
}

answered_contract() { # answered_contract UUID INITIAL_CAP: false if the GPU did not answer in time
  api POST /v1/vgpus "{\"id\": \"$1\", \"gpu\": \"$host_gpu\", \"initial_cap_pct\": $2}" >/dev/null
  [ "$(status)" != 503 ]
}

contract() { # contract UUID INITIAL_CAP
  until_ok 20 answered_contract "$@"
  [ "$(status)" = 201 ] || { echo "POST: $(status) $(cat "$dir/body")" && return 1; }
}

host_vgpu() { # host_vgpu NAME CAP [CONTRACT]: creates a vGPU with a contract of CONTRACT (default CAP)
  name_vgpu "$1"
  if host_outlives; then
    make_on_bus "$uuid" "$2" || return 1
  fi
  contract "$uuid" "${3:-$2}"
}

host_room() { echo "$1"; } # host_room N: prints max_vgpus for N vGPUs, of which the last is a newcomer

host_newcomer() { # host_newcomer NAME CAP: creates a vGPU without a contract; in sim the claim creates it
  name_vgpu "$1"
  host_outlives || return 0
  make_on_bus "$uuid" "$2" && until_ok 20 that "/v1/vgpus/$uuid" .found
}

host_removes_one() { true; } # true if the removal of a vGPU does not interrupt the others

host_again() { # host_again NAME CAP: creates a removed vGPU again; in sim a restart of the daemon does so
  host_outlives || {
    stop
    start
    return
  }
  make_on_bus "$(host_uuid "$1")" "$2"
}

host_load() { # host_load NAME PCT: sets the load of its tenant, in percent of the whole GPU
  if host_outlives; then
    echo "$2" >"$host_parent/$(host_uuid "$1")/load"
    return
  fi
  case $2 in 100) load=busy ;; *) load=load:pct=$2 ;; esac
  api PATCH "/v1/vgpus/$(host_uuid "$1")" "{\"labels\": {\"workload\": \"$load\"}}" >/dev/null
}

host_cap() { # host_cap NAME: prints the cap in force
  if host_outlives; then
    cat "$host_parent/$(host_uuid "$1")/intel_vgpu/cap"
  else
    get "/v1/vgpus/$(host_uuid "$1")" .cap_pct
  fi
}

# Sets $written to the written cap.
host_write_cap() { # host_write_cap NAME PCT: a foreign write
  # shellcheck disable=SC2034 # read by scenarios
  written=$2
  if host_outlives; then
    echo "$2" >"$host_parent/$(host_uuid "$1")/intel_vgpu/cap"
  else
    echo "$2" >"$dir/poke/$(host_uuid "$1").cap"
  fi
}

host_remove() { # host_remove NAME: removes the vGPU without using the daemon
  if host_outlives; then
    echo 1 >"$host_parent/$(host_uuid "$1")/remove"
  else
    : >"$dir/poke/$(host_uuid "$1").gone"
  fi
}

cap_is() { [ "$(host_cap "$1")" = "$2" ]; } # cap_is NAME PCT

vgpu() { # vgpu NAME FILTER: prints a value of the vGPU from the daemon
  get "/v1/vgpus/$(host_uuid "$1")" "$2"
}

vgpu_is() { # vgpu_is NAME FILTER: true if the filter gives true
  that "/v1/vgpus/$(host_uuid "$1")" "$2"
}

decided() { # decided KIND: prints the number of decisions of that kind
  get '/v1/decisions?limit=1000' "[.decisions[] | select(.kind == \"$1\")] | length"
}

case $GOVER_HOST in
xe | fuse-xe)
  . "$top/tests/scenario/host-xe.sh"
  ;;
esac
