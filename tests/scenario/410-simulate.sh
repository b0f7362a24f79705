#!/bin/sh
# `gover-ctl simulate`: a run of a simulated GPU is recorded and played again; what really happened
# is what the history holds, and the model of the policy in force comes close to it.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

PERIODS=400
UTIL_ERROR=3   # points of utilisation that the model may be wrong by
BROKEN_ERROR=5 # points of broken time

# shellcheck disable=SC2034 # read by sim_conf
speed=20 period_ms=50
# shellcheck disable=SC2034
conf_extra='[gpu gpu1]
backend = sim
speed = 20'
sim_conf
start || exit 1
from=$(date -u +%FT%TZ)
vgpu() { sell "$1" "$2" "$3" "\"gpu\": \"gpu0\"${4-}"; }
vgpu a 40 glmark2 ', "target_fps": 60'
vgpu b 40 square:period_s=60,high_pct=35,low_pct=5
vgpu c 40 burst:on_s=10,off_s=20,pct=40
is "three are sold, more than there is" "$(get '/v1/gpus' '.gpus[0].sum_initial_cap_pct')" 120

ctl simulate --gpu gpu1 >"$dir/out" 2>&1
is "nothing was recorded: nothing is played" "$?" 1
ok "and it says so" grep -q 'gpu1, .*: recording too short: 0 seconds (at least 10)' "$dir/out"

ok "it runs for a while" periods $PERIODS
ctl vgpu remove c >/dev/null
periods 20
sleep 1 # the range ends at a whole second
to=$(date -u +%FT%TZ)
ms() { date -d "$1" +%s000; }
sum() { history "SELECT total($1) FROM sample JOIN vgpu ON num = vgpu WHERE load_pct NOTNULL AND dt_s > 0 AND ts_ms >= $(ms "$from") AND ts_ms < $(ms "$to")"; }

sim() { # sim NAME [OPTION...]: its answer in $dir/NAME
  name=$1
  shift
  ctl simulate --json --gpu gpu0 --from "$from" --to "$to" "$@" >"$dir/$name" 2>"$dir/$name.err"
}
run() { jq -r ".gpus[0].runs[] | select(.run == \"$2\") | .$3" "$dir/$1"; } # run NAME RUN FIELD
fact() { jq -r ".gpus[0].$2" "$dir/$1"; }
within() { # within A B ERROR
  awk -v a="$1" -v b="$2" -v e="$3" 'BEGIN { d = a - b; exit !(d <= e && -d <= e) }'
}

ok "it is played again" sim model --no-newcomers
sed 's/^/# /' "$dir/model"
is "with those who are gone" "$(fact model vgpus)" 3
is "two runs: what was, and the model of it" "$(jq -r '.gpus[0].runs | map(.run) | join(" ")' "$dir/model")" "recorded model"
ok "as many vGPU-seconds as the history has" within "$(run model recorded vgpu_s)" "$(sum dt_s)" "$(sum 0.02*dt_s)"
ok "as much was sold" within "$(run model recorded sold_cap_pct_s)" "$(sum initial_cap_pct*dt_s)" "$(sum 0.02*initial_cap_pct*dt_s)"
ok "as much was used" within "$(run model recorded util_avg_pct)" "$(echo "$(sum load_pct*dt_s) $(fact model seconds)" | awk '{ print $1 / $2 }')" 1
ok "as much was broken as the daemon counted" within "$(fact model broken_s_as_counted)" "$(sum broken*dt_s)" 2
ok "the model's utilisation is wrong by at most $UTIL_ERROR points" within "$(fact model model_error.util_avg_pct)" 0 $UTIL_ERROR
ok "its broken time by at most $BROKEN_ERROR" within "$(fact model model_error.broken_pct)" 0 $BROKEN_ERROR
ok "what it sold is what was sold" within "$(run model model sold_cap_pct_s)" "$(run model recorded sold_cap_pct_s)" "$(sum 0.02*initial_cap_pct*dt_s)"
is "nobody comes to it" "$(run model model sales)" 0

for policy in none static gover qos; do
  ok "policy $policy is tried" sim $policy --policy $policy
  is "and named" "$(run $policy trial policy)" $policy
done
ok "that in force, tried, comes to what it comes to in force" test "$(jq -c '.gpus[0].runs[] | select(.run == "trial") | del(.run)' "$dir/gover")" = \
  "$(jq -c '.gpus[0].runs[] | select(.run == "in_force") | del(.run)' "$dir/gover")"
is "what was is the same beside each" "$(jq -c '.gpus[0].runs[0]' "$dir/none")" "$(jq -c '.gpus[0].runs[0]' "$dir/qos")"
ok "caps that stand still break more than qos" test "$(run none trial broken_s | cut -d. -f1)" -gt "$(run qos trial broken_s | cut -d. -f1)"
sim again --policy qos
ok "the same again is the same, to the byte" cmp "$dir/qos" "$dir/again"

sim money --no-newcomers --set penalty_per_broken_s=1 --set price_per_cap_hour=3600
ok "other prices: what is sold earns a unit a second of the GPU" within "$(run money trial revenue)" "$(run money trial sold_cap_pct_s | awk '{ print $1 / 100 }')" 0.01
ok "and each broken second costs one" within "$(run money trial penalty)" "$(run money trial broken_s)" 0.01
ok "at those in force nothing changes" within "$(run money model revenue)" "$(run model model revenue)" 0.0001
sim key --policy static --set static_ratio=1 --set flavor_cap_pct=70 --newcomer idle
is "a parameter of the policy counts: nothing is sold beyond the GPU" "$(run key trial sales)" 0
sim idle --policy static --set static_ratio=4 --newcomer idle
ok "newcomers come where the policy sells" test "$(run idle trial sales)" -ge 1
ok "which is sold more" test "$(run idle trial sold_cap_pct_s | cut -d. -f1)" -gt "$(run idle model sold_cap_pct_s | cut -d. -f1)"
sim busy --policy static --set static_ratio=4 --newcomer busy
ok "and do what they are told to" test "$(run busy trial broken_s | cut -d. -f1)" -gt "$(run idle trial broken_s | cut -d. -f1)"
sim file --set overload_pct=50 --set overload_pct=60
is "a key twice is refused" "$?" 2
is "nothing of it is in force" "$(get /v1/policy '.name + " " + (.differs | length | tostring)')" "gover 0"

ok "people get a table" sh -c "'$B/gover-ctl' --socket '$sock' simulate --policy qos --from '$from' --to '$to' >'$dir/table'"
ok "of all runs" grep -qE '^ +RECORDED +MODEL +IN FORCE +TRIAL$' "$dir/table"
ok "that tells the model's error" grep -q "^The model's own error, on the demand as estimated: utilisation [+-]" "$dir/table"
ok "and of each GPU, one with nothing to play too" grep -q '^gpu1: not played: recording too short: 0 seconds' "$dir/table"
is "together they are what one was" "$(ctl simulate --json --from "$from" --to "$to" | jq -c '.total.runs[0].vgpu_s == .gpus[0].runs[0].vgpu_s')" true
ctl simulate --json --from -3d --to "$to" >"$dir/out" 2>"$dir/err"
is "a range that begins before there were single periods is played in part" "$?" 0
ok "and it says so" grep -q 'single periods are kept from 20.*minutes, cannot be played' "$dir/err"

refused() { # refused CODE WORDS OPTION...: with this exit code and these words
  code=$1 words=$2
  shift 2
  ctl simulate "$@" >"$dir/out" 2>&1
  is "$* ends with $code" "$?" "$code"
  ok "and says why" grep -qF -- "$words" "$dir/out"
}
refused 2 "--policy 'nope': allowed are gover, none, static" --policy nope
refused 2 "--set no key 'overload_pc'; did you mean overload_pct?" --set overload_pc=3
refused 2 'overload_pct = "200" is not allowed (allowed: 1..100 percent)' --set overload_pct=200
refused 2 "allowed is a number" --set overload_pct=much
refused 2 "allowed is KEY=VALUE" --set overload_pct
refused 2 "ttl_s plays no part in a simulation" --set ttl_s=5
refused 2 "a policy is named with --policy" --set name=qos
refused 2 "unknown workload 'foo'" --newcomer foo
refused 2 "exclude each other" --newcomer idle --no-newcomers
refused 2 "--from is not before --to" --from -1m --to -2m
refused 2 "allowed are RFC 3339" --from yesterday
refused 2 "GPU '../x'" --gpu ../x
refused 1 "there is no GPU gpu7" --gpu gpu7
refused 1 "recording too short: 0 seconds (at least 10)" --from -2h --to -1h

stop
ctl simulate >"$dir/out" 2>&1
is "without a daemon there is nothing to ask" "$?" 3
finish
