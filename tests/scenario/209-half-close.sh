#!/bin/sh
# A client that closes its sending side after the request gets its answer, also while another connection is open: the
# reply to a change is deferred, and libmicrohttpd 0.9.75 reads the end of the bytes before it sends a deferred reply.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

request() { # request METHOD PATH BODY: prints a request
  printf '%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n' "$1" "$2"
  [ "$place" = "$sock" ] || printf '%s\r\n' "$(cat "$dir/seller.header")"
  printf 'Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s' "${#3}" "$3"
}

raw() { python3 "$top/tests/openapi/raw.py" "$place" "$@"; }
statuses() { tr -d '\r' | sed -n 's/.*HTTP\/1\.1 \([0-9]*\) .*/\1/p' | tr '\n' ' '; }

tcp
sim_conf
start || exit 1
token seller operate
for place in "$sock" "127.0.0.1:$port"; do
  name=unix
  [ "$place" = "$sock" ] || name=tcp
  new="{\"id\": \"$name\", \"initial_cap_pct\": 5}"
  is "$name: a change is answered" "$(request POST /v1/vgpus "$new" | raw end beside | statuses)" "201 "
  is "$name: the change is made" "$(get "/v1/vgpus/$name" .initial_cap_pct)" 5
  is "$name: a change without another connection is answered" \
    "$(request PATCH "/v1/vgpus/$name" '{"weight": 2}' | raw end | statuses)" "200 "
  is "$name: two changes are answered" \
    "$({ request PATCH "/v1/vgpus/$name" '{"weight": 3}' && request PATCH "/v1/vgpus/$name" '{"weight": 4}'; } |
      raw end beside | statuses)" "200 200 "
  is "$name: both changes are made" "$(get "/v1/vgpus/$name" .weight)" 4
done
stop
is "the daemon stops with status 0" "$stopped" 0
finish
