#!/bin/sh
# libgover-cl.so in real OpenCL programs on PoCL, with a small arbiter: programs compute the same as without the layer, every
# launch is counted, memory is limited, and no program depends on the arbiter.
. "$(dirname "$0")/../lib.sh"
layer=$B/libgover-cl.so
calls=$B/tests/cl-calls
arbiter=$B/tests/cl-arbiter
# PoCL compiles kernels into a cache, and uses one thread, so that the arbiter has a CPU too.
export POCL_CACHE_DIR="$dir/pocl" POCL_MAX_PTHREAD_COUNT=1
mkdir -p "$POCL_CACHE_DIR"
unset OPENCL_LAYERS GOVER_CL GOVER_CL_DEBUG
# Leaks of PoCL and LLVM are not gover's.
[ -z "${GOVER_ASAN-}" ] || ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
[ -e "$layer" ] || skip_all "libgover-cl.so was not built: no OpenCL headers"
"$calls" idle 0 >"$dir/idle" 2>&1 || skip_all "no OpenCL device (pocl-opencl-icd)"

under() { # under MODE ACTION...: runs cl-calls under the layer and the arbiter; output in $dir/out, totals in $dir/totals
  mode=$1
  shift
  OPENCL_LAYERS=$layer timeout 120 "$arbiter" "$dir/socket" "$mode" "$calls" "$@" >"$dir/all" 2>"$dir/err"
  rc=$?
  grep -v '^clients ' "$dir/all" >"$dir/out"
  grep '^clients ' "$dir/all" >"$dir/totals"
  return "$rc"
}

total() { # total NAME: prints a number of $dir/totals
  tr ' ' '\n' <"$dir/totals" | sed -n "/^$1\$/{n;p;}"
}

# --- results and counts ---

while read -r units action; do
  # shellcheck disable=SC2086 # action and number
  "$calls" $action >"$dir/plain" 2>&1
  for mode in free turn slices slow; do
    # shellcheck disable=SC2086
    ok "$action, $mode: the program ends normally" under $mode $action
    ok "$action, $mode: its results are those without the layer" cmp "$dir/plain" "$dir/out"
    is "$action, $mode: every launch is counted" "$(total units)" "$units"
    ok "$action, $mode: device time is measured" test "$(total busy_us)" -gt 0
    ok "$action, $mode: nothing is printed" test ! -s "$dir/err"
  done
done <<END
500 launch 500
420 events 20
1200 threads 6
150 fork 50
END

# --- without an arbiter ---

"$calls" launch 200 >"$dir/plain" 2>&1
for where in unix:/nonexistent/socket off nonsense; do
  OPENCL_LAYERS=$layer GOVER_CL=$where timeout 60 "$calls" launch 200 >"$dir/out" 2>&1
  ok "GOVER_CL=$where: the program computes and prints the same" cmp "$dir/plain" "$dir/out"
done
OPENCL_LAYERS=$layer GOVER_CL=unix:/nonexistent/socket GOVER_CL_DEBUG=1 timeout 60 "$calls" launch 1 >"$dir/out" 2>"$dir/err"
ok "GOVER_CL_DEBUG=1 prints why there is no control" grep -q '^gover-cl\[[0-9]*\]: /nonexistent/socket: ' "$dir/err"

# --- memory ---

OPENCL_LAYERS=$layer "$arbiter" "$dir/socket" turn memory=5500000 "$calls" memory 1000000 >"$dir/all" 2>&1
is "the sixth buffer of 1 MB is refused with the API's own error at a limit of 5.5 MB, each time" \
  "$(grep -c '^buffers 5 error -4$' "$dir/all")" 3
ok "refused allocations are counted" grep -q " refused $(sed -n 's/^refusals //p' "$dir/all") " "$dir/all"

# --- an arbiter that ends, stops or returns ---

start_waiting() { # starts a program that gets no turn; sets $pid (arbiter)
  rm -f "$dir/waiting"
  OPENCL_LAYERS=$layer "$arbiter" "$dir/socket" none sh -c "'$calls' launch 10 >'$dir/waiting.tmp' && mv '$dir/waiting.tmp' '$dir/waiting'" \
    >"$dir/all" 2>&1 &
  pid=$!
  cleanup="kill -KILL $pid 2>/dev/null"
  until_ok 30 grep -q ready "$dir/waiting.tmp"
}

start_waiting
ok "a program without a turn waits" sh -c "sleep 0.5; test ! -e '$dir/waiting'"
kill -KILL "$pid"
ok "it goes on when the arbiter is killed" until_ok 30 test -s "$dir/waiting"
wait "$pid" 2>/dev/null

start_waiting
kill -STOP "$pid"
ok "it goes on when the arbiter is stopped" until_ok 30 test -s "$dir/waiting"
kill -KILL "$pid"
wait "$pid" 2>/dev/null

OPENCL_LAYERS=$layer GOVER_CL=unix:$dir/socket "$calls" spin >"$dir/out" 2>&1 &
spin=$!
cleanup="kill -KILL $spin 2>/dev/null"
"$arbiter" "$dir/socket" turn sleep 4 >"$dir/totals" 2>&1
is "a running program comes under control when an arbiter starts" "$(total clients)" 1
ok "its work is counted from then on" test "$(total units)" -gt 0
"$arbiter" "$dir/socket" turn sleep 4 >"$dir/totals" 2>&1
is "and again when another arbiter starts" "$(total clients)" 1
ok "the program still runs" kill -0 "$spin"
kill -KILL "$spin"
wait "$spin" 2>/dev/null

# --- the library ---

is "it exports the two functions of the layer interface only" \
  "$(nm -D --defined-only "$layer" | awk '$2 == "T" { print $3 }' | grep -vE '^(__asan|__tsan|_init|_fini)' | sort | tr '\n' ' ')" \
  "clGetLayerInfo clInitLayer "
if [ -n "${GOVER_ASAN-}" ]; then
  ok "clinfo prints the same # SKIP clinfo loads no library with a sanitizer" true
elif command -v clinfo >/dev/null; then
  clinfo >"$dir/plain" 2>&1
  OPENCL_LAYERS=$layer GOVER_CL=unix:/nonexistent/socket clinfo >"$dir/out" 2>&1
  ok "clinfo prints the same" cmp "$dir/plain" "$dir/out"
else
  ok "clinfo prints the same # SKIP clinfo not installed" true
fi
finish
