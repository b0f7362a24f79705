# Shared by the scenarios of the backend lib: a daemon with a GPU that programs on the device double use in turns.
# Sourced instead of compute/lib.sh.
# shellcheck shell=sh disable=SC2154
# shellcheck source=tests/scenario/compute/lib.sh
. "$(dirname "$0")/../compute/lib.sh"
root=gover-test-lib-$$
socket=$dir/compute.sock

arbiter() { # prints the process id of the arbiter
  for process in /proc/[0-9]*; do
    tr '\0' ' ' 2>/dev/null <"$process/cmdline" | grep -q "gover-arbiter .*$socket " && echo "${process#/proc/}"
  done
}

# shellcheck disable=SC2317 # run by lib.sh at the end
end_lib() { # ends the programs and the arbiter, and removes the groups
  find /sys/fs/cgroup -path "*/$root/*" -name cgroup.procs 2>/dev/null | while read -r procs; do
    xargs -r kill -KILL <"$procs" 2>/dev/null
  done
  for pid in $(arbiter); do kill -KILL "$pid"; done
  sleep 0.3
  find /sys/fs/cgroup -depth -type d -path "*/$root*" -exec rmdir {} + 2>/dev/null
}
# shellcheck disable=SC2034 # run by lib.sh at the end
cleanup=end_lib

start_lib() { # starts the daemon; $conf_extra: further sections. Skips the scenario if no control group can be written
  cat >"$conf" <<EOF
[daemon]
socket = $sock
state_dir = $dir/state
[gpu gpu0]
backend = lib
root = $root
socket = $socket
[fps]
socket = $dir/fps.sock
${conf_extra-}
EOF
  if start >"$dir/start.out" 2>&1 && ! grep -q 'GPU gpu0 cannot be opened' "$dir/log"; then return; fi
  why=$(grep -h 'control group' "$dir/log" | tail -n 1)
  [ -z "$why" ] || skip_all "$why"
  ok "the daemon opens the GPU" false
  finish
}

run() { # run VGPU CAP [OPTION...]: starts cl-tenant with the options in the vGPU, which is created if it does not exist
  run_vgpu=$1 run_cap=$2
  shift 2
  GOVER_DOUBLE_LABEL=$run_vgpu "$B/gover-ctl" --socket "$sock" run --vgpu "$run_vgpu" --cap "$run_cap" -- \
    "$B/tests/cl-tenant" --seconds 600 "$@" >"$dir/$run_vgpu.out" 2>&1 &
}

busy_machine() { # succeeds if programs have waited for a CPU for a fifth of the last ten seconds or more
  [ "$(awk '/^some/ { split($2, part, "="); print int(part[2]) }' /proc/pressure/cpu 2>/dev/null || echo 0)" -ge 20 ]
}

skip_busy() { # skip_busy "text"
  n=$((n + 1))
  echo "ok $n - $1 # SKIP machine too busy: $(head -n 1 /proc/pressure/cpu)"
}
