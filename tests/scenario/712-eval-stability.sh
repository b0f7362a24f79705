#!/bin/sh
# Under policy qos caps come to rest and follow a square wave, in virtual time: bench/eval/stability.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

"$B/eval/stability" >"$dir/table" 2>"$dir/complaints"
is "all square waves are followed, and at rest nothing moves" "$?" 0
is "and nothing is complained of" "$(cat "$dir/complaints")" ""
grep "does not hold" "$dir/table" | sed 's/^/# /'
is "there is a row for each of 5 kinds and 8 periods" "$(awk 'NR > 2' "$dir/table" | wc -l)" 40
is "it says so where it does not hold" "$("$B/eval/stability" none | grep -c "does not hold$" | sed 's/^[1-9].*/some/')" some
"$B/eval/stability" nobody >/dev/null 2>&1
is "an unknown policy is no run" "$?" 2
finish
