#!/bin/sh
# A live setting that conflicts with a changed configuration file is logged and ignored; the daemon starts.
. "$(dirname "$0")/../lib.sh"

start_sim
api PATCH /v1/policy '{"fund_window_s": 300, "overload_pct": 90}' >/dev/null
is "a window of 300 periods is accepted" "$(status)" 200
restart
is "the settings survive a restart" "$(get /v1/policy '"\(.params.fund_window_s) \(.params.overload_pct)"')" "300 90"
stop
period_ms=50
sim_conf
: >"$dir/log"
start || exit 1
is "600 periods are too many: the value of the file is in force" "$(get /v1/policy .params.fund_window_s)" 30
ok "the log names the setting" grep -q "fund_window_s" "$dir/log"
api PATCH /v1/policy '{"fund_window_s": 60}' >/dev/null
is "the setting can be changed again" "$(status) $(get /v1/policy .params.fund_window_s)" "200 60"
finish
