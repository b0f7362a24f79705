#!/bin/sh
# tests/bench/eval/adversarial, in virtual time: demand that is made to mislead policies, at one control period, without and
# with a hook without effect.
. "$(dirname "$0")/../lib.sh"

adversarial() { "$B/eval/adversarial" "$@"; }

adversarial --quick >"$dir/table" 2>"$dir/err"
is "all patterns are measured without errors" "$? $(cat "$dir/err")" "0 "
# rows of the table: pattern, period and hook
for hook in no yes; do
  is "the table has a row for each pattern, hook: $hook" \
    "$(awk -v hook=$hook '$2 == "1.0" && $3 == hook { print $1 }' "$dir/table" | tr '\n' ' ')" \
    "ramp square-70 square-310 square-620 poisson flash-crowd diurnal idle steady unreachable tiny "
done
is "each row has a verdict on broken time and on sold capacity" \
  "$(awk '$2 == "1.0" && $(NF - 1) ~ /^(ok|MISSED|-)$/ && $NF ~ /^(ok|MISSED|-)$/' "$dir/table" | wc -l)" 22
is "the verdicts are counted" "$(grep -cE '^(broken time <= 2 % wherever another|sold >= gover at equal).*: [0-9]+ of [0-9]+$' "$dir/table")" 2
is "nothing is broken with constant demand that fits" "$(awk '$2 == "1.0" && /^(idle|steady|tiny)/ && $5 > 0' "$dir/table")" ""
is "the unreachable target is always broken" "$(awk '$1 == "unreachable" && $2 == "1.0" { print $6 }' "$dir/table" | uniq)" 100.00
adversarial --quick >"$dir/again"
ok "a second run gives the same table" cmp "$dir/table" "$dir/again"
adversarial --pattern square-70 --sharing guarantee --seeds 1 >"$dir/square"
is "one pattern is measured at all periods" "$(awk '$1 == "square-70" && $2 ~ /^[0-9]\.[0-9]$/ { print $2 }' "$dir/square" | tr '\n' ' ')" "0.2 1.0 1.0 2.0 5.0 "
is "a schedule is found for each period" "$(awk '$1 == "square-70" && $2 ~ /^[0-9]\.[0-9]$/ && $13 > 0' "$dir/square" | wc -l)" 5
adversarial --quick --pattern poisson --seeds 2 >"$dir/seeds"
is "figures are means of several seeds" \
  "$(grep -c 'means of seeds 1 to 2' "$dir/seeds") $(grep -h '^poisson *1.0 no' "$dir/seeds" "$dir/table" | awk '{ print $8 }' | sort -u | wc -l)" "1 2"
for arguments in --pattern "--pattern none" "--seeds 0" --fast; do
  # shellcheck disable=SC2086 # words
  adversarial $arguments >/dev/null 2>&1
  is "'$arguments' is an error" "$?" 2
done
finish
