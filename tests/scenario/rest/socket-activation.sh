#!/bin/sh
# Socket activation: the daemon uses the sockets from systemd by their names and opens no other sockets. When it stops,
# the sockets remain. It does not start with an unknown socket.
. "$(dirname "$0")/../lib.sh"
command -v systemd-socket-activate >/dev/null || skip_all "no systemd-socket-activate"

sim_conf
activate() { # activate NAMES OPTION...: opens sockets as systemd does; the first connection starts the daemon
  names=$1
  shift
  systemd-socket-activate --fdname="$names" "$@" "$B/gover-d" --config "$conf" >"$dir/log" 2>&1 &
  daemon_pid=$!
}
healthy() { curl -sS --unix-socket "$1" http://gover/healthz; }

sed -i "s|^socket = $sock|socket = $dir/not-used.sock|" "$conf"
port=$(free_port)
activate gover:gover-tcp -l "$sock" -l "127.0.0.1:$port"
ok "the socket exists before the daemon runs" until_ok 20 test -S "$sock"
ok "the first request starts the daemon" until_ok 20 healthy "$sock"
ok "requests over TCP are answered too" curl -sS "http://127.0.0.1:$port/healthz"
ok "the daemon creates no socket of its own" test ! -e "$dir/not-used.sock"
kill -TERM "$daemon_pid"
wait "$daemon_pid"
is "the daemon stops with status 0" "$?" 0
ok "the socket still exists" test -S "$sock"
daemon_pid=''

refused() { # refused WORDS NAMES OPTION...
  words=$1
  shift
  rm -f "$sock"
  activate "$@"
  until_ok 20 test -S "$sock"
  # The socket can be connected to a moment after its file exists.
  curl -sS -m 10 --retry 20 --retry-delay 1 --retry-connrefused --unix-socket "$sock" http://gover/healthz >/dev/null 2>&1
  wait "$daemon_pid"
  r=$?
  daemon_pid=''
  [ "$r" -eq 1 ] && grep -q "$words" "$dir/log"
}
ok "a socket with an unknown name is rejected" refused 'named other (allowed: FileDescriptorName=gover or gover-tcp)' other -l "$sock"
ok "two sockets of one name are rejected" refused 'two sockets named gover' gover:gover -l "$sock" -l "$dir/second.sock"
ok "a unix socket under the TCP name is rejected" refused 'gover-tcp, which is not a listening TCP socket' gover-tcp -l "$sock"
finish
