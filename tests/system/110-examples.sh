#!/bin/sh
# The examples that give the units more than the sandbox has, on a booted systemd: each is put where its first lines
# say, does what it is for, and gives no right that is not needed. And [fps] ports, which takes none of them.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/../scenario/lib.sh"
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"

group=gover-check-$$
end_groups() { find /sys/fs/cgroup -mindepth 2 -depth -path "*/$group*" -type d -exec rmdir {} + 2>/dev/null; }
cleanup=end_groups
can_boot
overlay_on /
ok "it installs" make -s -C "$top" B="$B" install DESTDIR="$root" PREFIX=/usr
systemd-sysusers --root="$root" >/dev/null 2>&1
mkdir -p "$root/etc/gover" "$root/srv/gl" "$root/etc/tmpfiles.d"
cp "$B/tests/fps-draw" "$B/tests/fps-tell" "$root/srv"
cp "$B/tests/fake-igt" "$root/usr/bin/intel_gpu_top"
cp "$B/tests/frame-gl" "$root/srv/gl/libGL.so.1" # a container's own: the host's loader does not know them
cp "$B/tests/fake-gl" "$root/srv/gl/libEGL.so.1"
ln -s libGL.so.1 "$root/srv/gl/libfake-gl.so.1"
chmod -R a+rX "$root/srv"
printf '[Unit]\nRequires=basic.target\nAfter=basic.target\n' >"$root/etc/systemd/system/check.target"
# As much as a host has: what the units get of it is said by the drop-ins.
machine_on --private-network --capability=CAP_BPF,CAP_PERFMON,CAP_SYS_RESOURCE,CAP_CHECKPOINT_RESTORE \
  --system-call-filter=bpf --system-call-filter=perf_event_open -- systemd.unit=check.target || exit 1
# shellcheck disable=SC2034 # of lib.sh
sock=/proc/$leader/root/run/gover/gover.sock

configure() { # configure BACKEND [LINE...]: one GPU; the lines go below it
  {
    printf '[daemon]\nperiod_ms = 200\n[gpu gpu0]\nbackend = %s\n' "$1"
    shift
    [ $# -eq 0 ] || printf '%s\n' "$@"
  } >"$root/etc/gover/gover.conf"
}
restart() { # those by hand are no failures, and not counted as such
  inside systemctl daemon-reload
  inside systemctl reset-failed gover-d gover.socket 2>/dev/null
  inside systemctl restart gover-d && until_ok 20 that /v1/host .ready
}
examples=/usr/share/gover/examples
as_said() { # as_said EXAMPLE: its first lines
  inside systemctl reset-failed gover-d 2>/dev/null
  ok "$1 goes where it says" inside sh -c "$(sed -n 's/^#   \(install .*\)/\1/p' "$root$examples/$1")"
  ok "and the daemon starts with it" inside sh -c "$(sed -n 's/^#   \(systemctl .*\)/\1/p' "$root$examples/$1")"
  ok "and is ready" until_ok 20 that /v1/host .ready
}
forget() { rm -r "$root"/etc/systemd/system/gover-*.service.d; }
less() { # less CAPABILITY: the daemon without it; more: with it again
  mkdir -p "$root/etc/systemd/system/gover-d.service.d"
  printf '[Service]\nCapabilityBoundingSet=~%s\n' "$1" >"$root/etc/systemd/system/gover-d.service.d/zz-less.conf"
}
more() { rm "$root/etc/systemd/system/gover-d.service.d/zz-less.conf"; }
about() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$leader/root/proc/$(main_pid)/status"; }
rights() { echo "$(about CapEff) $(about CapBnd) $(about CapAmb)"; }
logged() { inside journalctl --no-pager -o cat "_SYSTEMD_INVOCATION_ID=$(show gover-d InvocationID)" | grep -q "$1"; }
nobody() { inside setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"; }
none=0000000000000000

# --- virtio-serial, by the units as they are ---

ports=/run/gover-ports
configure sim '[fps]' "ports = $ports"
ok "there is a folder for QEMU's sockets" test "$(inside stat -c '%U %a' $ports)" = "root 755"
ok "the daemon looks there" restart
is "with no right of any kind" "$(about Uid | cut -f 1) $(rights)" "$(inside id -u gover) $none $none $none"
port() { inside test -S "$ports/$1"; }
counted() { that "/v1/vgpus/$1" '.frames > 30 and .fps > 25 and .fps < 35'; }

# As libvirt does it: root makes the socket, which is its user's from then on.
inside sh -c "umask 002 && exec /srv/fps-tell $ports/web1.sock 30" &
ok "libvirt makes a machine's socket" until_ok 10 port web1.sock
ok "and gives it to QEMU's user" inside chown nobody:nogroup $ports/web1.sock
sell web1 50 idle '"target_fps": 30'
ok "the daemon connects, and counts its frames" until_ok 30 counted web1

# QEMU alone, as a user who is let into the folder.
refused() { ! nobody touch "$ports/vm-two" 2>/dev/null; }
ok "nobody else makes names there" refused
echo "a+ $ports - - - - user:nobody:rwx" >"$root/etc/tmpfiles.d/qemu.conf"
ok "unless a line in tmpfiles.d says so" inside systemd-tmpfiles --create qemu.conf
nobody sh -c "umask 002 && exec /srv/fps-tell $ports/vm-two 30" &
ok "QEMU makes its socket itself" until_ok 10 port vm-two
sell web2 50 idle '"target_fps": 30, "vm": "vm-two"'
ok "and its frames are counted" until_ok 30 counted web2
for vgpu in web1 web2; do inside gover-ctl vgpu remove $vgpu >/dev/null; done

# --- intel_gpu_top ---

configure sim 'intel_gpu_top = /usr/bin/intel_gpu_top'
ok "the daemon runs intel_gpu_top" restart
ok "which may not count in the sandbox" until_ok 10 logged 'fake-igt: perf_event_open: Operation not permitted'
as_said intel-gpu-top.conf
ok "with its drop-in it counts" until_ok 10 logged 'fake-igt: perf_event_open: it counts'
ok "and the GPU has its utilisation" until_ok 10 that /v1/gpus '.gpus[0].util_pct == 73.25'
perfmon=0000004000000000
is "the daemon is user gover, with CAP_PERFMON alone" "$(about Uid | cut -f 1) $(rights)" \
  "$(inside id -u gover) $perfmon $perfmon $perfmon"
ok "which reaches the child" logged "fake-igt: CapEff:[[:space:]]*$perfmon"
less CAP_PERFMON
echo AmbientCapabilities= >>"$root/etc/systemd/system/gover-d.service.d/zz-less.conf"
ok "without that capability" restart
ok "the call is let through, and refused by the kernel" until_ok 10 logged 'fake-igt: perf_event_open: Permission denied'
inside systemctl stop gover-d gover.socket gover-restore
forget

# --- softgpu: on groups of the machine's own, below which it sees no others ---

own_groups() { # version 1: systemd-nspawn shows the host's, for reading; version 2: the machine has its own
  if inside mountpoint -q /sys/fs/cgroup; then
    ! inside test -e /sys/fs/cgroup/cgroup.controllers || { inside grep -qw cpu /sys/fs/cgroup/cgroup.controllers && return; }
  fi
  inside mkdir -p /run/mine
  for hierarchy in cpu cpuacct cpuset; do
    mkdir "/sys/fs/cgroup/$hierarchy/$group" || return
  done
  for file in cpuset.cpus cpuset.mems; do
    cat "/sys/fs/cgroup/cpuset/$file" >"/sys/fs/cgroup/cpuset/$group/$file" || return
  done
  # The top of a hierarchy may be written to by who may all; and what is hidden below a mount still counts as mounted.
  for hierarchy in cpu cpuacct cpuset; do
    chmod 555 "/sys/fs/cgroup/$hierarchy/$group"
    inside sh -c "cd /sys/fs/cgroup && mount --bind $hierarchy/$group /run/mine && umount $hierarchy &&
      mount --bind /run/mine $hierarchy && mount -o remount,bind,rw $hierarchy && umount /run/mine" || return
  done
}
quota() { # quota VGPU: its share of a core as the kernel has it, in percent
  inside sh -c "cd /sys/fs/cgroup/cpu/gover/gpu0/$1 2>/dev/null && paste cpu.cfs_quota_us cpu.cfs_period_us ||
    cat /sys/fs/cgroup/gover/gpu0/$1/cpu.max" | awk '{print int(($1 * 100 + 1) / $2)}'
}
in_kernel() { [ "$(quota "$1")" = "$2" ]; }
drawn() { that /v1/vgpus/soft '.frames > 100 and .fps > 0'; }
draw() { # draw [VARIABLE=VALUE...]: a stranger's program in the vGPU, less than 100 frames a second for 10 s and more
  # shellcheck disable=SC2016 # the words of sh
  inside sh -c 'for procs in $0; do echo $$ >"$procs" || exit; done; exec "$@"' \
    "$(get /v1/vgpus/soft '.attach.cgroup_procs | join(" ")')" \
    setpriv --reuid=nobody --regid=nogroup --clear-groups env LD_LIBRARY_PATH=/srv/gl "$@" \
    /srv/fps-draw direct-glx 1000 10000 &
  drawing=$!
}
if ! own_groups 2>"$dir/groups.err"; then
  n=$((n + 1))
  echo "ok $n - softgpu.conf and fps-bpf.conf # SKIP the machine has no control groups: $(tail -n 1 "$dir/groups.err")"
  finish
fi
configure softgpu
as_said softgpu.conf
override=0000000000000002
is "the daemon is root, with CAP_DAC_OVERRIDE alone" "$(about Uid | cut -f 1) $(rights)" "0 $override $override $none"
inside systemctl stop gover-d 2>/dev/null # an empty GPU goes with it
less CAP_DAC_OVERRIDE
without() { ! restart; }
ok "without that capability it does not start" without
ok "for it can make no group" until_ok 10 logged 'the control group cannot be created: Permission denied'
inside systemctl stop gover-d 2>/dev/null
more
ok "with it, it does" restart
ok "a vGPU is sold" inside gover-ctl vgpu add soft --cap 40
is "and stands in the kernel" "$(quota soft)" 40
draw LD_PRELOAD=/usr/lib/gover/libgover-fps.so
ok "the frames in it are its own" until_ok 30 drawn
ok "its cap is fixed at 20 %" inside gover-ctl vgpu hold soft --cap 20
ok "which the kernel has" until_ok 10 in_kernel soft 20
wait "$drawing"
ok "the daemon goes for good" inside systemctl stop gover-d
ok "and the contract is in force again" until_ok 20 in_kernel soft 40
is "by gover-restore" "$(show gover-restore Result)" success

# --- fps_source = bpf ---

configure softgpu 'fps_source = bpf'
as_said fps-bpf.conf
why=$(get /v1/host '.fps.bpf_error // empty')
case $why in
'' | *'not allowed'*) ;;
*)
  n=$((n + 1))
  echo "ok $n - fps-bpf.conf # SKIP $why"
  finish
  ;;
esac
is "the kernel lets the daemon count" "$why" ""
all=0000000000280002
is "with CAP_SYS_ADMIN and CAP_SYS_PTRACE beside the other" "$(rights)" "$all $all $none"
inside gover-ctl vgpu release soft >/dev/null
draw
ok "a stranger's program is counted, by libraries of its own" until_ok 30 drawn
wait "$drawing"
less CAP_SYS_PTRACE
ok "without the second" restart
draw
periods 15
is "its libraries are not found" "$(get /v1/vgpus/soft .frames)" 0
wait "$drawing"
less CAP_SYS_ADMIN
ok "without the first" restart
ok "the daemon says that it may not" that /v1/host '.fps.bpf_error | test("not allowed")'
finish
