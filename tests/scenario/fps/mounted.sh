#!/bin/sh
# A container mounts the folder of the sockets for programs, read-only, at the folder of the default path: it reaches each later
# daemon. A container that mounts the socket itself keeps a dead one. The containers are mount namespaces.
. "$(dirname "$0")/../fps/lib.sh"
{ [ "$(id -u)" -eq 0 ] && unshare -m --propagation private true 2>/dev/null; } || skip_all "needs root and mount namespaces"

sim_conf
sed -i "s|^socket = $dir/fps.sock|socket = $dir/tenant/fps.sock|" "$conf"
connects() { # connects PATH [COMMAND...]: succeeds if a program can connect to the socket
  path=$1
  shift
  "$@" python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(sys.argv[1])' "$path" 2>/dev/null
}
inside() { nsenter -t "$container" -m "$@"; }
refused() { ! connects "$@"; }
dead_socket_found() { # the daemon of a host may have such containers, too
  ctl --json doctor | gojq -r '.checks[] | select(.check == "mounts") | .text' |
    grep -q "holds a dead socket: .*fps.sock was removed on the host"
}

start || exit 1
is "the old path is a link to the socket" "$(readlink "$fps")" tenant/fps.sock
ok "programs of the host connect through the link" connects "$fps"
is "the folder contains nothing else" "$(ls "$dir/tenant")" fps.sock
is "all users may enter the folder and connect" "$(stat -c %a "$dir/tenant" "$dir/tenant/fps.sock" | tr '\n' ' ')" "755 666 "
sell a 50
is "a vGPU has the path that is the same in containers" "$(get /v1/vgpus/a .attach.fps_socket)" "$fps"

start_container fps.sock || exit 1
ok "a container with the folder connects, although its mount is read-only" connects "$dir/in/fps.sock" inside
ok "a container with the socket itself connects" connects "$dir/old/fps.sock" inside
inside env LD_LIBRARY_PATH="$gl" LD_PRELOAD="$preload" GOVER_FPS="unix:$dir/in/fps.sock" "$B/tests/fps-draw" direct-glx 1000000 2000 &
cleanup="kill $! 2>/dev/null; $cleanup"
sources() { [ "$(curl -sS --unix-socket "$sock" http://gover/metrics | awk '$1 == "gover_fps_sources" { print $2 }')" = "$1" ]; }
ok "a program in the container reports frames" until_ok 30 sources 1

inode=$(stat -c %i "$dir/tenant")
for signal in TERM KILL; do
  restart $signal
  ok "after SIG$signal and a restart, the container with the folder connects" connects "$dir/in/fps.sock" inside
  ok "its program reports frames again" until_ok 60 sources 1
  ok "the container with the socket itself does not" refused "$dir/old/fps.sock" inside
  ok "the old path is valid" connects "$fps"
  ok "doctor names the dead socket" dead_socket_found
done
is "the folder is the same" "$(stat -c %i "$dir/tenant")" "$inode"

for what in removed replaced; do
  rm "$fps"
  [ $what = removed ] || touch "$fps"
  [ $what = removed ] || { until_ok 20 alerts 1 socket_unusable; rm "$fps"; }
  ok "the link is made again after it was $what" until_ok 20 connects "$fps"
done
ok "the container connects" until_ok 20 connects "$dir/in/fps.sock" inside
stop
ok "the daemon removes the socket and the link, and keeps the folder" sh -c '[ ! -e "$1" ] && [ ! -L "$1" ] && [ -z "$(ls "$0")" ]' \
  "$dir/tenant" "$fps"

# An operator sets the old path. The last daemon was killed, and its link remains.
start || exit 1
stop KILL
sed -i "s|^socket = $dir/tenant/fps.sock|socket = $fps|" "$conf"
start || exit 1
ok "a configured path outside of such a folder is the socket itself" test ! -L "$fps" -a -S "$fps"
stop
finish
