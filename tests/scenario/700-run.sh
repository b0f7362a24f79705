#!/bin/sh
# A policy on trial: gover-sim run plays a scenario, the same seed to the same bytes, and tells what it came to.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$top" || exit 1

run() { "$B/gover-sim" run "$@"; }
get() { jq -r "$1" "$dir/$2/summary.json"; }

ok "a scenario is played" run --seed 4 --out "$dir/a" bench/eval/paper-random.ini
ok "and once more" run --seed 4 --out "$dir/b" bench/eval/paper-random.ini
ok "the same seed gives the same bytes" diff -r "$dir/a" "$dir/b"
run --seed 4 --json bench/eval/paper-random.ini >"$dir/json"
ok "--json says what summary.json says" cmp "$dir/json" "$dir/a/summary.json"
ok "another seed gives another run" run --seed 5 --out "$dir/c" bench/eval/paper-random.ini
ok "which is not the same" sh -c "! cmp -s $dir/a/seconds.csv $dir/c/seconds.csv"

is "a row a second for the host" "$(wc -l <"$dir/a/host.csv")" 201
is "and one for each vGPU-second" "$(($(wc -l <"$dir/a/seconds.csv") - 1))" "$(get .vgpu_s a)"
is "the summary counts the broken ones" "$(awk -F, '$10 == 1' "$dir/a/seconds.csv" | wc -l)" "$(get .broken_s a)"
is "its utilisation is the rows' average" \
  "$(awk -F, 'NR > 1 { u += $2 } END { printf "%.2f", u / (NR - 1) }' "$dir/a/host.csv")" \
  "$(printf %.2f "$(get .util_avg_pct a)")"
is "the integral of what was sold is theirs too" \
  "$(awk -F, 'NR > 1 { s += $5 } END { print s }' "$dir/a/host.csv")" "$(printf %.0f "$(get .sold_cap_pct_s a)")"
is "no row has more than 100 % in caps" "$(awk -F, '$4 > 100 && NR > 1' "$dir/a/host.csv")" ""
is "every decision is a line of JSON with its reason" "$(jq -c 'select(.why == "")' "$dir/a/decisions.jsonl")" ""
is "sales are counted" "$(grep -c '"kind":"sold"' "$dir/a/decisions.jsonl")" "$(($(get .sales a) + 2))"
ok "without --out it is a table" sh -c "$B/gover-sim run bench/eval/paper-random.ini | grep -q '^broken time %'"

# The same tenants whatever the policy does: parameters that allow no sale leave the first two as they were.
run --seed 4 --set lowload_pct=0 --out "$dir/d" bench/eval/paper-random.ini >/dev/null
is "parameters can be set" "$(get .sales d)" 0
is "and the tenants stay who they are" "$(awk -F, '/,v1-/ && $1 < 4 { print $8 }' "$dir/d/seconds.csv")" \
  "$(awk -F, '/,v1-/ && $1 < 4 { print $8 }' "$dir/a/seconds.csv")"

# Recorded tenants: files are looked for from the scenario's folder on, and two windows of one are one file.
mkdir "$dir/rec"
{
  echo t_s,demand_pct
  awk 'BEGIN { for (t = 0; t < 40; t++) print t "," t % 10 * 10 }'
} >"$dir/rec/load.csv"
cat >"$dir/rec/two.ini" <<EOF
[scenario]
seconds = 20
[tenant early]
workload = trace:file=load.csv,length_s=10,scale=0.5
arrive_s = 0
[tenant late]
workload = trace:file=load.csv,offset_s=10,scale=0.5
arrive_s = 0
EOF
ok "traces are played" run --out "$dir/t" "$dir/rec/two.ini"
is "second by second" "$(awk -F, '/v2-late/ { print $6 }' "$dir/t/seconds.csv" | head -n 12 | tr '\n' ' ')" \
  "0.000 5.000 10.000 15.000 20.000 25.000 30.000 35.000 40.000 45.000 0.000 5.000 "
is "to their end" "$(awk -F, '/v1-early/ { s += $6 } END { print s }' "$dir/t/seconds.csv")" 225
is "with their own contract nothing is broken" "$(get .broken_s t)" 0
run --set offer.flavor_cap_pct=20 --out "$dir/u" "$dir/rec/two.ini" >/dev/null
is "with a smaller one it is that which is owed" "$(get .broken_s u)" 0

refused() { # refused TEXT EXIT ARGUMENT...: ends so, and says TEXT
  text=$1 rc=$2
  shift 2
  "$B/gover-sim" "$@" >"$dir/out" 2>&1
  is "exit $rc: $text" "$? $(grep -cF -- "$text" "$dir/out")" "$rc 1"
}
printf '[scenario]\nseconds = 10\n\n[tenant a]\nworkload = glxgear\n' >"$dir/bad.ini"
refused "$dir/bad.ini:5: [tenant a] unknown workload 'glxgear'" 1 run "$dir/bad.ini"
printf 't_s,demand_pct\n0,10\n1,nan\n' >"$dir/rec/bad.csv"
printf '[tenant a]\nworkload = trace:file=rec/bad.csv\n' >"$dir/trace.ini"
refused "$dir/trace.ini:2: [tenant a] $dir/rec/bad.csv:3: " 1 run "$dir/trace.ini"
printf 't_s,demand_pct\n0,10\n9,10\n' >"$dir/rec/bad.csv"
refused "$dir/trace.ini:2: [tenant a] $dir/rec/bad.csv:3: " 1 run "$dir/trace.ini"
refused "$dir/none.ini: cannot be read: No such file or directory" 1 run "$dir/none.ini"
refused 'policy '\''best'\'': unknown (allowed: ' 1 run --policy best bench/eval/paper-random.ini
refused '--set lowload_pct=101: ' 1 run --set lowload_pct=101 bench/eval/paper-random.ini
refused '--set low=1: ' 1 run --set low=1 bench/eval/paper-random.ini
refused '--set lowload_pct: not a setting (allowed: KEY=VALUE)' 1 run --set lowload_pct bench/eval/paper-random.ini
refused "/dev/null/x: cannot be created" 1 run --out /dev/null/x bench/eval/paper-random.ini
refused '--seed -1: not valid (allowed: 0 to 2147483647)' 2 run --seed -1 bench/eval/paper-random.ini
refused 'run: wrong number of arguments (allowed: SCENARIO)' 2 run
refused 'run: unknown option --gpus' 2 run --gpus 2 bench/eval/paper-random.ini
refused 'unknown command '\''play'\'' (allowed: mount DIR, run SCENARIO' 2 play
finish
