#!/bin/sh
# Live settings that do not go with a changed configuration file are told and ignored; the daemon starts.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

sim_conf
start || exit 1
api PATCH /v1/policy '{"fund_window_s": 300, "overload_pct": 90}' >/dev/null
is "300 periods are remembered at most" "$(status)" 200
stop
start || exit 1
is "they survive a restart" "$(get /v1/policy '"\(.params.fund_window_s) \(.params.overload_pct)"')" "300 90"
stop
period_ms=50
sim_conf
: >"$dir/log"
start || exit 1
is "600 would be too many: the file's value is in force" "$(get /v1/policy .params.fund_window_s)" 30
ok "the log names the setting" grep -q "fund_window_s" "$dir/log"
api PATCH /v1/policy '{"fund_window_s": 60}' >/dev/null
is "it can be changed anew" "$(status) $(get /v1/policy .params.fund_window_s)" "200 60"
stop
finish
