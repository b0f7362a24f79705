# What the tests that boot systemd share: a machine of its own for each, by systemd-nspawn, and its end. Sourced after
# tests/scenario/lib.sh, never run. Must never leave a machine, a mount or a process behind, nor touch this machine's
# own files.
# shellcheck shell=sh disable=SC2154
machine_pid='' leader=''

can_boot() { # skips the scenario where no machine can be had
  [ "$(id -u)" -eq 0 ] || skip_all "not root"
  command -v systemd-nspawn >/dev/null || skip_all "no systemd-nspawn"
  mkdir "$dir/overlay" "$dir/root"
  mount -t tmpfs gover-check "$dir/overlay" 2>/dev/null || skip_all "nothing can be mounted here"
  cleanup="machine_off; umount -l '$dir/root' '$dir/overlay' 2>/dev/null; $cleanup"
  mkdir "$dir/overlay/upper" "$dir/overlay/work"
}

overlay_on() { # overlay_on DIR: $root is that tree, and what is written there is forgotten
  mount -t overlay gover-check -o "lowerdir=$1,upperdir=$dir/overlay/upper,workdir=$dir/overlay/work" "$dir/root" \
    2>"$dir/mount.err" || skip_all "no overlay can be mounted here: $(head -n 1 "$dir/mount.err")"
  root=$dir/root
}

machine_on() { # machine_on OPTION... -- ARGUMENT...: boots $root; the arguments are its first process's
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
    [ -z "$leader" ] || { echo "# the machine does not come up" && return 1; }
    skip_all "systemd-nspawn boots nothing here: $(tail -n 1 "$dir/machine.log")"
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

inside() { # inside COMMAND...: runs it in the machine, as root
  nsenter -t "$leader" -m -u -i -p -n -- env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive "$@"
}

show() { inside systemctl show -P "$2" "$1"; } # show UNIT PROPERTY

main_pid() { # of gover-d; never 0, which a kill would take for everybody
  pid=$(show gover-d MainPID) && [ "$pid" -gt 1 ] && echo "$pid"
}

hit() { # hit SIGNAL: the daemon
  pid=$(main_pid) && inside kill -s "$1" "$pid"
}

is_active() { inside systemctl is-active --quiet "$@"; }

# A bare Debian 12, made once and kept in the build folder; machines stand on it and change nothing of it.
bare=$B/bare/debian
bare_debian() {
  [ ! -e "$bare/complete" ] || return 0
  command -v debootstrap >/dev/null || skip_all "no debootstrap"
  rm -rf "$bare"
  mkdir -p "$bare"
  debootstrap --variant=minbase --include=systemd-sysv bookworm "$bare" >"$dir/debootstrap.log" 2>&1 ||
    skip_all "debootstrap makes no Debian here: $(tail -n 1 "$dir/debootstrap.log")"
  : >"$bare/complete"
}
