#!/bin/sh
# Shares of compute tenants by the truth of the device double, with gover-arbiter and programs under the layer: weights, caps,
# and what happens without a discipline. Every launch is counted. On a busy machine a wrong share is skipped, and so is a
# wrong count: a program whose arbiter does not answer within 100 ms runs without it for a second.
. "$(dirname "$0")/../compute/lib.sh"
export B
result=${dir:?}/result

measure() { # measure OPTION... TENANT...: sets $result to the output of measure.py; fails if it fails
  python3 "$top/tests/compute/measure.py" --seconds 3 "$@" >"$result" 2>"$dir/err"
  rc=$?
  [ "$rc" -ne 3 ] || skip_all "$(sed 's/^missing //' "$result")"
  ok "$*: the programs run and end" test "$rc" -eq 0
  [ "$rc" -eq 0 ] || sed 's/^/# /' "$dir/err"
  sed 's/^/# /' "$result"
  if [ "$(value counted) $(value machine)" = "no busy" ]; then
    ok "$*: the arbiter counts each launch # SKIP machine too busy: programs waited $(value delay) % of the time for a CPU" true
  else
    is "$*: the arbiter counts each launch" "$(value counted)" yes
  fi
}

value() { # value NAME...: prints a value of the result
  awk -v name="$*" 'index($0, name " ") == 1 { print $NF }' "$result"
}

within() { # within LOW NAME... HIGH: succeeds if LOW <= value <= HIGH
  awk -v got="$(value "$2")" -v low="$1" -v high="$3" 'BEGIN { exit !(got != "" && got >= low && got <= high) }'
}

judge() { # judge TEXT LOW NAME HIGH: a wrong share counts only if programs did not wait for a CPU
  if ! within "$2" "$3" "$4" && [ "$(value machine)" = busy ]; then
    ok "$1 # SKIP machine too busy: programs waited $(value delay) % of the time for a CPU" true
    return
  fi
  ok "$1: $3 is $(value "$3") (allowed: $2 to $4)" within "$2" "$3" "$4"
}

measure --discipline fair 1:1000 2:1000 3:1000
judge "weights 1:2:3" 0.93 mmr 1
judge "weights 1:2:3 lose no device time" 93 busy 100.1
measure --discipline fair 1:200 1:1000 1:10000
judge "kernels of 0.2, 1 and 10 ms" 0.85 mmr 1
measure --discipline cap 1/30:1000 1/70:1000
judge "a cap of 30 %" 27 "share 0" 33
judge "a cap of 70 %" 63 "share 1" 73
measure --discipline cap 1/20:1000 1/20:1000
judge "a cap of 20 % on an otherwise idle device" 18 "share 0" 22
measure --discipline fcfs 1:200 1:1000 1:10000
judge "without a discipline, kernels of 0.2, 1 and 10 ms" 0 mmr 0.1
finish
