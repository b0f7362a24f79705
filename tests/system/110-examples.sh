#!/bin/sh
# Tests the example drop-ins on a booted systemd: each drop-in is installed as its comment describes, enables its
# feature, and grants only the rights that the feature needs. Also tests [fps] ports, which needs no drop-in.
. "$(dirname "$0")/../scenario/lib.sh"
. "$(dirname "$0")/../scenario/softgpu.sh"
. "$(dirname "$0")/lib.sh"

cleanup=end_groups
can_boot
install_gover
mkdir -p "$root/etc/gover" "$root/srv/gl" "$root/etc/tmpfiles.d"
cp "$B/tests/fps-draw" "$B/tests/fps-report" "$root/srv"
cp "$B/tests/fake-igt" "$root/usr/bin/intel_gpu_top"
cp "$B/tests/frame-gl" "$root/srv/gl/libGL.so.1" # libraries of a container, unknown to the host's loader
cp "$B/tests/fake-gl" "$root/srv/gl/libEGL.so.1"
ln -s libGL.so.1 "$root/srv/gl/libfake-gl.so.1"
chmod -R a+rX "$root/srv"
# The machine has the rights of a host. The drop-ins decide which of these rights the units get.
machine_on --private-network --capability=CAP_BPF,CAP_PERFMON,CAP_SYS_RESOURCE,CAP_CHECKPOINT_RESTORE \
  --system-call-filter=bpf --system-call-filter=perf_event_open -- systemd.unit=check.target || exit 1
# shellcheck disable=SC2034 # of lib.sh
sock=/proc/$leader/root/run/gover/gover.sock

configure() { # configure BACKEND [LINE...]: writes a configuration with one GPU and further lines
  {
    printf '[daemon]\nperiod_ms = 200\n[gpu gpu0]\nbackend = %s\n' "$1"
    shift
    [ $# -eq 0 ] || printf '%s\n' "$@"
  } >"$root/etc/gover/gover.conf"
}
restart() { # resets the failure counter before a restart
  inside systemctl daemon-reload
  inside systemctl reset-failed gover-d gover.socket 2>/dev/null
  inside systemctl restart gover-d && until_ok 20 that /v1/host .ready
}
examples=/usr/share/gover/examples
as_described() { # as_described EXAMPLE: runs the commands in the comment of the example
  inside systemctl reset-failed gover-d 2>/dev/null
  ok "$1 is installed as its comment describes" inside sh -c "$(sed -n 's/^#   \(install .*\)/\1/p' "$root$examples/$1")"
  ok "$1: the daemon starts" inside sh -c "$(sed -n 's/^#   \(systemctl .*\)/\1/p' "$root$examples/$1")"
  ok "$1: the daemon is ready" until_ok 20 that /v1/host .ready
}
forget() { rm -r "$root"/etc/systemd/system/gover-*.service.d; }
less() { # less CAPABILITY: adds a drop-in that removes CAPABILITY; more: removes the drop-in
  mkdir -p "$root/etc/systemd/system/gover-d.service.d"
  printf '[Service]\nCapabilityBoundingSet=~%s\n' "$1" >"$root/etc/systemd/system/gover-d.service.d/zz-less.conf"
}
more() { rm "$root/etc/systemd/system/gover-d.service.d/zz-less.conf"; }
about() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$leader/root/proc/$(main_pid)/status"; }
rights() { echo "$(about CapEff) $(about CapBnd) $(about CapAmb)"; }
logged() { inside journalctl --no-pager -o cat "_SYSTEMD_INVOCATION_ID=$(show gover-d InvocationID)" | grep -q "$1"; }
nobody() { inside setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"; }
none=0000000000000000

# --- virtio-serial, with the units as installed ---

ports=/run/gover-ports
configure sim '[fps]' "ports = $ports"
ok "the folder for QEMU's sockets exists" test "$(inside stat -c '%U %a' $ports)" = "root 755"
ok "the daemon reads the folder" restart
is "the daemon has no capabilities" "$(about Uid | cut -f 1) $(rights)" "$(inside id -u gover) $none $none $none"
port() { inside test -S "$ports/$1"; }
counted() { that "/v1/vgpus/$1" '.frames > 30 and .fps > 25 and .fps < 35'; }

# Like libvirt: root creates the socket and changes its owner.
inside sh -c "umask 002 && exec /srv/fps-report $ports/web1.sock 30" &
ok "a socket is created" until_ok 10 port web1.sock
ok "the socket belongs to QEMU's user" inside chown nobody:nogroup $ports/web1.sock
sell web1 50 idle '"target_fps": 30'
ok "the daemon connects and counts frames" until_ok 30 counted web1

# Like QEMU without libvirt: a user who may write to the folder creates the socket.
refused() { ! nobody touch "$ports/vm-two" 2>/dev/null; }
ok "other users cannot create sockets" refused
echo "a+ $ports - - - - user:nobody:rwx" >"$root/etc/tmpfiles.d/qemu.conf"
ok "a line in tmpfiles.d allows it" inside systemd-tmpfiles --create qemu.conf
nobody sh -c "umask 002 && exec /srv/fps-report $ports/vm-two 30" &
ok "QEMU creates its socket" until_ok 10 port vm-two
sell web2 50 idle '"target_fps": 30, "vm": "vm-two"'
ok "the daemon counts its frames" until_ok 30 counted web2
for vgpu in web1 web2; do inside gover-ctl vgpu remove $vgpu >/dev/null; done

# --- intel_gpu_top ---

configure sim 'intel_gpu_top = /usr/bin/intel_gpu_top'
ok "the daemon runs intel_gpu_top" restart
ok "intel_gpu_top may not count in the sandbox" until_ok 10 logged 'fake-igt: perf_event_open: Operation not permitted'
as_described intel-gpu-top.conf
ok "with the drop-in intel_gpu_top counts" until_ok 10 that /v1/gpus '.gpus[0].util_pct == 73.25'
perfmon=0000004000000000
is "the daemon runs as user gover with CAP_PERFMON only" "$(about Uid | cut -f 1) $(rights)" \
  "$(inside id -u gover) $perfmon $perfmon $perfmon"
counter=$(inside pgrep -P "$(main_pid)" intel_gpu_top)
is "intel_gpu_top inherits the capability" "$(sed -n 's/^CapEff:[[:space:]]*//p' "/proc/$leader/root/proc/$counter/status")" $perfmon
less CAP_PERFMON
echo AmbientCapabilities= >>"$root/etc/systemd/system/gover-d.service.d/zz-less.conf"
ok "the daemon starts without the capability" restart
ok "without the capability the kernel refuses the call" until_ok 10 logged 'fake-igt: perf_event_open: Permission denied'
inside systemctl stop gover-d gover.socket gover-restore
forget

# --- softgpu: in control groups of the machine ---

in_kernel() { # in_kernel VGPU SHARING CAP CONTRACT
  groups=/proc/$leader/root/sys/fs/cgroup
  [ ! -d "$groups/cpu" ] || groups=$groups/cpu
  group_has "$groups/gover/gpu0/$1" "$2" "$3" "$4"
}
drawn() { that /v1/vgpus/soft '.frames > 100 and .fps > 0'; }
counts() { # waits for the frames; prints what the program and the daemon know if they are missing
  until_ok 30 drawn && return
  cat "$dir/draw.log"
  api GET /v1/vgpus/soft | gojq -c '{frames, fps, attach}'
  api GET /v1/host | gojq -c .fps
  inside journalctl --no-pager -o cat -n 8 -u gover-d
  return 1
}
draw() { # draw [VARIABLE=VALUE...]: a program of another user draws in the vGPU at less than 100 frames a second for 10 s
  procs=$(get /v1/vgpus/soft '.attach.cgroup_procs | join(" ")')
  # shellcheck disable=SC2016 # the words of sh
  inside sh -c '[ -n "$0" ] || exit; for procs in $0; do echo $$ >"$procs" || exit; done; exec "$@"' "$procs" \
    setpriv --reuid=nobody --regid=nogroup --clear-groups env LD_LIBRARY_PATH=/srv/gl GOVER_FPS_DEBUG=1 "$@" \
    /srv/fps-draw direct-glx 1000 10000 >"$dir/draw.log" 2>&1 &
  drawing=$!
}
if ! own_groups 2>"$dir/groups.err"; then
  n=$((n + 1))
  echo "ok $n - softgpu.conf and fps-bpf.conf # SKIP the machine has no control groups: $(tail -n 1 "$dir/groups.err")"
  finish
fi
configure softgpu
as_described softgpu.conf
override=0000000000000002
is "the daemon runs as root with CAP_DAC_OVERRIDE only" "$(about Uid | cut -f 1) $(rights)" "0 $override $override $none"
inside systemctl stop gover-d 2>/dev/null # removes the empty group of the GPU
less CAP_DAC_OVERRIDE
ok "without the capability the daemon starts" restart
cannot_create() { that /v1/gpus '.gpus[0].problem | contains("the control group cannot be created: Permission denied")'; }
ok "the GPU states that its control group cannot be created" until_ok 10 cannot_create
inside systemctl stop gover-d 2>/dev/null
more
ok "with the capability the daemon starts" restart
ok "the GPU has no problem" until_ok 10 that /v1/gpus '.gpus[0].problem == null'
ok "a vGPU is sold" inside gover-ctl vgpu add soft --cap 40
# guarantee on a host whose GPU can be pinned to a core of its own
sharing=$(get /v1/gpus '.gpus[0].sharing')
ok "the cap in the kernel is the contract (sharing = $sharing)" in_kernel soft "$sharing" 40 40
draw LD_PRELOAD=/usr/lib/gover/libgover-fps.so
ok "frames of the vGPU are counted" counts
ok "an operator holds its cap at 20 %" inside gover-ctl vgpu hold soft --cap 20
ok "the cap in the kernel is the held cap" until_ok 10 in_kernel soft "$sharing" 20 40
wait "$drawing"
ok "an administrator stops the daemon" inside systemctl stop gover-d
ok "the stop restores the contract" until_ok 20 in_kernel soft "$sharing" 40 40
is "gover-restore succeeds" "$(show gover-restore Result)" success
configure softgpu 'sharing = hard'
ok "the daemon starts with hard caps" restart
ok "an operator holds its cap at 20 %" inside gover-ctl vgpu hold soft --cap 20
ok "the quota in the kernel is the held cap" until_ok 10 in_kernel soft hard 20 40
ok "an administrator stops the daemon" inside systemctl stop gover-d
ok "the stop restores the contract" until_ok 20 in_kernel soft hard 40 40

# --- fps_source = bpf ---

configure softgpu 'fps_source = bpf'
as_described fps-bpf.conf
why=$(get /v1/host '.fps.bpf_error // empty')
case $why in
'' | *'not allowed'*) ;;
*)
  n=$((n + 1))
  echo "ok $n - fps-bpf.conf # SKIP $why"
  finish
  ;;
esac
is "the kernel counts frames" "$why" ""
all=0000000000280002
is "the daemon has CAP_SYS_ADMIN and CAP_SYS_PTRACE in addition" "$(rights)" "$all $all $none"
inside gover-ctl vgpu release soft >/dev/null
draw
ok "frames of a program with its own libraries are counted" counts
wait "$drawing"
less CAP_SYS_PTRACE
ok "the daemon starts without CAP_SYS_PTRACE" restart
draw
periods 15
is "without CAP_SYS_PTRACE its libraries are not found" "$(get /v1/vgpus/soft .frames)" 0
wait "$drawing"
less CAP_SYS_ADMIN
ok "the daemon starts without CAP_SYS_ADMIN" restart
ok "without CAP_SYS_ADMIN the daemon reports that it may not count" that /v1/host '.fps.bpf_error | test("not permitted")'
finish
