#!/bin/sh
# The evaluation of the paper in virtual time: make eval with one seed, and the verdicts of its check list.
. "$(dirname "$0")/../lib.sh"
cd "$top" || exit 1
[ -z "${GOVER_ASAN-}" ] || skip_all "a thousand runs of gover-sim; run.sh and compare.sh test some"

EVAL_SEEDS=0 tests/bench/eval/eval >"$dir/out" 2>&1
is "an invalid number of seeds is an error" "$? $(cat "$dir/out")" "2 EVAL_SEEDS '0': not valid (allowed: whole numbers from 1)"
EVAL_SEEDS=1 EVAL_OUT=$dir/eval B=$B tests/bench/eval/eval >"$dir/out" 2>"$dir/err"
is "the evaluation succeeds without errors" "$? $(grep -cv '^eval: ' "$dir/err")" "0 0"
report=$dir/eval/report.txt
ok "the printed report equals the file" cmp "$dir/out" "$report"
for head in 'Figs. 5 and 6:' 'Fig. 7:' 'Fig. 8:' 'Fig. 9:' 'Section 4.4:' 'Check list:'; do
  ok "the report has $head" grep -q "^$head" "$report"
done
is "each placement has 16 rows" "$(grep -cE '^(none, 3 vGPUs|static [234]|gover|gover, paper_mode|gover, U_l = 70 %|U_l = 70, paper_mode|credit|fair|p99|nsigma|max|qos|\(found, qos\)|\(best found\))( +[0-9.]+){12}$' "$report")" 48
if command -v gnuplot >/dev/null; then
  is "the figures are drawn" "$(cd "$dir/eval" && find . -name 'fig*.png' -size +1k | sort | tr '\n' ' ')" \
    './fig5.png ./fig6.png ./fig7.png ./fig8.png ./fig9.png '
else
  ok "the figures are drawn # SKIP no gnuplot" true
fi

# Writes VALUE into one cell of a copy of the results, then tests the verdict of the check list for DEMAND.
is_verdict() { # is_verdict VERDICT DEMAND SCENARIO ROW COLUMN VALUE
  verdict=$1 demand=$2
  shift 2
  mkdir -p "$dir/other"
  cp "$dir/eval/data/"*.tsv "$dir/other/"
  awk -v OFS='\t' -v s="$1" -v row="$2" -v c="$3" -v v="$4" '$1 == s && $2 == row { $c = v } { print }' \
    "$dir/eval/data/cells.tsv" >"$dir/other/cells.tsv"
  EVAL_SEEDS=1 EVAL_DATA=$dir/other tests/bench/eval/report >"$dir/other/report"
  is "$verdict: $demand, when $*" "$(grep -cE "^$verdict +$demand" "$dir/other/report")" 1
}
is_verdict met 'light-fit: at least 7' paper-light qos 4 7
is_verdict 'NOT met' 'light-fit: at least 7' paper-light qos 4 6
is_verdict met 'heavy-fit: at least as many' paper-heavy qos 3 2
is_verdict 'NOT met' 'heavy-fit: at least as many' paper-heavy qos 3 1
is_verdict 'NOT met' 'random: at least 1.2' paper-random qos 3 2.3
is_verdict 'NOT met' 'heavy: broken time <= 1 %' paper-heavy qos 6 1.1
is_verdict 'NOT met' 'random: broken time <= 1 %' paper-random qos 7 2.1
is_verdict met 'paced, heavy: qos sells more' paced-heavy gover 3 1.9
is_verdict 'NOT met' 'paced, light: qos sells more' paced-light qos 3 9
finish
