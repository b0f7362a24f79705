#!/bin/sh
# gover-ctl watch: events, one per line, across a restart of the daemon.
. "$(dirname "$0")/../lib.sh"

sim_conf
watchers=''
# shellcheck disable=SC2016,SC2034 # expanded at the end
cleanup='for p in $watchers; do kill -KILL $p 2>/dev/null; done'
watch() { # watch FILE [OPTION...]: runs watch in the background with its output in $dir/FILE and $dir/FILE.err
  file=$dir/$1
  shift
  "$B/gover-ctl" --socket "$sock" watch "$@" >"$file" 2>"$file.err" &
  watchers="$watchers $!"
  last=$!
}
has_line() { grep -qE "$2" "$dir/$1"; } # has_line FILE PATTERN
has_object() { gojq -e "select($2)" "$dir/$1" | grep -q .; } # has_object FILE FILTER

ctl watch >"$dir/out" 2>&1
is "without a daemon watch exits with 3" $? 3
start || exit 1
ctl watch --kinds all >"$dir/out" 2>&1
is "an unknown kind is rejected" $? 1
ok "the error names the kind" grep -q 'kinds: all is invalid' "$dir/out"
ctl watch --kinds 'a&b' >"$dir/out" 2>&1
is "characters outside names are rejected" $? 2

watch lines
watch json --json
watch ticks --kinds tick
ok "each tick is a line" until_ok 20 has_line ticks '^[0-9T:-]*Z  tick: 0 vGPUs, load 0\.0 %, 0 overloaded, 0 broken$'
trigger() { api PATCH /v1/gpus/gpu0 '{"selling": "off"}' >/dev/null; }
followed() { trigger && has_line lines change && has_object json '.event == "change"'; } # a client prints only changes after its connection, so the change is repeated
ok "both print a change" until_ok 20 followed
sell a 60
ok "a decision has its reason" until_ok 20 has_line lines '^[0-9T:-]*Z  decision [0-9]+ add a: vGPU a was sold with 60 % .* \[written'
ok "a change has the resource" until_ok 20 has_line lines '^[0-9T:-]*Z  change vgpu a$'
ok "--json prints them as objects" until_ok 20 has_object json '.event == "decision" and .data.kind == "add" and (.id | test("^[0-9a-f]+-[0-9]+$"))'
load a load:pct=95
ok "an alert is printed" until_ok 60 has_line lines '^[0-9T:-]*Z  alert [0-9]+ info contract_limit raised: vGPU a '
ok "no other lines are printed" test "$(grep -cvE '^[0-9T:-]*Z  (decision|alert|offer|change) ' "$dir/lines")" = 0

seen=$(grep -c decision "$dir/lines")
stop
ok "a lost connection is reported" until_ok 20 grep -q 'no connection to .*; retrying' "$dir/lines.err"
start || exit 1
api PATCH /v1/vgpus/a '{"weight": 2}' >/dev/null
ok "lost events are reported" until_ok 20 has_line lines '^[0-9T:-]*Z  lost: '
ok "decisions made during the interruption are printed" until_ok 20 has_line lines 'decision [0-9]+ set a: the contract of vGPU a'
ok "--json prints them as objects" until_ok 20 has_object json '.event == "decision" and .data.kind == "set" and .data.vgpu == "a"'
sell b 30
ok "new events are printed" until_ok 20 has_line lines 'decision [0-9]+ add b: '
ok "more decisions than before are printed" test "$(grep -c decision "$dir/lines")" -gt "$seen"
is "no decision is printed twice" "$(sed -n 's/.*  decision \([0-9]*\) .*/\1/p' "$dir/lines" | sort | uniq -d)" ""
is "the lost connection is reported once" "$(grep -c retrying "$dir/lines.err")" 1
kill "$last"
wait "$last"
is "a signal kills it" $? 143
head_of() { timeout 60 "$B/gover-ctl" --socket "$sock" watch --kinds tick | head -n 2 | grep -c tick; }
is "watch ends when its output is closed" "$(head_of)" 2
finish
