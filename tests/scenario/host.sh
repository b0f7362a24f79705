# The host that a closed loop runs on, as $GOVER_HOST says: sim (in the daemon itself), fuse (gover-sim, in user
# space) or kernel (the real /sys, of which $GOVER_MDEV_PARENT is the GPU). The same scenarios run on each.
# Sourced after lib.sh, never run. Must never leave a mount or a vGPU behind.
# shellcheck shell=sh disable=SC2154
GOVER_HOST=${GOVER_HOST:-sim}
type_of_all=i915-GVTg_V5_8 # of which there is room for eight
vgpus_made=0 uuids='' host_sys='' host_parent='' mounted=''
# shellcheck disable=SC2034 # read by scenarios
uuid_a='' uuid_b='' uuid_c=''

case $GOVER_HOST in
sim | fuse) period_ms=${period_ms:-100} speed=${speed:-10} ;;
kernel) period_ms=${period_ms:-500} speed=1 ;;
*)
  echo "GOVER_HOST=$GOVER_HOST is not known: sim, fuse or kernel" >&2
  exit 1
  ;;
esac

fuse_mount() { # fuse_mount DIR [OPTION...]: gover-sim there, or the scenario skips itself
  mount_dir=$1
  shift
  [ -w /dev/fuse ] || skip_all "no /dev/fuse that may be used"
  mkdir -p "$mount_dir"
  "$B/gover-sim" mount "$@" "$mount_dir" >"$dir/gover-sim.log" 2>&1 &
  mounted=$!
  cleanup="kill $mounted 2>/dev/null; $cleanup"
  until_ok 20 test -d "$mount_dir/bus" && return 0
  kill -0 "$mounted" 2>/dev/null || skip_all "FUSE cannot be used here: $(tail -n 1 "$dir/gover-sim.log")"
  echo "# gover-sim mounted nothing"
  exit 1
}

fuse_unmount() { # a clean end of the last one mounted; its exit status is in $unmounted
  kill -TERM "$mounted"
  wait "$mounted"
  # shellcheck disable=SC2034 # read by scenarios
  unmounted=$?
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
    [ -d "$host_parent" ] || skip_all "there is no $host_parent"
    cleanup="host_clear; $cleanup"
    ;;
  esac
}

host_clear() {
  for uuid in $uuids; do
    [ -e "$host_parent/$uuid" ] && echo 1 >"$host_parent/$uuid/remove"
  done
}

host_conf() { # the daemon's section for it
  echo '[gpu gpu0]'
  case $GOVER_HOST in
  sim) printf 'backend = sim\nroot = %s\n' "$dir/poke" ;;
  fuse) printf 'backend = gvt\nroot = %s\n' "$host_sys" ;;
  kernel) printf 'backend = gvt\nparent = %s\n' "$(basename "$host_parent")" ;;
  esac
  printf 'speed = %s\nlease_ms = %s\n' "$speed" "${lease_ms:-60000}"
}

loop_conf() { # a whole configuration; more in $conf_extra
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

host_outlives() { # does the host go on without the daemon?
  [ "$GOVER_HOST" != sim ]
}

host_ok() { # ok, where the host goes on without the daemon
  if host_outlives; then
    ok "$@"
  else
    n=$((n + 1))
    echo "ok $n - $1 # SKIP the simulated GPU lives in the daemon"
  fi
}

host_uuid() { # host_uuid NAME: prints its UUID
  eval "echo \"\$uuid_$1\""
}

name_vgpu() { # name_vgpu NAME: gives it a UUID of its own
  vgpus_made=$((vgpus_made + 1))
  uuid=$(printf '%08x-0000-4000-8000-%012x' $$ "$vgpus_made")
  uuids="$uuids $uuid"
  eval "uuid_$1=\$uuid"
}

# Makes it on the bus. A tick may come between the two writes and fix the initial cap: then it is made once more.
make_on_bus() { # make_on_bus UUID CAP
  for _ in 1 2 3 4 5; do
    echo "$1" >"$host_parent/mdev_supported_types/$type_of_all/create" || return 1
    (echo "$2" >"$host_parent/$1/intel_vgpu/initial_cap") 2>/dev/null && return 0
    echo 1 >"$host_parent/$1/remove"
  done
  return 1
}

contract() { # contract UUID INITIAL_CAP
  api POST /v1/vgpus "{\"id\": \"$1\", \"gpu\": \"gpu0\", \"initial_cap_pct\": $2}" >/dev/null
  [ "$(status)" = 201 ]
}

host_vgpu() { # host_vgpu NAME CAP [CONTRACT]: a vGPU with a contract of CONTRACT (CAP), its UUID in $uuid_NAME
  name_vgpu "$1"
  if host_outlives; then
    make_on_bus "$uuid" "$2" || return 1
  fi
  contract "$uuid" "${3:-$2}"
}

host_newcomer() { # host_newcomer NAME CAP: one without a contract yet; in sim the claim makes it
  name_vgpu "$1"
  host_outlives || return 0
  make_on_bus "$uuid" "$2" && until_ok 20 that "/v1/vgpus/$uuid" .found
}

host_again() { # host_again NAME CAP: what was removed is made anew under its UUID; sim's daemon does so at a start
  host_outlives || {
    stop
    start
    return
  }
  make_on_bus "$(host_uuid "$1")" "$2"
}

host_load() { # host_load NAME PCT: what its tenant wants of the whole GPU
  if host_outlives; then
    echo "$2" >"$host_parent/$(host_uuid "$1")/load"
    return
  fi
  case $2 in 100) load=busy ;; *) load=load:pct=$2 ;; esac
  api PATCH "/v1/vgpus/$(host_uuid "$1")" "{\"labels\": {\"workload\": \"$load\"}}" >/dev/null
}

host_cap() { # host_cap NAME: the cap in force
  if host_outlives; then
    cat "$host_parent/$(host_uuid "$1")/intel_vgpu/cap"
  else
    get "/v1/vgpus/$(host_uuid "$1")" .cap_pct
  fi
}

host_write_cap() { # host_write_cap NAME PCT: somebody else does
  if host_outlives; then
    echo "$2" >"$host_parent/$(host_uuid "$1")/intel_vgpu/cap"
  else
    echo "$2" >"$dir/poke/$(host_uuid "$1").cap"
  fi
}

host_remove() { # host_remove NAME: somebody takes it away
  if host_outlives; then
    echo 1 >"$host_parent/$(host_uuid "$1")/remove"
  else
    : >"$dir/poke/$(host_uuid "$1").gone"
  fi
}

cap_is() { [ "$(host_cap "$1")" = "$2" ]; } # cap_is NAME PCT

vgpu() { # vgpu NAME FILTER: one value of it, as the daemon knows it
  get "/v1/vgpus/$(host_uuid "$1")" "$2"
}

vgpu_is() { # vgpu_is NAME FILTER: true when the filter gives true
  that "/v1/vgpus/$(host_uuid "$1")" "$2"
}

decided() { # decided KIND: how often
  get '/v1/decisions?limit=1000' "[.decisions[] | select(.kind == \"$1\")] | length"
}
