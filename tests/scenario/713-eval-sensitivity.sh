#!/bin/sh
# bench/eval/sensitivity changes a constant in a copy of a source file, runs the changed program and prints a row. The
# source file itself does not change.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$top" || exit 1

[ -z "${GOVER_ASAN-}" ] || skip_all "it compiles with the flags of a plain build"
# the numbers in the sources of qos, except units, sizes, errors of rounding and tolerances of contracts
sed -nE 's/^#define[[:space:]]+([A-Z_]+)[[:space:]]+[0-9.][0-9.e-]*([[:space:]].*)?$/\1/p' policy/qos/*.c |
  grep -vxE 'BARE_TOLERANCE|TOLERANCE|SAMPLES|TIMES|MILLION|ANSWERED_MAX|ROUNDING(_S|_PCT)?' | sort >"$dir/numbers"
bench/eval/sensitivity --list >"$dir/list"
is "every number of qos is varied" "$(awk '$1 != "key" { print $2 }' "$dir/list" | sort | comm -3 - "$dir/numbers")" ""
is "every key is varied" "$(awk '$1 == "key" && $3 > 0 { print $2 }' "$dir/list" | xargs)" \
  "quiet_periods overload_periods min_newcomer_pct fund_fraction sale_risk_pct price.penalty_per_broken_s"
cat policy/*.c policy/*/*.c >"$dir/before"
B=$B bench/eval/sensitivity --traces "$dir/none" --seeds 1 --out "$dir/out" --only MARGIN_MIN,quiet_periods,BARE_TOLERANCE >"$dir/out.txt" 2>&1
is "the evaluation succeeds" "$?" 0
sed 's/^/# /' "$dir/out.txt"
is "a constant is multiplied by 0.5 and 1.5" \
  "$(awk '$1 == "MARGIN_MIN" { print $2 }' "$dir/out.txt" | xargs)" "0.15 0.45"
is "a key is multiplied by 0.5 and 1.5" "$(awk '$1 == "quiet_periods" { print $2 }' "$dir/out.txt" | xargs)" "2 5"
is "tolerances of contracts are not varied" "$(grep -c BARE_TOLERANCE "$dir/out.txt")" 0
is "each is listed as significant or not" "$(awk -F: '/^Significant|^Not significant/ { print $2 }' "$dir/out.txt" | xargs -n 1 | sort | xargs)" \
  "MARGIN_MIN quiet_periods"
ok "a changed copy was built" test -s "$dir/out/policy/demand.c"
ok "the copy has the changed number" grep -qE '^#define MARGIN_MIN[[:space:]]+0.45' "$dir/out/policy/demand.c"
cat policy/*.c policy/*/*.c >"$dir/after"
ok "the sources have not changed" cmp "$dir/before" "$dir/after"
bench/eval/sensitivity --nothing 1 >"$dir/out.txt" 2>&1
is "an unknown option is an error" "$?" 2
finish
