#!/bin/sh
# bench/eval/stability, in virtual time: with policy qos, caps follow demand that alternates between two values, and
# then settle.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

"$B/eval/stability" >"$dir/table" 2>"$dir/err"
is "caps follow all square waves and settle" "$?" 0
is "no errors are printed" "$(cat "$dir/err")" ""
grep "does not settle" "$dir/table" | sed 's/^/# /'
is "the table has a row for each of 5 kinds and 8 periods" "$(awk 'NR > 2' "$dir/table" | wc -l)" 40
is "rows that do not settle are marked" "$("$B/eval/stability" none | grep -c "does not settle$" | sed 's/^[1-9].*/some/')" some
"$B/eval/stability" unknown >/dev/null 2>&1
is "an unknown policy is an error" "$?" 2
finish
