#!/bin/sh
# REST against the real daemon: methods, queries, history, metrics, changes that reach the disk or do not, and
# clients that leave in the middle.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

sim_conf
start || exit 1
rest() { curl -sS --unix-socket "$sock" "$@"; }
code() { rest -o "$dir/body" -w '%{http_code}' "$@"; }

is "anybody may knock at the socket" "$(stat -c %a "$sock")" 666
is "HEAD is GET without its body" "$(rest -I http://gover/v1/host | tr -d '\r' | sed -n '1s/.* \([0-9]*\) .*/\1/p')" 200
is "a wrong method" "$(code -D "$dir/head" -X PUT http://gover/v1/vgpus)" 405
ok "is told the right ones" grep -qi '^Allow: GET, HEAD, POST' "$dir/head"
is "an unknown parameter" "$(code 'http://gover/v1/host?colour=red')" 400
is "a body that does not say it is JSON" "$(code -d '{}' http://gover/v1/vgpus)" 415
ok "problems are problem documents" jq -e '.status == 415 and .title and .detail and .instance == "/v1/vgpus"' "$dir/body"

ticks=$(get /v1/host .ticks)
ok "answers follow the ticks" until_ok 20 that /v1/host ".ticks > $ticks"

api POST /v1/vgpus '{"id": "a", "vm": "vm-a", "initial_cap_pct": 50, "target_fps": 30, "labels": {"workload": "glxgears"}}' >/dev/null
is "a vGPU is sold" "$(status)" 201
is "what was answered is on disk" "$(jq -r '.vgpus[0].id' "$dir/state/contracts.json")" a
ok "it has a history" until_ok 20 that '/v1/vgpus/a/history?step=1' '.points | length > 1 and .[0].samples > 0'
is "in the steps asked for" "$(get '/v1/vgpus/a/history?step=60' .step_s)" 60
is "a time that is none" "$(code 'http://gover/v1/vgpus/a/history?from=yesterday')" 400
is "a vGPU that never was has none" "$(code http://gover/v1/vgpus/never/history)" 404

ok "metrics tell the cap" sh -c "curl -sS --unix-socket '$sock' http://gover/metrics |
  grep -q '^gover_vgpu_cap_percent{gpu=\"gpu0\",vgpu=\"a\",vm=\"vm-a\"} [0-9]'"
if command -v promtool >/dev/null; then
  ok "and Prometheus has no complaint" sh -c "curl -sS --unix-socket '$sock' http://gover/metrics | promtool check metrics"
else
  ok "and Prometheus has no complaint # SKIP no promtool here" true
fi

mkdir "$dir/state/contracts.json.new" # the file cannot be replaced now, not even by root
api PATCH /v1/vgpus/a '{"target_fps": 25}' >/dev/null
is "a change that cannot be saved" "$(status)" 507
is "is in force" "$(get /v1/vgpus/a .target_fps)" 25
ok "and told by an alert" until_ok 20 alerts 1 contracts_unsaved
rmdir "$dir/state/contracts.json.new"
ok "a later try saves it" until_ok 20 jq -e '.vgpus[0].target_fps == 25' "$dir/state/contracts.json"
ok "and ends the alert" until_ok 20 alerts 0 contracts_unsaved

head -c 60000 /dev/zero | tr '\0' ' ' >"$dir/slow"
rest --limit-rate 1000 -X PATCH -H 'Content-Type: application/json' --data-binary "@$dir/slow" \
  http://gover/v1/vgpus/a >/dev/null 2>&1 &
slow=$!
sleep 0.5
ok "a slow client delays nobody" periods 5
kill -KILL "$slow" 2>/dev/null
wait "$slow" 2>/dev/null
is "nor one that leaves in the middle" "$(code http://gover/healthz)" 200

waiting=''
for i in 1 2 3 4 5 6 7 8; do
  curl -sS --unix-socket "$sock" -o /dev/null -w '%{http_code}\n' 'http://gover/v1/host?x=[1-40]' >"$dir/many.$i" 2>&1 &
  waiting="$waiting $!"
done
for p in $waiting; do wait "$p"; done
is "many at once are all answered" "$(cat "$dir"/many.* | grep -c '^400$')" 320

stop
is "it ends well" "$stopped" 0
ok "and takes its socket along" test ! -e "$sock"
finish
