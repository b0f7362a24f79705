#!/bin/sh
# Clients that drive gover-d into a limit of its memory: bodies that are not complete, answers that are not read, event
# streams and queries. What does not fit is refused with a problem document, and the daemon goes on.
. "$(dirname "$0")/../lib.sh"
[ -z "${GOVER_ASAN-}" ] || skip_all "a sanitizer needs more memory"

crowd() { python3 "$top/tests/openapi/crowd.py" "$sock" "$@"; } # prints how often each status came
status_503() { # status_503: the number of refused requests, and whether only 200 and 503 came
  sed 's/^/# /' "$dir/crowd" >&2
  awk '$1 == 503 { n = $2 } $1 != 200 && $1 != 503 { other = 1 } END { exit other || n == 0 }' "$dir/crowd"
}
memory_kib() { sed -n "s/^$1:[^0-9]*\([0-9]*\) kB/\1/p" "/proc/$daemon_pid/status"; }

start_sim
long=$(printf 'x%.0s' $(seq 250))
many=$(for i in $(seq 32); do printf '%s"l%s":"%s"' "$([ "$i" = 1 ] || echo ,)" "$i" "$long"; done)
for i in $(seq 0 59); do sell "v$i" 1 '' "\"labels\": {$many}"; done
ok "the list of vGPUs is longer than 500 KB" test "$(api GET /v1/vgpus | wc -c)" -gt 500000
# 33 MiB for the connections of 600 clients, 8 for bodies, 32 for answers, and the answers that are being made
limit=$(($(memory_kib VmData) + 160 * 1024))
prlimit --pid "$daemon_pid" --data=$((limit * 1024))
pid=$daemon_pid

crowd bodies 150 >"$dir/crowd"
ok "bodies above 8 MiB in all are refused, and the others are accepted" status_503
crowd lists 400 >"$dir/crowd"
ok "answers above 32 MiB that are not read are refused, and the others are sent" status_503
is "they are counted with 503" "$(api GET /metrics |
  sed -n 's/^gover_http_requests_total{method="GET",route="\/v1\/vgpus",status="503"} //p')" \
  "$(sed -n 's/^503 //p' "$dir/crowd")"
crowd streams 300 >"$dir/crowd"
ok "event streams above their limit are refused, and the others are open" status_503
crowd queries 300 >"$dir/crowd"
ok "queries above their limit are refused, and the others are answered" sh -c \
  "grep -q '^200 ' '$dir/crowd' && grep -q '^429 ' '$dir/crowd' && ! grep -qvE '^(200|429|503) ' '$dir/crowd'"
ok "all of them at the same time do not end the daemon" crowd all 200
ok "the daemon still runs" kill -0 "$pid"
is "a change is accepted" "$(api PATCH /v1/vgpus/v0 '{"weight": 2}' >/dev/null; status)" 200
is "the list is complete" "$(get /v1/vgpus '.vgpus | length')" 60
echo "# data $(memory_kib VmData) KiB of $limit KiB, resident at most $(memory_kib VmHWM) KiB"
finish
