#!/bin/sh
# tests/bench/eval/stability, in virtual time: with policy qos, caps follow demand that alternates between two values and then
# settle, and they come to rest under constant demands that may exceed the GPU.
. "$(dirname "$0")/../lib.sh"

"$B/eval/stability" waves >"$dir/table" 2>"$dir/err"
is "caps follow all square waves and settle" "$?" 0
is "no errors are printed" "$(cat "$dir/err")" ""
grep "does not settle" "$dir/table" | sed 's/^/# /'
is "the table has a row for each of 5 kinds and 8 periods" "$(awk 'NR > 2' "$dir/table" | wc -l)" 40
is "rows that do not settle are marked" "$("$B/eval/stability" waves none | grep -c "does not settle$" | sed 's/^[1-9].*/some/')" some
"$B/eval/stability" rest >"$dir/table" 2>"$dir/err"
is "caps rest under constant demands, and each vGPU has its entitlement" "$?" 0
is "no errors are printed for constant demands" "$(cat "$dir/err")" ""
grep "fails$" "$dir/table" | sed 's/^/# /'
is "the table has 2 x 7 x 9 x 4 x 4 rows" "$(grep -cE '(frames|work)' "$dir/table")" 2016
is "rows that fail are marked" "$("$B/eval/stability" rest gover | grep -c "fails$" | sed 's/^[1-9].*/some/')" some
"$B/eval/stability" unknown >/dev/null 2>&1
is "an unknown policy is an error" "$?" 2
finish
