#!/bin/sh
# Kernel slicing in libgover-cl.so. On PoCL: programs compute the same with all launches cut into parts, and what cannot be
# sliced stays whole. On the device double: a long kernel is cut so that an over-run is one part.
. "$(dirname "$0")/../compute/cl-lib.sh"
need_device
cd "$top" || exit 1
layer=$B/libgover-cl.so
kernels=$B/gover-kernels
export POCL_MAX_PTHREAD_COUNT=1
unset GOVER_CL GOVER_CL_SLICE GOVER_CL_DEBUG
[ -e "$layer" ] || skip_all "libgover-cl.so was not built: no OpenCL headers"

under() { # under PARTS COMMAND...: runs a program with each launch cut into PARTS parts; output in $dir/out, totals in $dir/totals
  parts=$1
  shift
  GOVER_CL_SLICE=$parts GOVER_CL_DEBUG=1 OPENCL_LAYERS=$layer timeout 300 "$B/tests/cl-arbiter" "$dir/socket" "${mode:-turn}" "$@" \
    >"$dir/all" 2>"$dir/err"
  rc=$?
  grep -v '^clients ' "$dir/all" >"$dir/out"
  grep '^clients ' "$dir/all" >"$dir/totals"
  return "$rc"
}

plainly() { # plainly COMMAND...: the same with a layer that cuts launches without rectified indices
  OPENCL_LAYERS=$B/tests/cl-layer CL_LAYER_MISTAKE=sliced-plainly timeout 300 "$@" >"$dir/out" 2>&1
}

total() { # total NAME: prints a number of $dir/totals
  tr ' ' '\n' <"$dir/totals" | sed -n "/^$1\$/{n;p;}"
}

result() { # result: prints the results of gover-kernels, without times
  grep -E '^(digest|check) ' "$dir/out" | tr '\n' ' '
}

# --- functions for indices ---

for action in indices language2 declared log; do
  "$B/tests/cl-slice" $action >"$dir/plain" 2>"$dir/err"
  is "cl-slice $action runs without the layer" $? 0
  for parts in 2 5 1000; do
    ok "cl-slice $action, $parts parts: the program ends normally" under $parts "$B/tests/cl-slice" $action
    ok "cl-slice $action, $parts parts: each work-item sees the whole launch" cmp "$dir/plain" "$dir/out"
    diff "$dir/plain" "$dir/out" | head -n 5 | sed 's/^/# /'
    case $action in
    indices | declared) ok "cl-slice $action, $parts parts: it was sliced" grep -q "kernel $action is sliced: " "$dir/err" ;;
    esac
  done
done
"$B/tests/cl-slice" indices >"$dir/plain"
ok "the test notices plain offsets" sh -c "! cmp -s '$dir/plain' '$dir/out'"
"$B/tests/cl-slice" declared >/dev/null 2>"$dir/err"
ok "a program can declare an argument without the layer" grep -qx 'declared: -59' "$dir/err"
under 0 "$B/tests/cl-slice" declared
ok "GOVER_CL_SLICE=0: no launch is sliced" sh -c "! grep -q 'sliced' '$dir/err'"

# --- results ---

# Each row: a workload with its options, and whether plain offsets give a wrong result: not if a kernel uses only
# get_global_id(), or goes through all data with any number of work-groups.
while read -r wrong workload; do
  # shellcheck disable=SC2086 # workload and options
  set -- --launches 4 --check --digest $workload
  "$kernels" "$@" >"$dir/out" 2>&1
  plain=$(result)
  for parts in 7 50; do
    under "$parts" "$kernels" "$@"
    is "$workload, $parts parts: bit-equal" "$? $(result)" "0 $plain"
    ok "$workload, $parts parts: it was sliced" grep -q ' is sliced: ' "$dir/err"
    is "$workload, $parts parts: no kernel is left whole" "$(total whole)" 0
  done
  plainly "$kernels" "$@"
  [ "$wrong" = equal ] || ok "$workload: the test notices plain offsets" test "$(result)" != "$plain"
done <<'END'
wrong matmul
wrong matmul --size 70
wrong matmul --size 300 --local 16
wrong stencil
wrong stencil --size 131 --local 256
wrong scan
wrong scan --size 4097 --local 16
wrong histogram
wrong nbody
equal blackscholes
equal many
equal reduction
equal long --size 100
equal bfs --size 3000
END

# --- what stays whole ---

under 7 "$kernels" --launches 4 --check --digest many --local 0
is "a launch without a size of work-groups stays whole" "$? $(total whole)" "0 1"
ok "the layer says why" grep -q 'kernel many is not sliced: its launch does not set the size of work-groups$' "$dir/err"

# --- everything else ---

# compute-layer(7): the references of a context may include those of events that the layer keeps.
"$B/tests/cl-conformance" 2>/dev/null | grep -v '^only reference to the context' >"$dir/plain"
for parts in 2 7; do
  under $parts "$B/tests/cl-conformance"
  sed -i '/^only reference to the context/d' "$dir/out"
  ok "cl-conformance, $parts parts: the same transcript" cmp "$dir/plain" "$dir/out"
  diff "$dir/plain" "$dir/out" | head -n 20 | sed 's/^/# /'
  ok "cl-conformance, $parts parts: launches were sliced" grep -q ' is sliced: ' "$dir/err"
done

# --- on the device double: a launch of 32 ms, and parts of 2 ms in turns of 6 ms ---

. "$(dirname "$0")/../compute/lib.sh"
unset CL_DEVICE
export GOVER_DOUBLE_KERNELS="long_steps=500us/group many=200us"

under 5 "$B/tests/cl-slice" times
is "the event of a sliced launch has the times of all parts" "$(sort -u "$dir/out")" "the times contain the launch: 1"
ok "on the double, too, the launch was sliced" grep -q 'kernel times is sliced: 8 of 40 ' "$dir/err"

both() { # both: two tenants, a long kernel and a short one, in turns
  rm -f "$state"
  GOVER_CL_DEBUG=1 OPENCL_LAYERS=$layer timeout 300 "$B/tests/cl-arbiter" "$dir/socket" slices sh -c "
    GOVER_DOUBLE_LABEL=long '$kernels' --launches 60 --in-flight 1 long &
    GOVER_DOUBLE_LABEL=many '$kernels' --seconds 2 many >/dev/null
    wait" >"$dir/all" 2>"$dir/err" && grep '^clients ' "$dir/all" >"$dir/totals"
}

ok "two tenants run" both
launches=$(truth long launches)
busy=$(truth long busy_ns)
units=$((busy / 32000000))
is "the device time is that of whole launches" "$busy" "$((units * 32000000))"
ok "the layer reports the sliced kernel" grep -q 'kernel long_steps is sliced: 4 of 64 work-groups$' "$dir/err"
is "each launch is cut into 16 parts, the first one too" "$launches" "$((16 * units))"
# Device time of a turn beyond its 6 ms.
echo "# longest over-run: $(total over_us) us"
is "no turn exceeds its slice by more than a part" "$(total over_turns)" 0
export GOVER_CL_SLICE=0
ok "two tenants run without slicing" both
is "without slicing, all launches are whole" "$(truth long launches)" "$(($(truth long busy_ns) / 32000000))"
ok "and most turns of the long kernel exceed their slice: $(total over_turns)" test "$(total over_turns)" -gt 30
finish
