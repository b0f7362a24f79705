#!/bin/sh
# A container mounts the folder of the arbiter's socket for programs: its program is under control again after the arbiter was
# killed and another one started. The control socket is not in this folder. The container is a mount namespace.
. "$(dirname "$0")/../compute/lib.sh"
where=${dir:?}/tenant/compute.sock
layer=$B/libgover-cl.so
[ -e "$layer" ] || skip_all "libgover-cl.so was not built: no OpenCL headers"
{ [ "$(id -u)" -eq 0 ] && unshare -m --propagation private true 2>/dev/null; } || skip_all "needs root and mount namespaces"

ctl_() { timeout 20 "$B/tests/compute-ctl" "$where" "$@"; }
start_arbiter() {
  "$B/gover-arbiter" --socket "$where" 2>>"$dir/arbiter.log" &
  arbiter_pid=$!
  cleanup="kill -KILL $arbiter_pid 2>/dev/null; $cleanup"
  until_ok 30 ctl_ device
}
units() { [ "$(ctl_ list | sed -n 's/^index=0 .*\bunits=\([0-9]*\).*/\1/p')" -ge "$1" ]; }
connects() { # connects PATH: from inside the container
  nsenter -t "$container" -m python3 -c 'import socket, sys
socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(sys.argv[1])' "$1" 2>/dev/null
}
refused() { ! connects "$1"; }

start_arbiter
is "the folder contains only the socket for programs" "$(ls "$dir/tenant")" compute.sock
is "the old path is a link to it" "$(readlink "$dir/compute.sock")" tenant/compute.sock
is "the control socket is beside the link" "$(stat -c %a "$dir/compute.sock.control")" 600
start_container compute.sock || exit 1
ok "a container with the socket itself connects" connects "$dir/old/compute.sock"
OPENCL_LAYERS=$layer GOVER_CL=unix:$dir/in/compute.sock GOVER_DOUBLE_LABEL=one nsenter -t "$container" -m \
  "$B/tests/cl-tenant" --us 500 --depth 4 --seconds 600 >"$dir/one.out" 2>&1 &
program_pid=$!
cleanup="kill $program_pid 2>/dev/null; $cleanup"
ok "a program in a container with the folder is under control" until_ok 60 units 100
kill -KILL "$arbiter_pid"
wait "$arbiter_pid" 2>/dev/null
start_arbiter
ok "and under that of the next arbiter" until_ok 60 units 100
ok "the container with the socket itself cannot connect" refused "$dir/old/compute.sock"
kill "$program_pid"
kill "$arbiter_pid"
wait "$arbiter_pid"
ok "the arbiter removes its sockets and the link, and keeps the folder" sh -c \
  '[ -z "$(ls "$0/tenant")" ] && [ ! -L "$0/compute.sock" ] && [ ! -e "$0/compute.sock.control" ]' "$dir"
finish
