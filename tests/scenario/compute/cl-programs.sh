#!/bin/sh
# gover-kernels: each workload computes the same results as the CPU, and its options work.
. "$(dirname "$0")/../compute/cl-lib.sh"
need_device

kernels() { "$B/gover-kernels" "$@" >"$dir/out" 2>"$dir/err"; }

field() { # field NAME: prints a value of the last run
  sed -n "s/.*\\b$1 \\([^ ]*\\).*/\\1/p" "$dir/out" | tail -n 1
}

fails() { # fails STATUS TEXT OPTION...: the program exits with STATUS and prints TEXT on stderr
  wanted_status=$1 wanted_text=$2
  shift 2
  kernels "$@"
  is "$*: exit status" "$?" "$wanted_status"
  ok "$*: message" grep -qF -e "$wanted_text" "$dir/err"
}

checked() { # checked WORKLOAD OPTION...: the results are those of the CPU
  kernels --launches 3 --check "$@"
  is "$*: results as on the CPU" "$? $(tail -n 1 "$dir/out")" "0 check ok"
  sed 's/^/# /' "$dir/err"
}

# Sizes that are no multiple of the work-group, and different work-groups, of several shapes of launches.
checked matmul --size 70
checked matmul --size 33 --local 16
checked blackscholes --size 5000
checked blackscholes --size 777 --local 0
checked stencil --size 100
checked stencil --size 131 --local 256
checked many --size 1000
checked many --size 1 --in-flight 256
checked scan --size 10000
checked scan --size 4097 --local 16
checked histogram --size 10000
checked histogram --size 300 --local 256
checked reduction --size 100000
checked reduction --size 5 --local 4
checked nbody --size 200
checked nbody --size 65 --local 32
checked long --size 100
checked bfs --size 3000
checked bfs --size 5 --in-flight 1

# The check must be able to fail. This layer forwards only the first launch.
for workload in matmul blackscholes stencil many scan histogram reduction nbody long bfs; do
  OPENCL_LAYERS=$B/tests/cl-layer CL_LAYER_MISTAKE=launches-lost "$B/gover-kernels" --size 64 --launches 3 --check "$workload" >"$dir/out" 2>&1
  is "$workload: --check notices lost launches" "$? $(tail -n 1 "$dir/out")" "1 check failed"
done

digest() { kernels --launches 3 --digest "$@" && grep '^digest ' "$dir/out"; }

one=$(digest many --size 500)
ok "--digest prints a hash" expr "$one" : 'digest [0-9a-f]\{16\}$'
is "--digest: equal for equal launches" "$(digest many --size 500 --local 16)" "$one"
ok "--digest: different for another size" test "$(digest many --size 501)" != "$one"

kernels --launches 17 many
is "--launches is rounded up to whole rounds" "$(field units)" 32
kernels --launches 20 --rate 100 --in-flight 1 bfs --size 50
ok "--rate limits the launches: $(field seconds) s" sh -c "awk 'BEGIN { exit !($(field seconds) >= 0.18) }'"
kernels --launches 5 --profile long
ok "--profile prints the device time: $(field busy) s" sh -c "awk 'BEGIN { exit !($(field busy) > 0) }'"
kernels --seconds 2.5 --progress long --size 100
ok "--progress prints a line a second" test "$(grep -c '^second ' "$dir/out")" -ge 1
progressed=$(sed -n 's/^second .* units \([0-9]*\) .*/\1/p' "$dir/out" | tail -n 1)
ok "the last line contains all launches" test "$(field units)" -ge "${progressed:-1}"

# SIGTERM while the kernels are compiled, and during the run. Status 143: the signal arrived before the program handled it.
for wait_s in 0.1 0.5 2; do
  rm -rf "${POCL_CACHE_DIR:?}"/*
  "$B/gover-kernels" --seconds 1000000 many >"$dir/out" 2>&1 &
  pid=$!
  sleep "$wait_s"
  kill -TERM "$pid"
  wait "$pid"
  ended="$? $(grep -c '^units ' "$dir/out")"
  [ "$ended" != "143 0" ] || [ "$wait_s" = 2 ] || ended='0 1'
  is "SIGTERM after $wait_s s ends the run with its result" "$ended" "0 1"
done

mkfifo "$dir/start"
"$B/gover-kernels" --launches 16 --wait many <"$dir/start" >"$dir/out" 2>&1 &
pid=$!
exec 3>"$dir/start"
ok "--wait prints ready" until_ok 60 grep -qx ready "$dir/out"
ok "--wait starts no run before a line" sh -c "! grep -q units '$dir/out'"
echo >&3
exec 3>&-
wait "$pid"
is "--wait runs after a line" "$? $(field units)" "0 16"

fails 2 "workload: required" --check
fails 2 "workload 'nothing': not found" nothing
fails 2 "only one workload" many long
fails 2 "--size: invalid value '0'" --size 0 many
fails 2 "--size 1: outside the range of matmul (allowed: 16 to 16384)" --size 1 matmul
fails 2 "--local: invalid value '48'" --local 48 many
fails 2 "--local 0: scan uses local memory (allowed: 4 to 1024)" --local 0 scan
fails 2 "--in-flight: invalid value '257'" --in-flight 257 many
fails 1 "platform 'nothing': not found" --device nothing many
fails 1 "device 50 of platform 0: not found" --device 0:50 many
ok "--help lists every workload" sh -c "'$B/gover-kernels' --help | grep -cE '^  (matmul|blackscholes|stencil|many|scan|histogram|reduction|nbody|long|bfs) ' | grep -qx 10"
finish
