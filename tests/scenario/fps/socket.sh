#!/bin/sh
# A folder with the name of the socket of the frame reports does not end the daemon. A socket that another program removes
# is made again; while this is not possible, an alert names the reason.
. "$(dirname "$0")/../lib.sh"

fps=$dir/fps.sock

sim_conf
mkdir "$fps"
start || exit 1
ok "an empty folder with the name of the socket is replaced" test -S "$fps"
stop
mkdir "$fps"
touch "$fps/file"
start || exit 1
ok "a folder with a file raises an alert" until_ok 20 alerts 1 socket_unusable
ok "the alert names the socket" that /v1/alerts '[.alerts[] | select(.name == "socket_unusable")][0].text | contains("fps.sock: the file exists and is not a socket")'
ok "the folder is not changed" test -f "$fps/file"
rm -r "$fps"
ok "the socket is made when the folder is removed" until_ok 20 test -S "$fps"
ok "and the alert clears" until_ok 30 alerts 0 socket_unusable

for what in removed replaced; do
  rm "$fps" "$sock"
  [ $what = removed ] || touch "$fps" "$sock"
  [ $what = removed ] || { sleep 1; rm -f "$fps" "$sock"; }
  ok "the socket of the frame reports is made again after it was $what" until_ok 20 test -S "$fps"
  ok "the socket of REST is made again" until_ok 20 curl -sSf --unix-socket "$sock" http://gover/readyz
done
ok "no alert remains" until_ok 30 alerts 0 socket_unusable
kill -STOP "$daemon_pid" # otherwise it makes the socket again before the folder exists
rm "$sock"
mkdir "$sock" && touch "$sock/file"
kill -CONT "$daemon_pid"
ok "a REST socket that cannot be made raises an alert" until_ok 20 grep -q 'alert socket_unusable raised: clients cannot connect: socket .*gover.sock' "$dir/log"
rm -r "$sock"
ok "it is made when the folder is removed" until_ok 20 curl -sSf --unix-socket "$sock" http://gover/readyz
ok "it is logged" grep -q 'gover.sock was removed by another program, and made again' "$dir/log"
python3 - "$fps" <<'EOF'
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[1])
EOF
is "a program can connect to the new socket" "$?" 0
stop
ok "the daemon removes its sockets" test ! -e "$fps"
finish
