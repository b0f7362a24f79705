# Shared by the scenarios with real control groups and OpenGL programs. Sourced after lib.sh. Skips the scenario if
# control groups cannot be written, or if there is no X server or no GL program.
# shellcheck shell=sh disable=SC2154
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

kernel_cap() { # kernel_cap VGPU: prints its quota in percent of one core
  group=$(kernel_group "$1")
  if [ -f "$group/cpu.cfs_quota_us" ]; then
    echo $((($(cat "$group/cpu.cfs_quota_us") * 100 + 1) / $(cat "$group/cpu.cfs_period_us")))
  else
    awk '{print int(($1 * 100 + 1) / $2)}' "$group/cpu.max"
  fi
}
