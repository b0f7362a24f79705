#!/bin/sh
# Sockets that systemd holds: the daemon answers on them by their names, opens none of its own beside them, refuses what
# it would not answer on, and leaves them behind at its end.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"
command -v systemd-socket-activate >/dev/null || skip_all "no systemd-socket-activate"

sim_conf
activate() { # activate NAMES OPTION...: as systemd would hand over; the daemon begins with the first connection
  names=$1
  shift
  systemd-socket-activate --fdname="$names" "$@" "$B/gover-d" --config "$conf" >"$dir/log" 2>&1 &
  daemon_pid=$!
}
healthy() { curl -sS --unix-socket "$1" http://gover/healthz; }

sed -i "s|^socket = $sock|socket = $dir/not-used.sock|" "$conf"
port=$((20000 + $$ % 20000))
activate gover:gover-tcp -l "$sock" -l "127.0.0.1:$port"
ok "the socket is there before the daemon" until_ok 20 test -S "$sock"
ok "the first request starts it" until_ok 20 healthy "$sock"
ok "TCP is answered too" curl -sS "http://127.0.0.1:$port/healthz"
ok "no socket of its own is made beside it" test ! -e "$dir/not-used.sock"
kill -TERM "$daemon_pid"
wait "$daemon_pid"
is "a stop is a clean one" "$?" 0
ok "and leaves the name to systemd" test -S "$sock"
daemon_pid=''

refused() { # refused WORDS NAMES OPTION...
  words=$1
  shift
  rm -f "$sock"
  activate "$@"
  until_ok 20 test -S "$sock"
  curl -sS -m 10 --unix-socket "$sock" http://gover/healthz >/dev/null 2>&1
  wait "$daemon_pid"
  r=$?
  daemon_pid=''
  [ "$r" -eq 1 ] && grep -q "$words" "$dir/log"
}
ok "a name that is not known is refused" refused 'named other; allowed: FileDescriptorName=gover or gover-tcp' other -l "$sock"
ok "two of a name are" refused 'two sockets named gover' gover:gover -l "$sock" -l "$dir/second.sock"
ok "and what is no TCP socket under its name" refused 'gover-tcp, which is not a TCP socket' gover-tcp -l "$sock"
finish
