#!/bin/sh
# The paper's evaluation in virtual time: make eval, on one seed, and what its check list makes of the numbers.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$top" || exit 1
[ -z "${GOVER_ASAN-}" ] || skip_all "a thousand runs of gover-sim, of which 700 and 701 have some"

EVAL_SEEDS=0 bench/eval/eval >"$dir/out" 2>&1
is "a number of seeds that is none is refused" "$? $(cat "$dir/out")" "2 EVAL_SEEDS: '0' is not a number from 1 on"
EVAL_SEEDS=1 EVAL_OUT=$dir/eval B=$B bench/eval/eval >"$dir/out" 2>"$dir/err"
is "it runs, and no number is lacking" "$? $(grep -cv '^eval: ' "$dir/err")" "0 0"
report=$dir/eval/report.txt
ok "what is printed is what is kept" cmp "$dir/out" "$report"
for head in 'Figs. 5 and 6:' 'Fig. 7:' 'Fig. 8:' 'Fig. 9:' 'Section 4.4:' 'Check list:'; do
  ok "the report has $head" grep -q "^$head" "$report"
done
is "each placement has its 16 rows" "$(grep -cE '^(none, 3 vGPUs|static [234]|gover|gover, paper_mode|gover, U_l = 70 %|the same, paper_mode|credit|fair|p99|nsigma|max|qos|\(past-only\)|\(oracle\))( +[0-9.]+){12}$' "$report")" 48
if command -v gnuplot >/dev/null; then
  is "the figures are drawn" "$(cd "$dir/eval" && find . -name 'fig*.png' -size +1k | sort | tr '\n' ' ')" \
    './fig5.png ./fig6.png ./fig7.png ./fig8.png ./fig9.png '
else
  ok "the figures are drawn # SKIP no gnuplot" true
fi

# One number of one cell is another: SCENARIO ROW COLUMN VALUE, and what the check list says then.
is_said() { # is_said VERDICT DEMAND CELL...
  verdict=$1 demand=$2
  shift 2
  mkdir -p "$dir/other"
  cp "$dir/eval/data/"*.tsv "$dir/other/"
  awk -v OFS='\t' -v s="$1" -v row="$2" -v c="$3" -v v="$4" '$1 == s && $2 == row { $c = v } { print }' \
    "$dir/eval/data/cells.tsv" >"$dir/other/cells.tsv"
  EVAL_SEEDS=1 EVAL_DATA=$dir/other bench/eval/report >"$dir/other/report"
  is "$verdict: $demand, when $*" "$(grep -cE "^$verdict +$demand" "$dir/other/report")" 1
}
is_said met 'light-fit: at least 7' paper-light qos 4 7
is_said 'NOT met' 'light-fit: at least 7' paper-light qos 4 6
is_said met 'heavy-fit: no fewer' paper-heavy qos 3 2
is_said 'NOT met' 'heavy-fit: no fewer' paper-heavy qos 3 1
is_said 'NOT met' 'random: at least 1.2' paper-random qos 3 2.3
is_said 'NOT met' 'heavy: broken <= 1 %' paper-heavy qos 6 1.1
is_said 'NOT met' 'random: broken <= 1 %' paper-random qos 7 2.1
is_said met 'paced, heavy: qos sells more' paced-heavy gover 3 1.9
is_said 'NOT met' 'paced, light: qos sells more' paced-light qos 3 9
finish
