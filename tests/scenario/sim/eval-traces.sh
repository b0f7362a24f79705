#!/bin/sh
# Recorded GPU load: tests/bench/eval/hpa-traces with valid and with invalid files, and a small make eval-traces.
. "$(dirname "$0")/../lib.sh"
cd "$top" || exit 1

cut_into() { # cut_into NAME ARGUMENT...: runs tests/bench/eval/hpa-traces with its output in NAME.out and NAME.err
  name=$1
  shift
  tests/bench/eval/hpa-traces "$@" >"$dir/$name.out" 2>"$dir/$name.err"
}
column() { sed 1d "$dir/$1" | cut -d , -f 2 | tr '\n' ' '; }
count_lines() { grep -cF -- "$2" "$dir/$1"; }

# --- valid files ---

tests/make-traces "$dir/made" 300 7
tests/make-traces "$dir/again" 300 7
ok "the same seed gives the same recordings" diff -r "$dir/made" "$dir/again"
ok "windows are cut from a folder" cut_into a --seconds 100 "$dir/a" "$dir/made"
is "all windows of all GPUs are counted" "$(find "$dir/a/traces" -name 'w*.csv' | wc -l) $(tail -n 1 "$dir/a.out")" \
  "21 5 files, 0 without a series; 1500 rows, 0 rows or values skipped; 21 windows of 100 s"
is "a trace has a row per second" "$(wc -l <"$dir/a/traces/w007.csv")" 101
is "demand is load times contract" "$(column a/traces/w001.csv)" \
  "$(sed -n '3,102p' "$dir/made/bimodal.csv" | awk -F, '{ printf "%.10g ", $3 / 2 }')"
cut_into b --seconds 100 --contract 25 "$dir/b" "$dir/made"
is "demand follows another contract" "$(column b/traces/w001.csv)" \
  "$(sed -n '3,102p' "$dir/made/bimodal.csv" | awk -F, '{ printf "%.10g ", $3 / 4 }')"
is "the scenarios sell that contract" "$(grep -h ^flavor_cap_pct "$dir/b/migrate.ini" "$dir/b/stay.ini" | sort -u)" "flavor_cap_pct = 25"
is "the second series of a file has its own windows" "$(column a/traces/w016.csv)" \
  "$(sed -n '103,202p' "$dir/made/scenes.csv" | awk -F, '{ printf "%.10g ", $4 / 2 }')"
is "the scenarios differ only in migrate" "$(diff "$dir/a/migrate.ini" "$dir/a/stay.ini" | grep -c '^[<>] migrate')" 2
for kind in migrate stay; do
  ok "gover-sim runs $kind.ini" "$B/gover-sim" run "$dir/a/$kind.ini"
done
cut_into c --seconds 100 --most 5 "$dir/a" "$dir/made"
is "too many windows are selected evenly, with a message" \
  "$(sed -n 's/^\[tenant \(.*\)\]/\1/p' "$dir/a/stay.ini" | tr '\n' ' ')$(count_lines c.out 'selected 5 of 21 windows, evenly')" \
  "w001 w005 w009 w013 w017 1"

# --- invalid files ---

mkdir "$dir/bad"
head -n 1 "$dir/made/steady.csv" >"$dir/bad/rows.csv"
# In this order: valid rows, a repeated second, a gap of 3 s, a load that is not a number, a missing field, a load above
# 100, a load below 0, a time that runs backwards, an invalid time, an empty line, and a new run.
cat >>"$dir/bad/rows.csv" <<END
Time,"GPU Core","GPU Core"
03/01/2026 23:59:56,1,10
03/01/2026 23:59:57,1,20
03/01/2026 23:59:57,1,22
03/02/2026 00:00:00,1,30
03/02/2026 00:00:01,1,NaN
03/02/2026 00:00:02,1
03/02/2026 00:00:03,1,250
03/02/2026 00:00:04,1,-80
03/02/2026 00:00:02,1,7
03/02/2026 00:61:05,1,8

03/02/2026 00:00:09,1,40
03/02/2026 00:00:10,1,42
03/01/2026 22:00:00,1,50
03/01/2026 22:00:01,1,52
03/01/2026 22:00:02,1,54
END
cut_into d --seconds 8 --contract 100 "$dir/d" "$dir/bad/rows.csv"
is "a single window is an error" "$? $(count_lines d.err 'not enough windows of 8 s (at least 2)')" "1 1"
is "the last row of a second is used, gaps are filled, values are clipped" "$(column d/traces/w001.csv)" "10 22 22 22 30 30 30 100 "
is "all rows are counted" "$(count_lines d.out "rows.csv: 1 series, 16 rows, 5 skipped, 1 for a repeated second, 2 clipped to 0..100, 2 gaps, 1 windows, 6 s unused")" 1
for text in ':7: "NaN": not a load (/nvidiagpu/0/load/0): skipped' ':8: not 3 fields: skipped' ':11: time runs backwards: skipped' \
  ':12: "03/02/2026 00:61:05": not a time: skipped' ':13: not 3 fields: skipped' ':16: time runs backwards by 7210 s: starting a new run'; do
  is "warning $text" "$(count_lines d.err "$dir/bad/rows.csv$text")" 1
done
is "no other warnings are printed" "$(grep -c "^$dir/bad" "$dir/d.err")" 6
cut_into e --warnings 2 --seconds 8 "$dir/d" "$dir/bad/rows.csv"
is "further warnings are counted" "$(grep -c "^$dir/bad/rows.csv:[0-9]" "$dir/e.err") $(count_lines e.err "rows.csv: 4 more warnings")" "2 1"

printf 't_s,demand_pct\r\n5,10\r\n5.5,20\r\n6,30\r\n7,x\r\n8,50\r\n' >"$dir/bad/plain.csv"
printf ',/nvidiagpu/0/load/1\nTime,GPU Memory\n03/01/2026 00:00:00,5\n' >"$dir/bad/memory.csv"
printf 'hello\n' >"$dir/bad/hello.csv"
: >"$dir/bad/nothing.csv"
ok "a folder may contain traces of gover and unknown files" cut_into f --seconds 2 "$dir/f" "$dir/bad"
is "the demand of a trace is averaged per second" "$(column f/traces/w001.csv)| $(column f/traces/w002.csv)" "15 30 | 30 50 "
for text in 'plain.csv:5: "x": not a number: skipped' 'memory.csv:2: no column "GPU Core" with /load/ in its id' \
  'hello.csv:1: unknown format' 'nothing.csv:1: unknown format'; do
  is "warning $text" "$(count_lines f.err "$dir/bad/$text")" 1
done

fails() { # fails TEXT EXIT COMMAND...: tests the exit status and the message
  text=$1 rc=$2
  shift 2
  "$@" >"$dir/out" 2>&1
  is "exit $rc: $text" "$? $(grep -cF -- "$text" "$dir/out")" "$rc 1"
}
fails "$dir/none.csv: cannot be read" 1 tests/bench/eval/hpa-traces "$dir/g" "$dir/none.csv"
mkdir "$dir/empty"
fails "$dir/empty: no .csv files" 1 tests/bench/eval/hpa-traces "$dir/g" "$dir/empty"
fails "--seconds '1': not valid (allowed: 2 to 1000000)" 2 tests/bench/eval/hpa-traces --seconds 1 "$dir/g" "$dir/made"
fails "--contract '0x': not valid (allowed: 1 to 100)" 2 tests/bench/eval/hpa-traces --contract 0x "$dir/g" "$dir/made"
fails "--second: unknown option" 2 tests/bench/eval/hpa-traces --second 1 "$dir/g" "$dir/made"
fails "arguments required: OUT FILE|DIR" 2 tests/bench/eval/hpa-traces "$dir/g"

# --- a small evaluation ---

small() { tests/bench/eval/traces --traces "$dir/made" --seconds 150 --sets 2 --seeds 2 --moves 10,never --out "$dir/eval" "$@"; }
ok "eval-traces runs every policy, the search and the bound" small
tables=$dir/eval/tables.txt
is "there is a table for each speed of moves" "$(grep -c '^Sharing guarantee, .*no migrations (\|^Sharing guarantee, a move takes 10 s\|^Sharing guarantee, moves are expected' "$tables")" 3
for policy in gover none static credit fair p99 nsigma max; do
  is "each table has policy $policy" "$(grep -cE "^$policy +all( +-?[0-9.]+){9}$" "$tables")" 3
done
is "qos has a row for each set and for all" "$(grep -cE '^qos +(1-2|3-4|all)( +-?[0-9.]+){9}$' "$tables")" 9
is "schedules are found without migrations" "$(grep -cE '^best-found(@qos)? +all( +-?[0-9.]+){9}$' "$tables")" 2
is "each table has an upper bound" "$(grep -cE '^upper bound +all +[0-9.]+$' "$tables")" 3
is "the mixes are counted in which qos is ahead" "$(grep -cE '^qos keeps 1 % and is ahead .*: [0-2] of 2, [0-2] of 2 mixes$' "$tables")" 3
is "the mixes are counted in which qos earns most" "$(grep -cE '^net income of qos ahead .*: [0-2] of 2, [0-2] of 2 mixes$' "$tables")" 3
is "the number of selected vGPUs is printed" "$(grep -cE '^qos selects [0-9]+ vGPUs to leave, [0-9]+ of them while' "$tables")" 2
is "each recording is left out once per table of folds" "$(grep -cE '^(bimodal|flipping|idle|scenes|steady) +[0-9]+ (default|0\.5|2\.5|5) +qos' "$tables")" 10
is "goals are judged with left-out recordings" "$(grep -cE '^(met|NOT met) +left out, (no migrations|moves 10):' "$tables")" 4
is "goals are judged" "$(grep -cE '^(met|NOT met) +(no migrations|moves (10|never)):' "$tables")" 12
# column N of the rows of one policy
figures() { awk -F, -v policy="$1" -v moves="$2" -v name="$3" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i } NR > 1 && $3 == policy && $2 == moves { print $c }' "$dir/eval/runs.csv"; }
is "runs.csv has a row for each run" "$(sed 1d "$dir/eval/runs.csv" | wc -l)" $((3 * 9 * 4 + 3 * 4 + 2 * 4))
is "the table shows means of the runs" "$(figures qos off sold_cap_pct_s | awk '{ s += $1 } END { printf "%.1f", s / NR / 1000 }')" \
  "$(awk '/^Sharing guarantee, no migrations \(/ { on = 1 } on && $1 == "qos" && $2 == "all" { print $3; exit }' "$tables")"
is "no run within the limit sells more than the bound" "$(for policy in qos gover best-found best-found@qos; do
  figures $policy off sold_cap_pct_s >"$dir/sold"
  figures $policy off broken_pct >"$dir/broken"
  figures bound off sold_cap_pct_s | paste -d ' ' "$dir/sold" "$dir/broken" - | awk '$2 <= 1 && $1 > $3'
done)" ""
is "with moves that never come, no vGPU moves" "$(figures qos never moves | sort -u)" 0
cp "$tables" "$dir/first"
small >"$dir/out" 2>&1
ok "a second run gives the same tables" cmp "$dir/first" "$tables"
small --quick --policies gover,qos --sharing hard,guarantee --set fund_fraction=0.8,0.4 --found 0 >"$dir/out"
is "both disciplines are compared" "$(grep -c '^Sharing guarantee, no migrations (' "$dir/out")" 1
is "the folds choose a value" "$(grep -cE '^(bimodal|flipping|idle|scenes|steady) +[0-9]+ 0\.[48] +qos' "$dir/out")" 20
small --policies gover --found 0 >"$dir/out" 2>&1
is "the comparison requires qos" "$? $(grep -c -- '--policies: qos is missing' "$dir/out")" "1 1"
small --set nothing=1 --found 0 >"$dir/out" 2>&1
is "an unknown key is an error" "$? $(grep -c 'nothing.*unknown key' "$dir/out")" "1 1"

# Without recordings the evaluation does not run and prints a message.
mkdir -p "$dir/clone/tests/bench/eval"
cp tests/bench/eval/traces "$dir/clone/tests/bench/eval/"
is "without recordings it is skipped with a message" "$(B=$B "$dir/clone/tests/bench/eval/traces" | tail -n 1) $?" "skipped 0"
fails "--trace: unknown option" 2 tests/bench/eval/traces --trace "$dir/made"
finish
