# Shared by the scenarios with real control groups and OpenGL programs. Sourced by a scenario, also instead of lib.sh. Skips
# the scenario if control groups cannot be written, or if there is no X server or no GL program.
# shellcheck shell=sh disable=SC2154
# shellcheck source=tests/scenario/lib.sh
command -v finish >/dev/null || . "$(dirname "$0")/../lib.sh"
softgpu_conf() { # writes a configuration, with hard caps unless $sharing is set
  root=gover-test-$$
  cat >"$conf" <<EOF
[daemon]
socket = $sock
state_dir = $dir/state
period_ms = ${period_ms:-1000}
[gpu gpu0]
backend = softgpu
root = $root
capacity_cores = 1
sharing = ${sharing:-hard}
[offer]
max_vgpus = ${max_vgpus:-1}
[fps]
socket = $dir/fps.sock
${conf_extra-}
EOF
  "$B/gover-d" --config "$conf" >"$dir/probe" 2>&1 &
  daemon_pid=$!
  until_ok 5 test -s "$dir/probe"
  if ! until_ok 5 curl -sf --unix-socket "$sock" http://gover/healthz; then
    wait "$daemon_pid"
    daemon_pid=''
    skip_all "$(tail -n 1 "$dir/probe")"
  fi
  ! grep -q 'GPU gpu0 cannot be opened' "$dir/probe" || skip_all "$(grep -m 1 'cannot be opened' "$dir/probe")"
  stop TERM
  # shellcheck disable=SC2034 # run by lib.sh at the end
  cleanup='end_softgpu'
}

# The message of a daemon that cannot pin the GPU of a host without a cpuset, or with all cores in use by other GPUs.
# shellcheck disable=SC2034 # used by scenarios with guarantees
no_guarantees='sharing = guarantee: control group .* CPU weights guarantee no caps'

end_softgpu() { # ends remaining programs and removes the groups
  find /sys/fs/cgroup -path "*/$root/*" -name cgroup.procs 2>/dev/null | while read -r procs; do
    xargs -r kill -KILL <"$procs" 2>/dev/null
  done
  [ -n "${xvfb-}" ] && kill "$xvfb" 2>/dev/null
  sleep 0.3
  find /sys/fs/cgroup -depth -type d -path "*/$root*" -exec rmdir {} + 2>/dev/null
}

start_x() {
  for tool in Xvfb glxgears; do
    command -v "$tool" >/dev/null || skip_all "$tool is not installed"
  done
  Xvfb -displayfd 3 -screen 0 1280x1024x24 -nolisten tcp 3>"$dir/display" >/dev/null 2>&1 &
  xvfb=$!
  until_ok 20 test -s "$dir/display" || skip_all "the X server does not start"
  DISPLAY=:$(cat "$dir/display")
  export DISPLAY LIBGL_ALWAYS_SOFTWARE=1 vblank_mode=0 LP_NUM_THREADS=0
}

kernel_group() { # kernel_group VGPU: prints the group with its quota
  for procs in $(get "/v1/vgpus/$1" '.attach.cgroup_procs[]'); do
    group=${procs%/*}
    [ -f "$group/cpu.cfs_quota_us" ] || [ -f "$group/cpu.max" ] || continue
    echo "$group"
    return
  done
}

group_quota() { # group_quota GROUP: prints the CPU quota of a folder of control groups in percent of one core
  if [ -f "$1/cpu.cfs_quota_us" ]; then
    echo $((($(cat "$1/cpu.cfs_quota_us") * 100 + 1) / $(cat "$1/cpu.cfs_period_us")))
  else
    awk '{print int(($1 * 100 + 1) / $2)}' "$1/cpu.max"
  fi
}

group_weight() { # group_weight GROUP: prints its CPU weight in percent of the GPU
  if [ -f "$1/cpu.shares" ]; then
    echo $(($(cat "$1/cpu.shares") / 2503))
  else
    echo $(($(cat "$1/cpu.weight") / 99))
  fi
}

kernel_cap() { # kernel_cap VGPU: prints its quota in percent of one core
  group_quota "$(kernel_group "$1")"
}

# With guarantees, the cap is the CPU weight of the group and the quota is the contract. With hard caps, the cap is the
# quota.
group_has() { # group_has GROUP SHARING CAP CONTRACT
  case $2 in
  guarantee) [ "$(group_weight "$1") $(group_quota "$1")" = "$3 $4" ] ;;
  hard) [ "$(group_quota "$1")" = "$3" ] ;;
  *) echo "unknown sharing '$2'" && return 1 ;;
  esac
}

need_steps() { # skips the scenario if fps-steps, which draws without an X server, cannot draw on this machine
  export LIBGL_ALWAYS_SOFTWARE=1 LP_NUM_THREADS=0
  timeout 2 "$B/tests/fps-steps" 1000 1000 2>"$dir/steps.err"
  [ $? -eq 124 ] || skip_all "fps-steps does not run: $(tail -n 1 "$dir/steps.err")"
}

# Starts fps-steps in a vGPU, sets $program to its pid and waits for its frames. Every later test needs these frames, so
# the scenario ends if there are none.
draw_steps() { # draw_steps VGPU FPS BODY_US [OPTION...]: the options are for gover-ctl run
  vgpu=$1 steps="$2 $3"
  shift 3
  # shellcheck disable=SC2086 # two arguments
  "$B/gover-ctl" --socket "$sock" run --vgpu "$vgpu" "$@" -- "$B/tests/fps-steps" $steps >"$dir/$vgpu.log" 2>&1 &
  # shellcheck disable=SC2034 # read by scenarios
  program=$!
  until_ok 20 that "/v1/vgpus/$vgpu" '.fps > 5' && return
  ok "$vgpu draws frames" false
  tail -n 5 "$dir/$vgpu.log" | sed "s/^/# $vgpu: /"
  finish
}
