# Functions for tests that boot systemd: a machine of systemd-nspawn for each test, removed at its end. Sourced after
# tests/scenario/lib.sh. Removes its machines, mounts and processes, and does not change files of the host.
# shellcheck shell=sh disable=SC2034,SC2154
machine_pid='' leader=''

can_boot() { # skips the scenario if no machine can be booted
  [ "$(id -u)" -eq 0 ] || skip_all "not root"
  command -v systemd-nspawn >/dev/null || skip_all "no systemd-nspawn"
  mkdir "$dir/overlay" "$dir/root"
  mount -t tmpfs gover-check "$dir/overlay" 2>/dev/null || skip_all "mounting is not permitted"
  cleanup="machine_off; umount -l '$dir/root' '$dir/overlay' 2>/dev/null; $cleanup"
  mkdir "$dir/overlay/upper" "$dir/overlay/work"
}

overlay_on() { # overlay_on DIR: $root is an overlay of that tree; changes are discarded
  mount -t overlay gover-check -o "lowerdir=$1,upperdir=$dir/overlay/upper,workdir=$dir/overlay/work" "$dir/root" \
    2>"$dir/mount.err" || skip_all "no overlay mount: $(head -n 1 "$dir/mount.err")"
  root=$dir/root
}

machine_on() { # machine_on OPTION... -- ARGUMENT...: boots $root; the arguments go to its first process
  options=''
  while [ "$1" != -- ]; do
    options="$options $1"
    shift
  done
  shift
  # shellcheck disable=SC2086 # a list
  systemd-nspawn -q -D "$root" --register=no --keep-unit -M "gover-check-$$" $options -b "$@" \
    >"$dir/machine.log" 2>&1 </dev/null &
  machine_pid=$!
  if ! until_ok 60 is_up; then
    [ -z "$leader" ] || { echo "# the machine does not boot" && return 1; }
    skip_all "systemd-nspawn cannot boot: $(tail -n 1 "$dir/machine.log")"
  fi
}

is_up() {
  leader=$(pgrep -P "$machine_pid") && inside systemctl is-system-running | grep -qE 'running|degraded'
}

machine_off() {
  [ -n "$machine_pid" ] || return 0
  [ -z "$leader" ] || inside systemctl poweroff -ff >/dev/null 2>&1
  until_ok 20 sh -c "! kill -0 $machine_pid" || kill -KILL "$machine_pid"
  wait "$machine_pid" 2>/dev/null
  machine_pid='' leader=''
}

install_gover() { # $root is the tree of the host with gover installed; check.target starts no unit of gover
  overlay_on /
  ok "gover is installed" make -s -C "$top" B="$B" install DESTDIR="$root" PREFIX=/usr
  systemd-sysusers --root="$root" >/dev/null 2>&1
  printf '[Unit]\nRequires=basic.target\nAfter=basic.target\n' >"$root/etc/systemd/system/check.target"
}

# A machine with gover's installed units and simulated GVT-g GPUs, which keep running when the daemon ends. The files of
# a GPU are in $dir/GPU, and in /srv/GPU of the machine. A test can add files to $root between the two functions.
gvt_install() { # gvt_install GPU...: installs gover; $gpu_lines are further lines of each section [gpu GPU]
  install_gover
  mkdir -p "$root/etc/gover" "$root/etc/systemd/system/gover-.service.d" "$root/etc/systemd/system/gover-d.service.d"
  printf '[daemon]\nperiod_ms = 200\n' >"$root/etc/gover/gover.conf"
  binds=''
  for gpu; do
    fuse_mount "$dir/$gpu" --allow-other --speed 1
    mkdir "$root/srv/$gpu"
    binds="$binds --bind=$dir/$gpu:/srv/$gpu"
    printf '[gpu %s]\nbackend = gvt\nroot = /srv/%s\n%s\n' "$gpu" "$gpu" "${gpu_lines-}" >>"$root/etc/gover/gover.conf"
  done
  # Not the folder of a GPU: systemd would access it before each start of the daemon, and wait for a GPU that hangs.
  printf '[Service]\nReadWritePaths=/srv\n' >"$root/etc/systemd/system/gover-.service.d/tree.conf"
  gvt_gpu "$1"
}

gvt_boot() { # boots the machine and sets $sock
  # shellcheck disable=SC2086 # a list
  machine_on --private-network $binds -- systemd.unit=check.target || exit 1
  sock=/proc/$leader/root/run/gover/gover.sock
}

gvt_gpu() { # gvt_gpu GPU: selects the GPU of the functions of host.sh
  host_gpu=$1
  host_sys=$dir/$1
  host_parent=$host_sys/class/mdev_bus/0000:00:02.0
}

inside() { # inside COMMAND...: runs a command in the machine as root
  nsenter -t "$leader" -m -u -i -p -n -- env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive "$@"
}

show() { inside systemctl show -P "$2" "$1"; } # show UNIT PROPERTY
result_is() { [ "$(show "$1" Result)" = "$2" ]; } # result_is UNIT RESULT

main_pid() { # pid of gover-d; never 0, because kill 0 ends the caller
  pid=$(show gover-d MainPID) && [ "$pid" -gt 1 ] && echo "$pid"
}

hit() { # hit SIGNAL: sends a signal to the daemon
  pid=$(main_pid) && inside kill -s "$1" "$pid"
}

is_active() { inside systemctl is-active --quiet "$@"; }

# The control groups that own_groups() creates on the host with v1; end_groups() removes them.
group=gover-check-$$
end_groups() { find /sys/fs/cgroup -mindepth 2 -depth -path "*/$group*" -type d -exec rmdir {} + 2>/dev/null; }

own_groups() { # with v1, systemd-nspawn shows the host's hierarchies read-only; with v2, the machine has its own
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
  # Replace the mount of each hierarchy by a mount of the group in it, because every user may be able to write to the
  # root of the hierarchy. Unmount the old mount, because a hidden mount stays in the list of mounts.
  for hierarchy in cpu cpuacct cpuset; do
    chmod 555 "/sys/fs/cgroup/$hierarchy/$group"
    inside sh -c "cd /sys/fs/cgroup && mount --bind $hierarchy/$group /run/mine && umount $hierarchy &&
      mount --bind /run/mine $hierarchy && mount -o remount,bind,rw $hierarchy && umount /run/mine" || return
  done
}

has_failed() { [ "$(show gover-d ActiveState)" = failed ]; }
hangs_running() { # stops each process of the daemon after it is ready, until systemd gives up
  has_failed && return
  [ "$(show gover-d SubState)" != running ] || hit STOP
  false
}

answers() { curl -sSf -m 20 -o /dev/null --unix-socket "$sock" http://gover/readyz; }
hold_a() { # starts the daemon; a vGPU has a contract of 80 % and a held cap of 30 %
  ok "the daemon starts" inside systemctl start gover-d
  ok "the daemon is ready" until_ok 20 answers
  ok "a vGPU has a contract of 80 %" host_vgpu a 80
  ok "an operator holds its cap at 30 %" inside gover-ctl vgpu hold "$uuid_a" --cap 30
  ok "the held cap is written" until_ok 20 cap_is a 30
}

# A minimal Debian of the release of this machine, for which the packages are built. It is created once in the build folder.
# Machines use it through an overlay.
bare=$B/bare/debian
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
! grep -q /sid /etc/debian_version || release=sid # sid has the codename of the next release
bare_debian() {
  [ ! -e "$bare/complete" ] || return 0
  command -v debootstrap >/dev/null || skip_all "no debootstrap"
  rm -rf "$bare"
  mkdir -p "$bare"
  debootstrap --variant=minbase --include=systemd-sysv "$release" "$bare" >"$dir/debootstrap.log" 2>&1 ||
    skip_all "debootstrap failed: $(tail -n 1 "$dir/debootstrap.log")"
  : >"$bare/complete"
}
