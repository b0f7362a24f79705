#!/bin/sh
# Revenue and penalties of an oversold GPU, compared with those without overselling. A new price does not change earlier
# amounts. A restart loses no amounts. If the database is lost, earlier amounts are lost too, but the loop continues.
# shellcheck disable=SC2317 # functions that "ok" calls
. "$(dirname "$0")/../lib.sh"

prices() { # prices PRICE: writes the configuration with a price of PRICE / 3600 per GPU-second
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

# --- no price ---

start_sim
sell a 50 idle
stop
rm -f "$dir"/state/history.db* # the new history begins with the contract, so that its means do not depend on the time of the sale
start || exit 1
ok "without a price capacity is counted" until_ok 20 that /v1/economics '.sold_cap_hours > 0'
ok "without a price all amounts are null" that /v1/economics \
  '.prices_set == false and ([.. | objects | .revenue?, .penalty?, .profit?] | all(. == null)) and (.vgpus | length) == 1'
ctl economics >"$dir/table"
ok "gover-ctl names the command that sets the prices" grep -q '^no price is set: .* gover-ctl policy set price_per_cap_hour=PRICE' "$dir/table"
ok "gover-ctl prints capacity and broken time" sh -c "grep -q '^as sold .*0\.50  *[0-9]' '$dir/table' && grep -q '^a  *gpu0 default  *[0-9.]* *[0-9.]*$' '$dir/table'"
ok "gover-ctl prints no money" sh -c "! grep -qE 'REVENUE|PENALTY |PROFIT|WITHOUT|penalty [0-9]' '$dir/table'"
ok "the metrics contain no money" sh -c "! curl -s --unix-socket '$sock' http://g/metrics | grep -E '^gover_(revenue|penalty)'"
is "the policy decides with the defaults" "$(get /v1/policy '"\(.params.price_per_cap_hour) \(.params.penalty_per_broken_s) \(.params.price_per_move) \(.differs)"')" "1 0.01 0 []"
ctl policy set price_per_cap_hour=1 >/dev/null
is "the default as a set price differs from the file" "$(get /v1/policy '.differs | join(" ")')" price_per_cap_hour
ok "then revenue is counted" until_ok 20 that /v1/economics '.prices_set and .revenue > 0 and .penalty == null and .profit == .revenue'
ctl economics >"$dir/table"
ok "gover-ctl prints revenue, and no penalty" grep -qE '^as sold +0\.50 +[0-9.]+ +[0-9.]+ +0\.[0-9]+ +- +0\.[0-9]+$' "$dir/table"
ok "the metrics contain the revenue" sh -c "curl -s --unix-socket '$sock' http://g/metrics | grep -q '^gover_revenue_total 0.0'"
restart
is "the set price survives a restart" "$(get /v1/policy '.differs | join(" ")')" price_per_cap_hour
api PATCH /v1/policy '{"price_per_cap_hour": null}' >/dev/null
is "null unsets the price" "$(get /v1/policy '.differs | join(" ")')" ""
ctl policy set price_per_move=0.6 >/dev/null
is "the price of a migration changes while the daemon runs" "$(get /v1/policy '"\(.params.price_per_move) \(.differs | join(" "))"')" "0.6 price_per_move"
api PATCH /v1/policy '{"price_per_move": -1}' >/dev/null
is "a negative price is rejected" "$(status)" 422
restart
is "the price of a migration survives a restart" "$(get /v1/policy .params.price_per_move)" 0.6
api PATCH /v1/policy '{"price_per_move": null}' >/dev/null
is "null unsets the price of a migration" "$(get /v1/policy '"\(.params.price_per_move) \(.differs | join(" "))"')" "0 "
restart
periods 3
api GET /metrics >"$dir/metrics"
ok "a daemon without a price counts no revenue" sh -c "! grep ^gover_revenue '$dir/metrics'"
stop
rm -r "$dir/state"

money() { get "/v1/economics" "$1"; }
near() { # near PATH FILTER_A FILTER_B: succeeds if both numbers are equal except for rounding
  that "$1" "[$2, $3] | (.[0] - .[1]) | fabs < 0.01"
}
e=/v1/economics

prices 3600
start || exit 1
# Each vGPU needs 60 % of the GPU for its target, so one of them misses its target.
sell a 60 frame:gpu_ms=10,cpu_ms=1 '"target_fps": 60'
sell b 60 frame:gpu_ms=10,cpu_ms=1 '"target_fps": 60'
ok "the second vGPU is sold" that /v1/gpus '.gpus[0].overbooking_ratio == 1.2'
ok "a promise is broken" until_ok 30 that $e '.broken_s > 3'
periods 20
money . >"$dir/money"
ok "revenue is sold time at its price" near $e .revenue '(.sold_cap_hours * 3600)'
ok "penalties are broken time at its price" near $e .penalty '(.broken_s * 0.1)'
ok "profit is the difference" near $e .profit '(.revenue - .penalty)'
ok "the GPU is oversold" that $e '.overbooking_ratio > 1 and .overbooking_ratio <= 1.2'
ok "without overselling only the first vGPU is sold" near $e .without_overselling.revenue '([.vgpus[] | select(.vgpu == "a")][0].revenue)'
ok "without overselling the sum of contracts fits" that $e '.without_overselling.overbooking_ratio <= 0.6'
ok "without overselling the second vGPU earns nothing" that $e '[.without_overselling.vgpus[] | select(.vgpu == "b")][0].revenue == 0'
ok "without overselling penalties are not higher" that $e '.without_overselling.penalty <= .penalty'
ok "the lists add up to the totals" near $e .revenue '([.vgpus[].revenue] | add)'
ok "the prices are listed" that $e '[.prices[] | "\(.flavor) \(.price_per_cap_hour)"] | sort == ["default 3600", "small 7200"]'
echo "# as sold $(gojq -c '[.revenue, .penalty, .profit]' "$dir/money"), without overselling $(
  gojq -c '.without_overselling | [.revenue, .penalty, .profit]' "$dir/money")"

ctl economics >"$dir/table"
ok "the table contains both accounts" sh -c "grep -q '^as sold .*1\\.' '$dir/table' && grep -q '^without overselling .*0\\.' '$dir/table'"
ok "the table contains each vGPU" sh -c "grep -q '^a  *gpu0 default' '$dir/table' && grep -q '^b  *gpu0 default' '$dir/table'"
is "--json prints the REST answer" "$(ctl economics --json --from -1h | gojq -r 'keys | join(" ")')" "$(money 'keys | join(" ")')"
ctl economics --from -1h --to -2h >"$dir/out" 2>&1
is "an invalid range is a usage error" "$?" 2
metric() { api GET /metrics | sed -n "s/^gover_$1_total //p"; }
ok "the revenue counter is at least the sum of the ledger" sh -c "awk 'BEGIN { exit !($(metric revenue) >= $(gojq .revenue "$dir/money")) }'"
ok "the penalty counter is at least the sum of the ledger" sh -c "awk 'BEGIN { exit !($(metric penalty) >= $(gojq .penalty "$dir/money")) }'"

# From here on the default flavour has no price.
ctl policy set price_per_cap_hour=0 >/dev/null
before=$(money .revenue)
ctl vgpu remove b >/dev/null
periods 10
is "a new price does not change the past" "$(money .revenue)" "$before"
ok "both prices are listed" that $e '[.prices[] | select(.flavor == "default") | .price_per_cap_hour] == [3600, 0]'
sell c 20 idle '"flavor": "small"'
is "a vGPU with another flavour is created" "$(status)" 201
ok "the flavour earns at its own price" until_ok 20 that $e '[.flavors[] | select(.flavor == "small")][0].revenue > 1'
ok "its price is twice the price of the default" near $e '([.flavors[] | select(.flavor == "small")][0].revenue)' \
  '([.flavors[] | select(.flavor == "small")][0].sold_cap_hours * 7200)'
sell d 20 idle '"flavor": "huge"'
is "an unknown flavour is rejected" "$(status) $(gojq -r .detail "$dir/body")" \
  "422 flavor: huge is not allowed (allowed: default, small)"

ctl vgpu remove c >/dev/null # the remaining vGPUs have no price
before=$(money .revenue)
stop
prices 36000
start || exit 1
periods 3
is "a restart loses nothing" "$(money .revenue)" "$before"
is "the changed price survives a restart" "$(get /v1/policy .params.price_per_cap_hour)" 0

rm -f "$dir"/state/history.db*
ok "the loop continues after the loss of the database" periods 10
ok "a new ledger begins" until_ok 30 that $e '.watched_hours > 0'
api GET "$e?from=tomorrow" >/dev/null
is "an invalid time is rejected" "$(status)" 400
stop

rm -f "$dir"/state/history.db*
sqlite3 "$dir/state/history.db" 'PRAGMA application_id = 1' # a database of another program
start || exit 1
api GET $e >/dev/null
is "without a history the request is 503" "$(status)" 503
ok "an alert reports the missing history" until_ok 10 alerts 1 history_failing
is "the changed price survives the loss of the history" "$(get /v1/policy .params.price_per_cap_hour)" 0
api PATCH /v1/policy '{"price_per_cap_hour": null}' >/dev/null
earns() { metric revenue | awk '{ exit !($1 > 0) }'; }
ok "revenue is counted again" until_ok 20 earns
finish
