#!/bin/sh
# Metrics are valid, rules fire when they should, and rules and dashboard use only metrics of /metrics.
# shellcheck disable=SC2086 # lists of files
. "$(dirname "$0")/../lib.sh"
rules="$top/dist/prometheus/gover.rules.yml $top/dist/prometheus/gover-fleet.rules.yml"
tests="$top/tests/prometheus/gover.rules.test.yml $top/tests/prometheus/gover-days.rules.test.yml
  $top/tests/prometheus/gover-fleet.rules.test.yml"
dashboards="$top/dist/grafana/gover.json $top/dist/grafana/gover-fleet.json"

receive_webhook
start_sim
sell a 50 busy '"vm": "win-1", "target_fps": 30'
sell b 30 glmark2 '"target_fps": 20'
ok "an alert is active" until_ok 30 sh -c "curl -s --unix-socket '$sock' http://g/metrics | grep -q '^gover_alert_active{'"
ok "the share error of a vGPU is exported" until_ok 30 sh -c "curl -s --unix-socket '$sock' http://g/metrics | grep -q '^gover_vgpu_share_error_ratio{.*vgpu=\"a\"'"
curl -s --unix-socket "$sock" http://g/metrics >"$dir/text"
curl -s --unix-socket "$sock" -H 'Accept: application/openmetrics-text' http://g/metrics >"$dir/open"
is "OpenMetrics ends with EOF" "$(tail -n 1 "$dir/open")" "# EOF"

is "each tick is in the histogram of durations" "$(sed -n 's/^gover_tick_duration_seconds_count //p' "$dir/text")" "$(sed -n 's/^gover_ticks_total //p' "$dir/text")"

# A histogram has the series NAME_bucket, NAME_sum and NAME_count.
sed -n 's/^# TYPE \([a-z0-9_]*\) histogram/\1_bucket\n\1_sum\n\1_count/p; s/^# TYPE \([a-z0-9_]*\) \(gauge\|counter\)/\1/p' "$dir/text" | sort -u >"$dir/names"
{ cat $rules && gojq -r '.. | .expr?, .query?.query?, .definition? | strings' $dashboards; } >"$dir/uses"
grep -oE 'gover_[a-z0-9_]+' "$dir/uses" | sort -u >"$dir/used"
ok "rules and dashboards use metrics" test "$(wc -l <"$dir/used")" -gt 20
is "each used metric exists" "$(comm -13 "$dir/names" "$dir/used")" ""
cat $rules | sed -n 's/^ *- record: //p' | sort -u >"$dir/records"
cat $dashboards | gojq -r '.. | .expr? | strings' | grep -oE 'gover:[a-z0-9_:]+' | sort -u >"$dir/recorded"
ok "the dashboards use recorded series" test -s "$dir/recorded"
is "each used series is recorded" "$(comm -13 "$dir/records" "$dir/recorded")" ""
sed -n 's/^# HELP \([a-z0-9_]*\) .*Deprecated: .*/\1/p' "$dir/text" | sort -u >"$dir/deprecated"
ok "there are deprecated metrics" test -s "$dir/deprecated"
queries() { gojq -r '.. | .expr?, .query?.query?, .definition? | strings' "$1"; }
for dashboard in $dashboards; do
  is "each panel of $(basename "$dashboard") has a description" "$(gojq -r '.panels[] | select(.type != "row" and (.description // "") == "").title' "$dashboard")" ""
  is "each query of $(basename "$dashboard") selects the job" "$(gojq -r '.. | .expr?, .query?.query?, .definition? | strings |
    select(. != "label_values(gover_build_info, job)") |
    select(([scan("gover[_:][a-z0-9_:]+")] | length) != ([scan("[{]job=~\"[$]job\"")] | length))' "$dashboard")" ""
  is "rates of $(basename "$dashboard") follow the resolution" "$(gojq -r '.panels[].targets[]?.expr' "$dashboard" | grep -E '(rate|increase)\(.*\[[0-9]')" ""
  is "$(basename "$dashboard") uses no deprecated metric" "$(queries "$dashboard" | grep -oE 'gover_[a-z0-9_]+' | sort -u | comm -12 - "$dir/deprecated")" ""
  is "panel ids of $(basename "$dashboard") are unique" "$(gojq -r '.panels[].id' "$dashboard" | sort | uniq -d)" ""
done
is "dashboards have different ids" "$(gojq -r .uid $dashboards | sort | uniq -d)" ""
count() { cat $rules | grep -c "$1"; }
is "every alert has a severity and a next command" \
  "$(count 'alert:') $(count '  severity:') $(count '  next:')" "$(count 'alert:') $(count 'alert:') $(count 'alert:')"
is "every alert has a test" "$(cat $rules | sed -n 's/.*alert: //p' | while read -r a; do cat $tests | grep -A1 "alertname: $a" | grep -q exp_alerts || echo "$a"; done)" ""
is "every recorded series has a test" "$(while read -r r; do [ "$(cat $tests $rules | grep -c "$r")" -gt 1 ] || echo "$r"; done <"$dir/records")" ""

if command -v promtool >/dev/null; then
  ok "promtool check metrics reports nothing" sh -c "promtool check metrics <'$dir/text' >'$dir/said' 2>&1; rc=\$?; cat '$dir/said'; [ \$rc -eq 0 ] && ! [ -s '$dir/said' ]"
  ok "promtool accepts the rules" promtool check rules $rules
  ok "the rules fire when they should" promtool test rules $tests
else
  echo "ok $((n = n + 1)) - promtool check metrics, check rules, test rules # SKIP no promtool: make check-monitoring installs it"
fi
finish
