#!/bin/sh
# REST of the running daemon: methods, queries, history, metrics, changes with and without a writable disk, and clients
# that disconnect early.
. "$(dirname "$0")/../lib.sh"

start_sim
rest() { curl -sS --unix-socket "$sock" "$@"; }
code() { rest -o "$dir/body" -w '%{http_code}' "$@"; }

is "every user may connect to the socket" "$(stat -c %a "$sock")" 666
is "HEAD is answered like GET" "$(rest -I http://gover/v1/host | tr -d '\r' | sed -n '1s/.* \([0-9]*\) .*/\1/p')" 200
is "a wrong method is rejected" "$(code -D "$dir/head" -X PUT http://gover/v1/vgpus)" 405
ok "Allow lists the allowed methods" grep -qi '^Allow: GET, HEAD, POST' "$dir/head"
is "an unknown parameter is rejected" "$(code 'http://gover/v1/host?colour=red')" 400
is "a body without the type JSON is rejected" "$(code -d '{}' http://gover/v1/vgpus)" 415
ok "errors are problem documents" gojq -e '.status == 415 and .title and .detail and .instance == "/v1/vgpus"' "$dir/body"

ok "answers follow the ticks" periods 1

api POST /v1/vgpus '{"id": "a", "vm": "vm-a", "initial_cap_pct": 50, "target_fps": 30, "labels": {"workload": "glxgears"}}' >/dev/null
is "a vGPU is sold" "$(status)" 201
is "the answered contract is on disk" "$(gojq -r '.vgpus[0].id' "$dir/state/contracts.json")" a
ok "the vGPU has a history" until_ok 20 that '/v1/vgpus/a/history?step=1' '.points | length > 1 and .[0].samples > 0'
is "the history has the requested step" "$(get '/v1/vgpus/a/history?step=60' .step_s)" 60
is "an invalid time is rejected" "$(code 'http://gover/v1/vgpus/a/history?from=yesterday')" 400
is "an unknown vGPU has no history" "$(code http://gover/v1/vgpus/never/history)" 404

ok "metrics contain the cap" sh -c "curl -sS --unix-socket '$sock' http://gover/metrics |
  grep -q '^gover_vgpu_cap_percent{gpu=\"gpu0\",vgpu=\"a\",vm=\"vm-a\"} [0-9]'"
if command -v promtool >/dev/null; then
  ok "promtool accepts the metrics" sh -c "curl -sS --unix-socket '$sock' http://gover/metrics | promtool check metrics"
else
  ok "promtool accepts the metrics # SKIP promtool not installed" true
fi

mkdir "$dir/state/contracts.json.new" # this folder prevents the replacement of the file, even by root
api PATCH /v1/vgpus/a '{"target_fps": 25}' >/dev/null
is "a change that cannot be saved is answered with 507" "$(status)" 507
is "the change is not in force" "$(get /v1/vgpus/a .target_fps)" 30
ok "an alert reports it" until_ok 20 alerts 1 contracts_unsaved
rmdir "$dir/state/contracts.json.new"
ok "the alert clears" until_ok 20 alerts 0 contracts_unsaved

head -c 60000 /dev/zero | tr '\0' ' ' >"$dir/slow"
rest --limit-rate 1000 -X PATCH -H 'Content-Type: application/json' --data-binary "@$dir/slow" \
  http://gover/v1/vgpus/a >/dev/null 2>&1 &
slow=$!
sleep 0.5
ok "a slow client delays no tick" periods 5
kill -KILL "$slow" 2>/dev/null
wait "$slow" 2>/dev/null
is "a client that disconnects early delays no other" "$(code http://gover/healthz)" 200

waiting=''
for i in 1 2 3 4 5 6 7 8; do
  curl -sS --unix-socket "$sock" -o /dev/null -w '%{http_code}\n' 'http://gover/v1/host?x=[1-40]' >"$dir/many.$i" 2>&1 &
  waiting="$waiting $!"
done
for p in $waiting; do wait "$p"; done
is "many requests at once are answered" "$(cat "$dir"/many.* | grep -c '^400$')" 320

stop
is "the daemon stops with status 0" "$stopped" 0
ok "the daemon removes its socket" test ! -e "$sock"
finish
