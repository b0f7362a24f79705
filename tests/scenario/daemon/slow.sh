#!/bin/sh
# A GPU whose readings take longer than a period does not stop the requests: periods are left out, and an alert says why.
GOVER_HOST=fuse period_ms=400 speed=1
. "$(dirname "$0")/../host.sh"

[ -z "${GOVER_ASAN-}" ] || skip_all "the library that injects the faults has no sanitizer"
host_setup
loop_conf
slow() { # slow SECONDS: the duration of each reading of a busy time
  python3 - "$top/tests/faults" "$dir/faults" "$1" <<END
import sys
sys.path.insert(0, sys.argv[1])
import page
file, stall_s = sys.argv[2], float(sys.argv[3])
shared = page.Page(file)
if stall_s:
    shared.arm(page.READ, "*/busy_time", page.STALL, stall_s=stall_s)
END
}
slow 0
GOVER_FAULTS=$dir/faults LD_PRELOAD=$B/tests/fault-inject.so "$B/gover-d" --config "$conf" >>"$dir/log" 2>&1 &
daemon_pid=$!
ok "the daemon starts" until_ok 20 curl -sSf --unix-socket "$sock" http://gover/readyz
for v in a b c d; do
  host_vgpu "$v" 20 || exit 1
done
valid() { that /v1/gpus ".gpus[0].telemetry_valid == $1"; }
ok "readings are valid" until_ok 20 valid true

slow 0.12 # four of them are longer than a period
says() { that /v1/alerts "[.alerts[] | select(.name == \"telemetry_stale\" and (.text | test(\"take 0.[4-9][0-9] s\")))] | length == 1"; }
ok "an alert says how long the readings take" until_ok 20 says
answered=0
for _ in $(seq 40); do
  curl -sSf -m 1 -o /dev/null --unix-socket "$sock" http://gover/v1/host && answered=$((answered + 1))
done
is "every request is answered" "$answered" 40
ok "the loop continues" periods 6
ok "readings continue" until_ok 20 that "/v1/vgpus/$(host_uuid d)" '.load_pct != null'
ok "a cap can be changed" until_ok 20 sh -c "curl -sSf --unix-socket '$sock' -X PATCH -H 'Content-Type: application/json' \
  -d '{\"held\": true, \"held_cap_pct\": 10}' http://gover/v1/vgpus/$(host_uuid a)"
ok "the cap is in force" until_ok 20 cap_is a 10
is "no cap counts as changed externally" "$(decided foreign_write)" 0

slow 0
ok "the alert is cleared" until_ok 30 alerts 0 telemetry_stale
ok "readings are valid again" until_ok 10 valid true
finish
