#!/bin/sh
# gover-sim compare: the numbers equal the numbers of single runs.
. "$(dirname "$0")/../lib.sh"
cd "$top" || exit 1

compare() { "$B/gover-sim" compare "$@"; }
printf '[scenario]\nseconds = 60\n[tenant a]\nworkload = glxgears\ntarget_fps = 140\n[arrivals]\nstart = 2\n' >"$dir/light.ini"

compare tests/bench/eval/paper-random.ini "$dir/light.ini" --policies gover,gover:lowload_pct=90 --seeds 3 --seed 11 >"$dir/table"
is "the table has a line for each scenario and policy" "$(sed 1d "$dir/table" | awk '{ print $1, $2 }' | tr '\n' ',')" \
  "paper-random gover,paper-random gover:lowload_pct=90,light gover,light gover:lowload_pct=90,"
compare tests/bench/eval/paper-random.ini --policies gover --seeds 3 --seed 11 --json >"$dir/json"
for seed in 11 12 13; do
  "$B/gover-sim" run tests/bench/eval/paper-random.ini --seed $seed --json
done | gojq -s 'map(.util_avg_pct) | [add / 3, min, max]' >"$dir/single"
is "means, minima and maxima equal those of single runs" "$(gojq -r '.[0] | [.mean, .least, .most][] | .util_avg_pct | . * 1000 | round' "$dir/json")" \
  "$(gojq -r '.[] | . * 1000 | round' "$dir/single")"

plot=''
command -v gnuplot >/dev/null && plot=--plot
# shellcheck disable=SC2086 # one word or empty
ok "a folder is written" compare tests/bench/eval/paper-random.ini "$dir/light.ini" --seeds 4 --policies gover --out "$dir/a" $plot
compare tests/bench/eval/paper-random.ini "$dir/light.ini" --seeds 4 --policies gover --out "$dir/b" >"$dir/out"
is "runs.csv has a row for each run" "$(sed 1d "$dir/a/runs.csv" | cut -d , -f 1-3 | tr '\n' ' ')" \
  "paper-random,gover,1 paper-random,gover,2 paper-random,gover,3 paper-random,gover,4 light,gover,1 light,gover,2 light,gover,3 light,gover,4 "
for file in runs.csv compare.json compare.gp; do
  ok "$file does not depend on the order of threads" cmp "$dir/a/$file" "$dir/b/$file"
done
if [ -n "$plot" ]; then
  ok "the diagram is drawn" test -s "$dir/a/compare.png"
else
  ok "the diagram is drawn # SKIP no gnuplot" true
fi
compare "$dir/light.ini" --policies best-found@gover,past-only@gover,best-found,oracle --set offer.probation_s=5 --json >"$dir/found"
is "the best schedules found are compared too, and stay within 1 % broken time" \
  "$(gojq -c 'map([.policy, .mean.broken_pct <= 1, .mean.sales > 0])' "$dir/found")" \
  '[["best-found@gover",true,true],["past-only@gover",true,true],["best-found",true,true],["oracle",true,true]]'
is "the former names give the same results" "$(gojq -c 'map(.mean) | [.[0] == .[1], .[2] == .[3]]' "$dir/found")" "[true,true]"
ok "all policies are compared by default" compare "$dir/light.ini"

fails() { # fails TEXT EXIT ARGUMENT...: tests the exit status and the message
  text=$1 rc=$2
  shift 2
  compare "$@" >"$dir/out" 2>&1
  is "exit $rc: $text" "$? $(grep -cF -- "$text" "$dir/out")" "$rc 1"
}
printf '[scenario]\nsecond = 10\n' >"$dir/bad.ini"
fails "$dir/bad.ini:2: [scenario] has no key" 1 "$dir/light.ini" "$dir/bad.ini"
fails 'policy '\''best'\'': unknown' 1 --policies gover,best "$dir/light.ini"
fails 'policy '\''best'\'': unknown' 1 --policies best-found@best "$dir/light.ini"
fails 'policy '\''oracle@gover'\'': unknown' 1 --policies oracle@gover "$dir/light.ini"
fails 'policy '\'''\'': unknown' 1 --policies gover, "$dir/light.ini"
fails '--set overload=1: ' 1 --policies gover:overload=1 "$dir/light.ini"
fails '--plot: requires --out' 1 --plot "$dir/light.ini"
fails '--seeds 0: not valid (allowed: 1 to 1000)' 2 --seeds 0 "$dir/light.ini"
fails 'compare: wrong number of arguments (allowed: SCENARIO...)' 2
finish
