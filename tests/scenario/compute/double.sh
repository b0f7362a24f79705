#!/bin/sh
# Tests the device double: one queue for all processes, exact truth, and clients that are killed or stopped.
. "$(dirname "$0")/../compute/lib.sh"

# --- one tenant ---

tenant one --us 500 --launches 100 --seconds 60 --depth 4 >"$dir/one.out"
ok "a tenant runs its launches" grep -q '^done 100 ' "$dir/one.out"
is "each launch is counted" "$(truth one launches)" 100
is "busy time is the sum of the launches" "$(truth one busy_ns)" 50000000
is "an ended client holds no memory" "$(truth device bytes)" 0

if command -v clinfo >/dev/null && [ -z "${GOVER_ASAN-}" ]; then
  clinfo >"$dir/clinfo" 2>&1
  ok "clinfo lists the device" grep -q 'Device Name  *gover device double' "$dir/clinfo"
fi

without() { # the same client without a state file
  (unset GOVER_DOUBLE && "$B/tests/cl-tenant" --launches 1) >"$dir/without" 2>&1
  grep -q 'GOVER_DOUBLE: required' "$dir/without" && grep -q 'clGetPlatformIDs: error' "$dir/without"
}
ok "without a state file there is no platform" without

echo "no state file" >"$dir/text"
foreign() {
  GOVER_DOUBLE=$dir/text "$B/tests/cl-tenant" --launches 1 >"$dir/foreign" 2>&1
  grep -q 'Protocol error' "$dir/foreign" && [ "$(cat "$dir/text")" = "no state file" ]
}
ok "another file is rejected and not changed" foreign

# --- three tenants: first come, first served ---

tenant_start short --us 200 --seconds 3 --depth 2
tenant_start middle --us 1000 --seconds 3 --depth 2
tenant_start long --us 10000 --seconds 3 --depth 2
wait
echo "# busy ns: short $(truth short busy_ns), middle $(truth middle busy_ns), long $(truth long busy_ns)"
ok "kernels of 0.2, 1 and 10 ms get unfair shares (minimum/maximum below 0.1)" test "$(mmr short middle long)" -lt 100
ok "every tenant runs" at_least short launches 1
is "the device's busy time is the sum of all tenants" "$(truth device busy_ns)" \
  "$(($(truth one busy_ns) + $(truth short busy_ns) + $(truth middle busy_ns) + $(truth long busy_ns)))"

# --- a killed client ---

# 100 s of work, and a client that waits behind it.
tenant_start killed --us 1000000 --seconds 60 --depth 100
killed_pid=$tenant_pid
until_ok 20 at_least device queued 100
tenant_start after --us 1000 --launches 1 --seconds 60
until_ok 20 at_least device queued 101
kill -KILL "$killed_pid"
wait "$killed_pid" 2>/dev/null
ok "queued work of a killed client disappears for a client that waits" until_ok 60 grep -q '^done 1 ' "$dir/after.out"
kill -KILL "$tenant_pid" 2>/dev/null
wait "$tenant_pid" 2>/dev/null
ok "its queued launches are counted as dropped" at_least killed dropped 50
is "its memory is free" "$(truth killed bytes)" 0

# --- a stopped client ---

tenant_start stopped --us 20000 --seconds 60 --depth 100
until_ok 20 at_least stopped launches 1
kill -STOP "$tenant_pid"
before=$(truth stopped launches)
ok "another client runs beside a stopped one" tenant other --us 1000 --launches 20 --seconds 60
ok "the submitted work of a stopped client runs" at_least stopped launches $((before + 50))
kill -CONT "$tenant_pid"
ok "a stopped client continues" until_ok 20 at_least stopped launches $((before + 150))
kill -KILL "$tenant_pid"
wait "$tenant_pid" 2>/dev/null

# --- the memory limit ---

inject --memory 1000000
tenant_start holder --allocate 700000 --us 1000 --seconds 60
until_ok 20 at_least holder bytes 700000
ok "an allocation beyond the memory of the device fails" \
  test "$(tenant refused --allocate 400000 --launches 1)" = "cl-tenant: clCreateBuffer: error -4"
is "the refusal is counted" "$(truth refused refused)" 1
kill -KILL "$tenant_pid"
wait "$tenant_pid" 2>/dev/null
ok "the memory of a killed client can be allocated" tenant next --allocate 400000 --launches 1
ok "a buffer larger than the memory has an invalid size" \
  test "$(tenant refused --allocate 1000001 --launches 1)" = "cl-tenant: clCreateBuffer: error -61"
inject --memory 4294967296

# --- injected faults ---

inject --fail-alloc 1
is "an injected fault fails one allocation" "$(tenant faults --launches 1)" "cl-tenant: clCreateBuffer: error -4"
inject --fail-enqueue 3
is "an injected fault fails one command" "$(tenant faults --launches 5)" "cl-tenant: clEnqueueNDRangeKernel: error -5"
is "two launches came before it" "$(truth faults launches)" 2
inject --slow-factor 100 --slow-count 1
tenant slow --us 100 --launches 2 --seconds 60 >/dev/null
is "an injected fault makes one launch longer" "$(truth slow busy_ns)" 10100000
tenant_start lost --us 10000000 --seconds 60
until_ok 20 at_least device queued 1
inject --lose
ok "a lost device fails the launches in flight" until_ok 20 grep -q 'clWaitForEvents: error -14' "$dir/lost.out"
wait "$tenant_pid" 2>/dev/null
is "no context can be created on a lost device" "$(tenant lost --launches 1)" "cl-tenant: clCreateContext: error -2"
inject --restore
ok "a restored device runs launches" tenant restored --launches 1

# --- clients killed or stopped at any time ---

i=0 blocked=0
while [ "$i" -lt 40 ]; do
  i=$((i + 1))
  tenant_start "k$((i % 4))" --us 50 --seconds 60 --depth 8
  sleep "0.0$((i * 7 % 10))"
  if [ $((i % 2)) -eq 0 ]; then
    kill -STOP "$tenant_pid"
    timeout -s KILL 60 "$B/tests/cl-tenant" --us 50 --launches 20 --seconds 60 >/dev/null 2>&1 || blocked=$((blocked + 1))
  fi
  kill -KILL "$tenant_pid"
  wait "$tenant_pid" 2>/dev/null
done
is "no client stopped at any time blocks another one" "$blocked" 0
locked() { # a client while another process holds the lock that protects the creation of the state file
  flock "$state" timeout -s KILL 20 "$B/tests/cl-tenant" --us 50 --launches 1 --seconds 60 >/dev/null 2>&1
}
ok "a process that holds the lock of the state file blocks no client" locked
ok "the device works after 40 clients were killed" tenant last --us 100 --launches 50 --seconds 60
sum=$("$truth_program" "$state" | awk '$1 == "tenant" { for (i = 3; i <= NF; i++) if (sub("busy_ns=", "", $i)) n += $i } END { printf "%.0f", n }')
is "the device's busy time is still the sum of all tenants" "$(truth device busy_ns)" "$sum"
is "no memory is held" "$(truth device bytes)" 0
finish
