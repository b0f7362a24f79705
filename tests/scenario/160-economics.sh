#!/bin/sh
# A GPU that is sold twice over half: what that earns and owes stands beside what not overselling would have; a new
# price changes nothing of what was, a restart loses nothing, and a lost database costs its rows and no tick.
# shellcheck disable=SC2317 # functions that "ok" calls
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

prices() { # prices PRICE: the configuration, a GPU-second at PRICE / 3600
  conf_extra="[offer]
price_per_cap_hour = $1
penalty_per_broken_s = 0.1
max_vgpus = 3
[flavor small]
cap_pct = 20
price_per_cap_hour = 7200
penalty_per_broken_s = 0.5"
  sim_conf
}

money() { get "/v1/economics" "$1"; }
near() { # near PATH FILTER_A FILTER_B: both are the same number, but for the last digits
  that "$1" "[$2, $3] | (.[0] - .[1]) | fabs < 0.01"
}
e=/v1/economics

prices 3600
start || exit 1
# Both want 60 % of the GPU for the frames they were promised: one of them must go short.
sell a 60 frame:gpu_ms=10,cpu_ms=1 '"target_fps": 60'
sell b 60 frame:gpu_ms=10,cpu_ms=1 '"target_fps": 60'
ok "the second is sold too" that /v1/gpus '.gpus[0].overbooking_ratio == 1.2'
ok "a promise is broken" until_ok 30 that $e '.broken_s > 3'
periods 20
money . >"$dir/money"
ok "revenue is what was sold at its price" near $e .revenue '(.sold_cap_hours * 3600)'
ok "penalty is what was broken at its price" near $e .penalty '(.broken_s * 0.1)'
ok "profit is the difference" near $e .profit '(.revenue - .penalty)'
ok "it was oversold" that $e '.overbooking_ratio > 1 and .overbooking_ratio <= 1.2'
ok "without overselling there is the first alone" near $e .without_overselling.revenue '([.vgpus[] | select(.vgpu == "a")][0].revenue)'
ok "which makes no more than fits" that $e '.without_overselling.overbooking_ratio <= 0.6'
ok "and the second earned nothing there" that $e '[.without_overselling.vgpus[] | select(.vgpu == "b")][0].revenue == 0'
ok "nor broke a promise that it was not given" that $e '.without_overselling.penalty <= .penalty'
ok "the lists add up" near $e .revenue '([.vgpus[].revenue] | add)'
ok "the prices are told" that $e '[.prices[] | "\(.flavor) \(.price_per_cap_hour)"] | sort == ["default 3600", "small 7200"]'
echo "# as sold $(jq -c '[.revenue, .penalty, .profit]' "$dir/money"), without overselling $(
  jq -c '.without_overselling | [.revenue, .penalty, .profit]' "$dir/money")"

ctl economics >"$dir/table"
ok "the table has both accounts" sh -c "grep -q '^as sold .*1\\.' '$dir/table' && grep -q '^without overselling .*0\\.' '$dir/table'"
ok "and each vGPU" sh -c "grep -q '^a  *gpu0 default' '$dir/table' && grep -q '^b  *gpu0 default' '$dir/table'"
is "--json is the REST answer" "$(ctl economics --json --from -1h | jq -r 'keys | join(" ")')" "$(money 'keys | join(" ")')"
ctl economics --from -1h --to -2h >"$dir/out" 2>&1
is "a range that makes no sense is wrong usage" "$?" 2
metric() { api GET /metrics | sed -n "s/^gover_$1_total //p"; }
ok "the counters are at least what the ledger had" sh -c "awk 'BEGIN { exit !($(metric revenue) >= $(jq .revenue "$dir/money")) }'"
ok "of the penalty too" sh -c "awk 'BEGIN { exit !($(metric penalty) >= $(jq .penalty "$dir/money")) }'"

# From here on the past stays: the default flavour costs nothing any more.
ctl policy set price_per_cap_hour=0 >/dev/null
before=$(money .revenue)
ctl vgpu remove b >/dev/null
periods 10
is "a new price changes nothing of what was" "$(money .revenue)" "$before"
ok "both prices are told" that $e '[.prices[] | select(.flavor == "default") | .price_per_cap_hour] == [3600, 0]'
sell c 20 idle '"flavor": "small"'
is "another flavour has its own" "$(status)" 201
ok "and earns" until_ok 20 that $e '[.flavors[] | select(.flavor == "small")][0].revenue > 1'
ok "twice as much for the same" near $e '([.flavors[] | select(.flavor == "small")][0].revenue)' \
  '([.flavors[] | select(.flavor == "small")][0].sold_cap_hours * 7200)'
sell d 20 idle '"flavor": "huge"'
is "a flavour there is none of is refused" "$(status) $(jq -r .detail "$dir/body")" \
  "422 flavor: huge is not allowed: there is default, small"

ctl vgpu remove c >/dev/null # what is left costs nothing
before=$(money .revenue)
stop
prices 36000
start || exit 1
periods 3
is "over a restart all of it stands" "$(money .revenue)" "$before"
is "the live price too" "$(get /v1/policy .params.price_per_cap_hour)" 0

rm -f "$dir"/state/history.db*
ok "a database that is lost: the loop goes on" periods 10
ok "and the ledger begins anew" until_ok 30 that $e '.watched_hours > 0'
api GET "$e?from=tomorrow" >/dev/null
is "a wrong time is refused" "$(status)" 400
stop

rm -f "$dir"/state/history.db*
mkdir "$dir/state/history.db"
start || exit 1
api GET $e >/dev/null
is "without a history there is no ledger" "$(status)" 503
ok "an alert says so" until_ok 10 alerts 1 history_failing
earns() { metric revenue | awk '{ exit !($1 > 0) }'; }
ok "and what is earned is counted on" until_ok 20 earns
stop
finish
