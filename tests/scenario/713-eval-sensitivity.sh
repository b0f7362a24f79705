#!/bin/sh
# bench/eval/sensitivity: a number is changed in a copy, played, and its row printed; the sources stay as they are.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$top" || exit 1

[ -z "${GOVER_ASAN-}" ] || skip_all "it compiles with the flags of a plain build"
cat policy/*.c policy/*/*.c >"$dir/before"
B=$B bench/eval/sensitivity --traces "$dir/none" --seeds 1 --out "$dir/out" --only MARGIN_MIN,quiet_periods,BARE_TOLERANCE >"$dir/said" 2>&1
is "it ends well" "$?" 0
sed 's/^/# /' "$dir/said"
is "a number is halved, and made half as large again" \
  "$(awk '$1 == "MARGIN_MIN" { print $2 }' "$dir/said" | xargs)" "0.15 0.45"
is "so is a key" "$(awk '$1 == "quiet_periods" { print $2 }' "$dir/said" | xargs)" "2 5"
is "what the contract says is left out" "$(grep -c BARE_TOLERANCE "$dir/said")" 0
is "each is said to matter or not" "$(awk -F: '/^Matter|^Do not/ { print $2 }' "$dir/said" | xargs -n 1 | sort | xargs)" \
  "MARGIN_MIN quiet_periods"
ok "a changed program was played" test -s "$dir/out/policy/demand.c"
ok "with the number changed in it" grep -qE '^#define MARGIN_MIN[[:space:]]+0.45' "$dir/out/policy/demand.c"
cat policy/*.c policy/*/*.c >"$dir/after"
ok "the sources are as they were" cmp "$dir/before" "$dir/after"
bench/eval/sensitivity --nothing 1 >"$dir/said" 2>&1
is "an unknown option is refused" "$?" 2
finish
