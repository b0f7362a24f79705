#!/bin/sh
# The memory of the daemon after a flood of requests: 400 connections send large bodies at the same time, and each of
# them changes a contract, so that small blocks that stay in use lie above large free ones.
. "$(dirname "$0")/../lib.sh"
[ -z "${GOVER_ASAN-}" ] || skip_all "a sanitizer keeps freed memory"

flood() { # prints how many requests were answered: with 200, or with 503 if the bodies have more than 8 MiB in all
  python3 - "$sock" <<'END'
import json, socket, sys

CONNECTIONS, BODY = 400, 60000
connections = []
for i in range(CONNECTIONS):
    labels = json.dumps({"labels": {"round": str(i), "text": "x" * 200}})
    body = labels.ljust(BODY).encode()
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(60)
    s.connect(sys.argv[1])
    head = "PATCH /v1/vgpus/v%d HTTP/1.1\r\nHost: gover\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    s.sendall((head % (i % 20, BODY)).encode() + body[:-1])
    connections.append((s, body[-1:]))
answered = 0
for s, rest in connections: # all bodies are in memory now, except the last byte of each
    s.sendall(rest)
    answered += s.recv(65536)[:13] in (b"HTTP/1.1 200 ", b"HTTP/1.1 503 ")
print(answered)
END
}
memory_kib() { sed -n "s/^$1:[^0-9]*\([0-9]*\) kB/\1/p" "/proc/$daemon_pid/status"; }
at_most() { [ "$(memory_kib VmRSS)" -le "$1" ]; }

start_sim
for i in $(seq 0 19); do sell "v$i" 1; done
is "vGPUs are sold" "$(get /v1/vgpus '.vgpus | length')" 20
before=$(memory_kib VmRSS)
is "each request of the flood is answered" "$(flood)" 400
ok "the flood used 16 MiB or more" test "$(memory_kib VmHWM)" -ge $((before + 16384))
# 4 MiB of free memory are not worth a trim, and up to 4 MiB are in use: the decisions of the flood, and the page cache of
# the history.
ok "the memory returns to at most 8 MiB more than before" until_ok 60 at_most $((before + 8192))
echo "# before $before KiB, most $(memory_kib VmHWM) KiB, now $(memory_kib VmRSS) KiB"
is "a second flood is answered" "$(flood)" 400
ok "the memory returns again" until_ok 60 at_most $((before + 8192))
metric_kib() { curl -sS --unix-socket "$sock" http://gover/metrics | awk '$1 == "process_resident_memory_bytes" { print $2 / 1024 }'; }
metric_is_rss() { awk "BEGIN { d = $(metric_kib) - $(memory_kib VmRSS); exit !(d > -2048 && d < 2048) }"; }
ok "the metric is the resident memory" until_ok 20 metric_is_rss
finish
