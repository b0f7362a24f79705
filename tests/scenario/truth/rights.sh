#!/bin/sh
# Backend drm on the proc of this host: each way in which the kernel hides processes or their files from the daemon makes the use
# unknown, with the reason. The table is printed: source, way, what is reported.
. "$(dirname "$0")/../lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root"
[ "$(readlink /proc/self/ns/pid)" = 'pid:[4026531836]' ] || skip_all "needs the first PID namespace"
mkdir "$dir/proc"
none=-sys_ptrace,-dac_read_search,-dac_override

configure() { # configure PROC
  rm -rf "$dir/state"
  cat >"$conf" <<END
[daemon]
socket = $sock
state_dir = $dir/state
[gpu gpu0]
backend = drm
parent = 0000:03:00.0
truth = fdinfo
proc = $1
[fps]
socket = $dir/fps.sock
END
}
prints() { # prints REASON: succeeds if status and doctor print it
  "$B/gover-ctl" --socket "$sock" status | tr -s ' \n' ' ' | grep -q "cannot be read: .*$1" &&
    "$B/gover-ctl" --socket "$sock" doctor | tr -s ' \n' ' ' | grep -q "cannot be read: .*$1"
}
way() { # way NAME PROC REASON COMMAND...: runs the daemon by COMMAND, and expects REASON in its reports
  name=$1 reason=$3
  configure "$2"
  shift 3
  "$@" "$B/gover-d" --config "$conf" >"$dir/log" 2>&1 &
  running=$!
  ok "$name: the daemon is ready" until_ok 20 curl -sSf --unix-socket "$sock" http://gover/readyz
  ok "$name: unknown, with the reason" until_ok 20 that /v1/gpus ".gpus[0] | .telemetry_valid == false and (.problem // \"\" | test(\"$reason\"))"
  echo "# fdinfo | $name | $(get /v1/gpus '.gpus[0].problem')"
  ok "$name: the alert has it" until_ok 20 that /v1/alerts ".alerts | any(.name == \"telemetry_stale\" and (.text | test(\"$reason\")))"
  ok "$name: status and doctor print it" prints "$reason"
  kill -KILL "$running" # unshare ignores SIGTERM
  wait "$running" 2>/dev/null
}

# In a container, root cannot read the files of the host's first process.
if readlink /proc/1/ns/pid >"$dir/out" 2>&1; then
  way "all rights, no such GPU" /proc "no GPU 0000:03:00.0 exists in sysfs" env
fi
way "no CAP_SYS_PTRACE" /proc "processes.*cannot be read" setpriv --bounding-set=-sys_ptrace
way "no capabilities" /proc "processes.*cannot be read" setpriv --bounding-set=$none
if mount -t proc -o hidepid=2 proc "$dir/proc" 2>"$dir/out"; then
  cleanup="umount $dir/proc"
  # hidepid has an exception for a group, which is 0 by default
  way "hidepid=2" "$dir/proc" "proc hides processes" setpriv --regid=65534 --clear-groups --bounding-set=$none
  mount -o remount,hidepid=1 "$dir/proc"
  way "hidepid=1" "$dir/proc" "processes.*cannot be read" setpriv --regid=65534 --clear-groups --bounding-set=$none
fi
way "another PID namespace" /proc "of a PID namespace" unshare --pid --fork --kill-child --mount-proc
finish
