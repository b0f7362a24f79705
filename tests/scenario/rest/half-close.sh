#!/bin/sh
# A client that closes its sending side after the request gets its answer. Exception: while another connection is open,
# libmicrohttpd 0.9.75 reads the end of the bytes before it sends a deferred reply, and the answer to a change is lost.
. "$(dirname "$0")/../lib.sh"

request() { # request METHOD PATH BODY: prints a request
  printf '%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n' "$1" "$2"
  [ "$place" = "$sock" ] || printf '%s\r\n' "$(cat "$dir/seller.header")"
  printf 'Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s' "${#3}" "$3"
}

raw() { python3 "$top/tests/openapi/raw.py" "$place" "$@"; }
statuses() { tr -d '\r' | sed -n 's/.*HTTP\/1\.1 \([0-9]*\) .*/\1/p' | tr '\n' ' '; }

tcp
start_sim
token seller operate
sockets() { find "/proc/$daemon_pid/fd" -lname 'socket:*' | wc -l; }
closed() { [ "$(sockets)" -le "$idle" ]; }
periods 2
idle=$(sockets)
for place in "$sock" "127.0.0.1:$port"; do
  name=unix
  [ "$place" = "$sock" ] || name=tcp
  until_ok 20 closed # earlier connections are closed
  is "$name: a change is answered" \
    "$(request POST /v1/vgpus "{\"id\": \"$name\", \"initial_cap_pct\": 5}" | raw end | statuses)" "201 "
  is "$name: a read beside another connection is answered" "$(request GET /v1/host '' | raw end beside | statuses)" "200 "
  request PATCH "/v1/vgpus/$name" '{"weight": 3}' | raw end beside >"$dir/lost" 2>&1
  ok "$name: a change beside another connection is made" until_ok 20 that "/v1/vgpus/$name" '.weight == 3'
done
finish
