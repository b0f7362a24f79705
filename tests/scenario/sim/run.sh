#!/bin/sh
# gover-sim run: runs a scenario, prints a summary, and gives the same bytes with the same seed.
. "$(dirname "$0")/../lib.sh"
cd "$top" || exit 1

run() { "$B/gover-sim" run "$@"; }
get() { gojq -r "$1" "$dir/$2/summary.json"; }

ok "a scenario is run" run --seed 4 --out "$dir/a" tests/bench/eval/paper-random.ini
ok "the scenario is run again" run --seed 4 --out "$dir/b" tests/bench/eval/paper-random.ini
ok "the same seed gives the same bytes" diff -r "$dir/a" "$dir/b"
run --seed 4 --json tests/bench/eval/paper-random.ini >"$dir/json"
ok "--json prints summary.json" cmp "$dir/json" "$dir/a/summary.json"
ok "the scenario is run with another seed" run --seed 5 --out "$dir/c" tests/bench/eval/paper-random.ini
ok "another seed gives other results" sh -c "! cmp -s $dir/a/seconds.csv $dir/c/seconds.csv"

is "host.csv has a row per second" "$(wc -l <"$dir/a/host.csv")" 201
is "seconds.csv has a row per vGPU-second" "$(($(wc -l <"$dir/a/seconds.csv") - 1))" "$(get .vgpu_s a)"
is "the summary counts broken rows" "$(awk -F, '$10 == 1' "$dir/a/seconds.csv" | wc -l)" "$(get .broken_s a)"
is "utilisation in the summary is the average of the rows" \
  "$(awk -F, 'NR > 1 { u += $2 } END { printf "%.2f", u / (NR - 1) }' "$dir/a/host.csv")" \
  "$(printf %.2f "$(get .util_avg_pct a)")"
is "sold capacity in the summary is the sum of the rows" \
  "$(awk -F, 'NR > 1 { s += $5 } END { print s }' "$dir/a/host.csv")" "$(printf %.0f "$(get .sold_cap_pct_s a)")"
is "the sum of caps is never above 100 %" "$(awk -F, '$4 > 100 && NR > 1' "$dir/a/host.csv")" ""
is "every decision is a line of JSON with a reason" "$(gojq -c 'select(.why == "")' "$dir/a/decisions.jsonl")" ""
is "sales are counted" "$(grep -c '"kind":"sold"' "$dir/a/decisions.jsonl")" "$(($(get .sales a) + 2))"
ok "without --out a table is printed" sh -c "$B/gover-sim run tests/bench/eval/paper-random.ini | grep -q '^broken time %'"

# Tenants do not depend on the policy: with parameters that prevent sales, the first two tenants have the same demand as
# before.
run --seed 4 --set lowload_pct=0 --out "$dir/d" tests/bench/eval/paper-random.ini >/dev/null
is "parameters can be set" "$(get .sales d)" 0
is "the tenants have the same demand" "$(awk -F, '/,v1-/ && $1 < 4 { print $8 }' "$dir/d/seconds.csv")" \
  "$(awk -F, '/,v1-/ && $1 < 4 { print $8 }' "$dir/a/seconds.csv")"

# Moves: four tenants want 200 %. Each move has a blackout and a price.
cat >"$dir/moves.ini" <<EOF
[scenario]
migrate = on
migrate_s = 5
migrate_blackout_s = 2
[price]
price_per_move = 0.6
[policy]
name = qos
[tenant a]
workload = load:pct=50
arrive_s = 0
count = 4
EOF
ok "a scenario with moves is run" run --out "$dir/m" "$dir/moves.ini"
is "two tenants move" "$(get '[.moves, .left, .blackout_s] | @csv' m)" 2,2,4
is "the tenants that moved are marked" "$(get '[.vgpus[] | select(.moved)] | [length, (map(.move_cost) | add)] | @csv' m)" 2,1.2
is "the net income is the revenue minus the costs" \
  "$(get '.net_income - (.revenue - .shortfall_penalty - .move_cost) | fabs < 1e-6' m)" true
is "the weighted penalty is that of the vGPUs" "$(get '.shortfall_penalty - ([.vgpus[].shortfall_penalty] | add) | fabs < 1e-6' m)" true
run --set scenario.migrate_capacity=1 --out "$dir/n" "$dir/moves.ini" >/dev/null
is "the other hosts take only migrate_capacity vGPUs" "$(get .moves n)" 1

# Recorded tenants: file names are relative to the folder of the scenario, and two tenants use parts of one file.
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
ok "a scenario with traces is run" run --out "$dir/t" "$dir/rec/two.ini"
is "the demand follows the trace" "$(awk -F, '/v2-late/ { print $6 }' "$dir/t/seconds.csv" | head -n 12 | tr '\n' ' ')" \
  "0.000 5.000 10.000 15.000 20.000 25.000 30.000 35.000 40.000 45.000 0.000 5.000 "
is "the trace ends after its length" "$(awk -F, '/v1-early/ { s += $6 } END { print s }' "$dir/t/seconds.csv")" 225
is "with a sufficient contract nothing is broken" "$(get .broken_s t)" 0
cat >"$dir/rec/clock.ini" <<EOF
[scenario]
seconds = 40
[tenant early]
workload = trace:file=load.csv,loop=on,length_s=10,scale=0.5
shared_clock = on
arrive_s = 0
[tenant late]
workload = trace:file=load.csv,loop=on,length_s=10,scale=0.5
shared_clock = on
arrive_s = 13
EOF
run --out "$dir/k" "$dir/rec/clock.ini" >/dev/null
is "with a shared clock, tenants have the same demand at the same time" \
  "$(awk -F, '/v2-late/ { print $1, $6 }' "$dir/k/seconds.csv")" "$(awk -F, '/v1-early/ && $1 > 13 { print $1, $6 }' "$dir/k/seconds.csv")"
run --set offer.flavor_cap_pct=20 --out "$dir/u" "$dir/rec/two.ini" >/dev/null
is "demand above a smaller contract is not owed" "$(get .broken_s u)" 0

fails() { # fails TEXT EXIT ARGUMENT...: tests the exit status and the message
  text=$1 rc=$2
  shift 2
  "$B/gover-sim" "$@" >"$dir/out" 2>&1
  is "exit $rc: $text" "$? $(grep -cF -- "$text" "$dir/out")" "$rc 1"
}
printf '[scenario]\nseconds = 10\n\n[tenant a]\nworkload = glxgear\n' >"$dir/bad.ini"
fails "$dir/bad.ini:5: [tenant a] unknown workload 'glxgear'" 1 run "$dir/bad.ini"
printf 't_s,demand_pct\n0,10\n1,nan\n' >"$dir/rec/bad.csv"
printf '[tenant a]\nworkload = trace:file=rec/bad.csv\n' >"$dir/trace.ini"
fails "$dir/trace.ini:2: [tenant a] $dir/rec/bad.csv:3: " 1 run "$dir/trace.ini"
printf 't_s,demand_pct\n0,10\n9,10\n' >"$dir/rec/bad.csv"
fails "$dir/trace.ini:2: [tenant a] $dir/rec/bad.csv:3: " 1 run "$dir/trace.ini"
fails "$dir/none.ini: cannot be read: No such file or directory" 1 run "$dir/none.ini"
fails 'policy '\''best'\'': unknown (allowed: ' 1 run --policy best tests/bench/eval/paper-random.ini
fails '--set lowload_pct=101: ' 1 run --set lowload_pct=101 tests/bench/eval/paper-random.ini
fails 'min_newcomer_pct = 10: too large (allowed: up to [offer] flavor_cap_pct = 5)' 1 \
  run --set offer.flavor_cap_pct=5 tests/bench/eval/paper-random.ini
ok "a smaller contract is sold with a smaller first cap" \
  run --set offer.flavor_cap_pct=5 --set min_newcomer_pct=5 --out "$dir/v" tests/bench/eval/paper-random.ini
fails '--set low=1: ' 1 run --set low=1 tests/bench/eval/paper-random.ini
fails '--set lowload_pct: not a setting (allowed: KEY=VALUE)' 1 run --set lowload_pct tests/bench/eval/paper-random.ini
fails "/dev/null/x: cannot be created" 1 run --out /dev/null/x tests/bench/eval/paper-random.ini
fails '--seed -1: not valid (allowed: 0 to 2147483647)' 2 run --seed -1 tests/bench/eval/paper-random.ini
fails 'run: wrong number of arguments (allowed: SCENARIO)' 2 run
fails 'run: unknown option --gpus' 2 run --gpus 2 tests/bench/eval/paper-random.ini
fails 'unknown command '\''play'\'' (allowed: mount DIR, run SCENARIO' 2 play
finish
