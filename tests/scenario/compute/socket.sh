#!/bin/sh
# gover-arbiter makes its sockets again after another program has removed or replaced them, and continues while this is not possible.
# If another arbiter has taken the socket for programs, it ends.
. "$(dirname "$0")/../lib.sh"
where=${dir:?}/compute.sock
control=$where.control

ctl_() { timeout 20 "$B/tests/compute-ctl" "$where" "$@" >/dev/null; }
connects() {
  python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(sys.argv[1])' "$where" 2>/dev/null
}
served() { ctl_ device && connects; }
start_arbiter() {
  "$B/gover-arbiter" --socket "$where" 2>"$dir/arbiter.log" &
  arbiter_pid=$!
  cleanup="kill -KILL $arbiter_pid 2>/dev/null; $cleanup"
  until_ok 30 ctl_ device
}
logged() { grep -qF "$1" "$dir/arbiter.log"; }

mkdir "$where" "$control"
ok "empty folders with the names of the sockets are replaced" start_arbiter
ok "programs can connect" connects
for name in "$where" "$control"; do
  rm "$name"
  ok "$(basename "$name") is made again after it was removed" until_ok 20 served
  ok "this is logged" until_ok 20 logged "$name was removed by another program, and made again"
  kill -STOP "$arbiter_pid" # otherwise it makes the socket again before the folder exists
  rm "$name" && mkdir "$name"
  kill -CONT "$arbiter_pid"
  ok "after it was replaced by an empty folder" until_ok 20 served
  for what in file folder link; do
    kill -STOP "$arbiter_pid"
    rm "$name"
    case $what in
      file) touch "$name" ;;
      folder) mkdir "$name" && touch "$name/file" ;;
      link) ln -s /dev/null "$name" ;;
    esac
    : >"$dir/arbiter.log"
    kill -CONT "$arbiter_pid"
    ok "a $what in its place is logged" until_ok 20 logged "socket $name: the file exists and is not a socket (tried again every second)"
    ok "the arbiter continues" kill -0 "$arbiter_pid"
    rm -r "$name"
    ok "the socket is made again when the $what is removed" until_ok 20 served
  done
done
is "a problem is logged once" "$(grep -c 'tried again' "$dir/arbiter.log")" 1
first=$arbiter_pid
kill -STOP "$first"
rm "$where" "$control"
mv "$dir/arbiter.log" "$dir/first.log"
start_arbiter
kill -CONT "$first"
wait "$first"
is "an arbiter whose socket another arbiter has taken ends" $? 3
ok "the other one serves" served
kill "$arbiter_pid"
wait "$arbiter_pid"
ok "it removes its sockets" test ! -e "$where" -a ! -e "$control"
mkdir "$where" && touch "$where/file"
"$B/gover-arbiter" --socket "$where" 2>"$dir/err"
is "an arbiter does not start while a folder with a file has the name of its socket" $? 1
is "the message names it" "$(cat "$dir/err")" "gover-arbiter: socket $where: the file exists and is not a socket"
finish
