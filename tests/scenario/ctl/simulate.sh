#!/bin/sh
# `gover-ctl simulate` reads the history of a simulated GPU. The sums of the run "recorded" equal those of the history.
# The sums of the run "model", which simulates the policy in force, are close to them.
. "$(dirname "$0")/../lib.sh"

PERIODS=400
UTIL_ERROR=3   # tolerance of the model, in percentage points of utilisation
BROKEN_ERROR=5 # tolerance in percentage points of broken time

# shellcheck disable=SC2034 # read by sim_conf
speed=20 period_ms=50
# shellcheck disable=SC2034
conf_extra='[gpu gpu1]
backend = sim
sharing = guarantee
speed = 20'
start_sim
from=$(date -u +%FT%TZ)
vgpu() { sell "$1" "$2" "$3" "\"gpu\": \"gpu0\"${4-}"; }
vgpu a 40 glmark2 ', "target_fps": 60'
vgpu b 40 square:period_s=60,high_pct=35,low_pct=5
vgpu c 40 burst:on_s=10,off_s=20,pct=40
is "three vGPUs are sold, for more than 100 percent" "$(get '/v1/gpus' '.gpus[0].sum_initial_cap_pct')" 120

ctl simulate --gpu gpu1 >"$dir/out" 2>&1
is "without a recording simulate fails" "$?" 1
ok "the error names the GPU and the length of its recording" grep -q 'gpu1, .*: recording too short: 0 seconds (at least 10)' "$dir/out"

ok "the daemon records $PERIODS periods" periods $PERIODS
ctl vgpu remove c >/dev/null
periods 20
sleep 1 # the range ends at a whole second
to=$(date -u +%FT%TZ)
ms() { date -d "$1" +%s000; }
sum() { history "SELECT total($1) FROM sample JOIN vgpu ON num = vgpu WHERE load_pct NOTNULL AND dt_s > 0 AND ts_ms >= $(ms "$from") AND ts_ms < $(ms "$to")"; }

sim() { # sim NAME [OPTION...]: writes the result to $dir/NAME
  name=$1
  shift
  ctl simulate --json --gpu gpu0 --from "$from" --to "$to" "$@" >"$dir/$name" 2>"$dir/$name.err"
}
run() { gojq -r ".gpus[0].runs[] | select(.run == \"$2\") | .$3" "$dir/$1"; } # run NAME RUN FIELD
fact() { gojq -r ".gpus[0].$2" "$dir/$1"; }
within() { # within A B ERROR
  awk -v a="$1" -v b="$2" -v e="$3" 'BEGIN { d = a - b; exit !(d <= e && -d <= e) }'
}

ok "the recording is simulated" sim model --no-newcomers
sed 's/^/# /' "$dir/model"
is "the simulation includes the removed vGPU" "$(fact model vgpus)" 3
is "there are two runs: recorded and model" "$(gojq -r '.gpus[0].runs | map(.run) | join(" ")' "$dir/model")" "recorded model"
ok "vGPU-seconds equal those of the history" within "$(run model recorded vgpu_s)" "$(sum dt_s)" "$(sum 0.02*dt_s)"
ok "sold capacity equals that of the history" within "$(run model recorded sold_cap_pct_s)" "$(sum initial_cap_pct*dt_s)" "$(sum 0.02*initial_cap_pct*dt_s)"
ok "utilisation equals that of the history" within "$(run model recorded util_avg_pct)" "$(echo "$(sum load_pct*dt_s) $(fact model seconds)" | awk '{ print $1 / $2 }')" 1
ok "broken time equals that of the history" within "$(fact model broken_s_as_counted)" "$(sum broken*dt_s)" 2
ok "the error of the model is at most $UTIL_ERROR points of utilisation" within "$(fact model model_error.util_avg_pct)" 0 $UTIL_ERROR
ok "the error of the model is at most $BROKEN_ERROR points of broken time" within "$(fact model model_error.broken_pct)" 0 $BROKEN_ERROR
ok "the model sells what was sold" within "$(run model model sold_cap_pct_s)" "$(run model recorded sold_cap_pct_s)" "$(sum 0.02*initial_cap_pct*dt_s)"
is "the model has no new tenants" "$(run model model sales)" 0

for policy in none static gover qos; do
  ok "policy $policy is simulated" sim $policy --policy $policy
  is "the run names policy $policy" "$(run $policy trial policy)" $policy
done
ok "a trial of the policy in force equals the run in_force" test "$(gojq -c '.gpus[0].runs[] | select(.run == "trial") | del(.run)' "$dir/gover")" = \
  "$(gojq -c '.gpus[0].runs[] | select(.run == "in_force") | del(.run)' "$dir/gover")"
is "the recorded run does not depend on the policy" "$(gojq -c '.gpus[0].runs[0]' "$dir/none")" "$(gojq -c '.gpus[0].runs[0]' "$dir/qos")"
ok "constant caps break more contracts than qos" test "$(run none trial broken_s | cut -d. -f1)" -gt "$(run qos trial broken_s | cut -d. -f1)"
sim again --policy qos
ok "a repeated simulation gives the same bytes" cmp "$dir/qos" "$dir/again"

sim money --no-newcomers --set penalty_per_broken_s=1 --set price_per_cap_hour=3600
ok "--set prices: sold capacity earns one unit for each second of the GPU" within "$(run money trial revenue)" "$(run money trial sold_cap_pct_s | awk '{ print $1 / 100 }')" 0.01
ok "each broken second costs one unit" within "$(run money trial penalty)" "$(run money trial broken_s)" 0.01
is "the prices in force are unchanged: none is set, and there is no money" \
  "$(run money model revenue) $(run money model profit) $(run model recorded penalty) $(fact model model_error.profit)" "null null null null"
ctl simulate --gpu gpu0 --from "$from" --to "$to" --no-newcomers >"$dir/text"
ok "the table has no money either" sh -c "! grep -Eq 'revenue|penalty|profit|net income' '$dir/text'"
is "a short recording has no figure of its last tenth" "$(run model model util_final_pct)" null
ok "nor in the table" sh -c "! grep -q 'last tenth' '$dir/text'"
sim key --policy static --set static_ratio=1 --set flavor_cap_pct=70 --newcomer idle
is "with --set parameters that forbid overselling, nothing is sold" "$(run key trial sales)" 0
sim idle --policy static --set static_ratio=4 --newcomer idle
ok "new tenants arrive if the policy sells" test "$(run idle trial sales)" -ge 1
ok "new tenants increase the sold capacity" test "$(run idle trial sold_cap_pct_s | cut -d. -f1)" -gt "$(run idle model sold_cap_pct_s | cut -d. -f1)"
sim busy --policy static --set static_ratio=4 --newcomer busy
ok "new tenants run the given workload" test "$(run busy trial broken_s | cut -d. -f1)" -gt "$(run idle trial broken_s | cut -d. -f1)"
sim file --set overload_pct=50 --set overload_pct=60
is "a duplicate key is rejected" "$?" 2
is "simulations do not change the policy in force" "$(get /v1/policy '.name + " " + (.differs | length | tostring)')" "gover 0"

ok "without --json a table is printed" sh -c "'$B/gover-ctl' --socket '$sock' simulate --policy qos --from '$from' --to '$to' >'$dir/table'"
ok "the table has all runs" grep -qE '^ +RECORDED +MODEL +IN FORCE +TRIAL$' "$dir/table"
ok "the table has the error of the model" grep -q "^Error of the model (model minus recorded): utilisation [+-]" "$dir/table"
ok "the table lists GPUs that cannot be simulated" grep -q '^gpu1: not simulated: recording too short: 0 seconds' "$dir/table"
is "the total of one GPU equals that GPU" "$(ctl simulate --json --from "$from" --to "$to" | gojq -c '.total.runs[0].vgpu_s == .gpus[0].runs[0].vgpu_s')" true
ctl simulate --json --from -3d --to "$to" >"$dir/out" 2>"$dir/err"
is "a range that begins before the periods is simulated in part" "$?" 0
ok "a range that begins before the periods gives a warning" grep -q 'the values of each period are kept only from 20.*starts at this time' "$dir/err"

refused() { # refused CODE WORDS OPTION...: simulate fails with the exit code CODE and prints WORDS
  code=$1 words=$2
  shift 2
  ctl simulate "$@" >"$dir/out" 2>&1
  is "simulate $* exits with $code" "$?" "$code"
  ok "simulate $* prints the reason" grep -qF -- "$words" "$dir/out"
}
refused 2 "--policy: unknown policy 'nope' (allowed: gover, none, static" --policy nope
refused 2 "'overload_pc': unknown key (did you mean overload_pct?)" --set overload_pc=3
refused 2 'overload_pct = "200" is not allowed (allowed: 1..100 percent)' --set overload_pct=200
refused 2 "(allowed: a number)" --set overload_pct=much
refused 2 "(allowed: KEY=VALUE" --set overload_pct
refused 2 "ttl_s: has no effect in a simulation" --set ttl_s=5
refused 2 "name: not allowed (use --policy)" --set name=qos
refused 2 "unknown workload 'foo'" --newcomer foo
refused 2 "mutually exclusive" --newcomer idle --no-newcomers
refused 2 "--from must be before --to" --from -1m --to -2m
refused 2 "(allowed: RFC 3339" --from yesterday
refused 2 "GPU '../x'" --gpu ../x
refused 1 "GPU gpu7: not found" --gpu gpu7
refused 1 "recording too short: 0 seconds (at least 10)" --from -2h --to -1h
sell d 40 glmark2 '"gpu": "gpu1"'
periods 40
refused 2 "GPU gpu1 has sharing = guarantee: paper_mode cannot be simulated" --gpu gpu1 --set paper_mode=on

cp "$B/gover-ctl" "$dir/gover-ctl"
PATH=/nowhere "$dir/gover-ctl" --socket "$sock" simulate >"$dir/out" 2>&1
is "without gover-sim simulate exits with 1" "$?" 1
ok "the message names the missing program" grep -q '^gover-ctl: gover-sim: neither beside gover-ctl nor in PATH' "$dir/out"
echo '{' | "$B/gover-sim" replay >"$dir/out" 2>&1
is "gover-sim refuses a damaged recording" "$? $(grep -c '^gover-sim: standard input: no recording: ' "$dir/out")" "1 1"

stop
ctl simulate >"$dir/out" 2>&1
is "without a daemon simulate exits with 3" "$?" 3
finish
