#!/bin/sh
# Recorded GPU load: what bench/eval/hpa-traces makes of clean and of broken files, and a small make eval-traces.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$top" || exit 1

cut_into() { # cut_into NAME WORD...: bench/eval/hpa-traces, what it says into NAME.out and NAME.err
  name=$1
  shift
  bench/eval/hpa-traces "$@" >"$dir/$name.out" 2>"$dir/$name.err"
}
column() { sed 1d "$dir/$1" | cut -d , -f 2 | tr '\n' ' '; }
said() { grep -cF -- "$2" "$dir/$1"; }

# --- clean ---

tests/make-traces "$dir/made" 300 7
tests/make-traces "$dir/again" 300 7
ok "the same seed makes the same recordings" diff -r "$dir/made" "$dir/again"
ok "windows are cut from a folder" cut_into a --seconds 100 "$dir/a" "$dir/made"
is "all of each, and each GPU is a series" "$(find "$dir/a/traces" -name 'w*.csv' | wc -l) $(tail -n 1 "$dir/a.out")" \
  "21 5 files, 0 without a series; 1500 rows, 0 of them or of their values left out; 21 windows of 100 s"
is "a row a second" "$(wc -l <"$dir/a/traces/w007.csv")" 101
is "demand is load times contract" "$(column a/traces/w001.csv)" \
  "$(sed -n '3,102p' "$dir/made/bimodal.csv" | awk -F, '{ printf "%.10g ", $3 / 2 }')"
cut_into b --seconds 100 --contract 25 "$dir/b" "$dir/made"
is "and of another contract" "$(column b/traces/w001.csv)" \
  "$(sed -n '3,102p' "$dir/made/bimodal.csv" | awk -F, '{ printf "%.10g ", $3 / 4 }')"
is "which is what is sold" "$(grep -h ^flavor_cap_pct "$dir/b/migrate.ini" "$dir/b/stay.ini" | sort -u)" "flavor_cap_pct = 25"
is "the second series of a file is its own" "$(column a/traces/w016.csv)" \
  "$(sed -n '103,202p' "$dir/made/scenes.csv" | awk -F, '{ printf "%.10g ", $4 / 2 }')"
is "the two scenarios differ in who is moved" "$(diff "$dir/a/migrate.ini" "$dir/a/stay.ini" | grep -c '^[<>] migrate')" 2
for kind in migrate stay; do
  ok "gover-sim plays them: $kind" "$B/gover-sim" run "$dir/a/$kind.ini"
done
cut_into c --seconds 100 --most 5 "$dir/a" "$dir/made"
is "more windows than a scenario takes are picked evenly, out loud" \
  "$(sed -n 's/^\[tenant \(.*\)\]/\1/p' "$dir/a/stay.ini" | tr '\n' ' ')$(said c.out '5 of the 21 windows are taken, evenly')" \
  "w001 w005 w009 w013 w017 1"

# --- broken ---

mkdir "$dir/bad"
head -n 1 "$dir/made/steady.csv" >"$dir/bad/rows.csv"
# Row by row: well; the same second again; a hole of 3 s; no load; a row cut short; above and below what there is;
# backwards; a time that is none; a gap; and so on to the end.
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
is "too little for a scenario is refused" "$? $(said d.err 'a scenario begins with two windows of 8 s')" "1 1"
is "the last row of a second counts, holes hold, what is beyond is clipped" "$(column d/traces/w001.csv)" "10 22 22 22 30 30 30 100 "
is "all is counted" "$(said d.out "rows.csv: 1 series, 16 rows, 5 left out, 1 of a second told before, 2 clipped to 0..100, 2 gaps, 1 windows, 6 s in none")" 1
for text in ':7: "NaN" is no load (/nvidiagpu/0/load/0): left out' ':8: a row of other than 3 fields: left out' ':11: time runs backwards: left out' \
  ':12: "03/02/2026 00:61:05" is no time: left out' ':13: a row of other than 3 fields: left out' ':16: time runs backwards by 7210 s: a new run begins'; do
  is "it is told: $text" "$(said d.err "$dir/bad/rows.csv$text")" 1
done
is "and nothing else" "$(grep -c "^$dir/bad" "$dir/d.err")" 6
cut_into e --warnings 2 --seconds 8 "$dir/d" "$dir/bad/rows.csv"
is "many are counted" "$(grep -c "^$dir/bad/rows.csv:[0-9]" "$dir/e.err") $(said e.err "rows.csv: and 4 warnings more")" "2 1"

printf 't_s,demand_pct\r\n5,10\r\n5.5,20\r\n6,30\r\n7,x\r\n8,50\r\n' >"$dir/bad/plain.csv"
printf ',/nvidiagpu/0/load/1\nTime,GPU Memory\n03/01/2026 00:00:00,5\n' >"$dir/bad/memory.csv"
printf 'hello\n' >"$dir/bad/hello.csv"
: >"$dir/bad/nothing.csv"
ok "gover's own traces may stand among them, and what is none" cut_into f --seconds 2 "$dir/f" "$dir/bad"
is "their demand is that of the GPU, its mean in each second" "$(column f/traces/w001.csv)| $(column f/traces/w002.csv)" "15 30 | 30 50 "
for text in 'plain.csv:5: "x" is no number: left out' 'memory.csv:2: no column "GPU Core" whose id has /load/' \
  'hello.csv:1: neither a file of Hardware Monitor' 'nothing.csv:1: neither a file of Hardware Monitor'; do
  is "it is told: $text" "$(said f.err "$dir/bad/$text")" 1
done

refused() { # refused TEXT EXIT COMMAND...: ends so, and says TEXT
  text=$1 rc=$2
  shift 2
  "$@" >"$dir/out" 2>&1
  is "exit $rc: $text" "$? $(grep -cF -- "$text" "$dir/out")" "$rc 1"
}
refused "$dir/none.csv: cannot be read" 1 bench/eval/hpa-traces "$dir/g" "$dir/none.csv"
mkdir "$dir/empty"
refused "no .csv file in $dir/empty" 1 bench/eval/hpa-traces "$dir/g" "$dir/empty"
refused "--seconds '1': allowed is 2 to 1000000" 2 bench/eval/hpa-traces --seconds 1 "$dir/g" "$dir/made"
refused "--contract '0x': allowed is 1 to 100" 2 bench/eval/hpa-traces --contract 0x "$dir/g" "$dir/made"
refused "no option --second" 2 bench/eval/hpa-traces --second 1 "$dir/g" "$dir/made"
refused "what is asked for is OUT FILE|DIR" 2 bench/eval/hpa-traces "$dir/g"

# --- the evaluation, small ---

ok "make eval-traces plays every policy and the bounds" bench/eval/traces --traces "$dir/made" --seconds 150 --seeds 2 --out "$dir/eval"
is "for each mix of both scenarios" "$(grep -cE '^ +[12] .*%' "$dir/eval/tables.txt")" 8
is "and says in how many qos is ahead, and has enough" \
  "$(grep -cE '^qos is ahead .* in [0-2] of 2 mixes|^sells >= 80 % .* in [0-2]; breaks <= 1 % in [0-2], at worst' "$dir/eval/tables.txt")" 4
is "and whom it would have moved away in vain" "$(grep -cE '^It names [0-9]+ victims, [0-9]+ of them while' "$dir/eval/tables.txt")" 1
short=$(cat "$dir"/eval/*.short 2>/dev/null | wc -l)
is "with a word on each mix that falls short" "$(grep -c '^mix ' "$dir/eval/tables.txt") $(grep -c '^  offers: ' "$dir/eval/tables.txt")" "$short $short"
cp -r "$dir/eval/tables.txt" "$dir/first"
bench/eval/traces --traces "$dir/made" --seconds 150 --seeds 2 --out "$dir/eval" >"$dir/out" 2>&1
ok "the same once more" cmp "$dir/first" "$dir/eval/tables.txt"

# One who wakes for good is named: he is there in both runs of a mix, as rows that are made here.
mkdir "$dir/x" "$dir/y"
awk -v dir="$dir" 'BEGIN {
  for (k = 1; k <= 2; k++) {
    rows = dir "/" substr("xy", k, 1) "/seconds.csv"
    print "t_s,vgpu,cap_pct,contract_pct,load_pct,demand_pct,util_pct,fps,target_fps,broken" >rows
    for (t = 1; t <= 200; t++) {
      printf "%d.000,v1-a,50,50,0,%d,0,,0,0\n", t, (t > 100 && k == 1 ? 45 : 2) >rows
      if (k == 1 && t > 20) printf "%d.000,v2-b,50,50,0,60,0,,0,%d\n", t, (t > 100 && t <= 150) >rows
      if (k == 2 && t > 10) printf "%d.000,v2-b,50,50,0,7,0,,0,0\n", t >rows
    }
  }
}'
printf '{"t_s":0.0,"kind":"sold","vgpu":"v1-a"}\n{"t_s":20.0,"kind":"sold","vgpu":"v2-b"}\n{"t_s":50.0,"kind":"kept","vgpu":"v2-b"}\n' >"$dir/x/decisions.jsonl"
printf '{"t_s":0.0,"kind":"sold","vgpu":"v1-a"}\n{"t_s":10.0,"kind":"sold","vgpu":"v2-b"}\n' >"$dir/y/decisions.jsonl"
bench/eval/traces-why "$dir/x" "$dir/y" >"$dir/why"
is "who woke is named, with when and how much" "$(grep -cF 'from 101 s to 150 s, most of them of b (50 s); known had to be: a, there since 0 s, goes from 2 to 45 %, while the others want 60 %' "$dir/why")" 1
is "and how the time went" "$(grep '^  offers:' "$dir/why")" "  offers: 30 s probation, 100 s more wanted than there is, 70 s not expected to pay"

# The folder beside the clone is not there: nothing is played, out loud.
mkdir -p "$dir/clone/bench/eval"
cp bench/eval/traces "$dir/clone/bench/eval/"
is "without recordings it is skipped, with a word" "$(B=$B "$dir/clone/bench/eval/traces" | tail -n 1) $?" "skipped 0"
refused "no option --trace" 2 bench/eval/traces --trace "$dir/made"
finish
