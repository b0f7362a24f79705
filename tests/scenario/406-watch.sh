#!/bin/sh
# gover-ctl watch: what happens in lines, as it happens, over a daemon that goes and comes back.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

sim_conf
watchers=''
# shellcheck disable=SC2016,SC2034 # for the end
cleanup='for p in $watchers; do kill -KILL $p 2>/dev/null; done'
watch() { # watch FILE [OPTION...]: in the background, into $dir/FILE and $dir/FILE.err
  file=$dir/$1
  shift
  "$B/gover-ctl" --socket "$sock" watch "$@" >"$file" 2>"$file.err" &
  watchers="$watchers $!"
  last=$!
}
told() { grep -qE "$2" "$dir/$1"; } # told FILE PATTERN
heard() { jq -e "select($2)" "$dir/$1" | grep -q .; } # heard FILE FILTER

ctl watch >"$dir/out" 2>&1
is "without a daemon it says so" $? 3
start || exit 1
ctl watch --kinds all >"$dir/out" 2>&1
is "a wrong kind is refused" $? 1
ok "by name" grep -q 'kinds: all is not allowed' "$dir/out"
ctl watch --kinds 'a&b' >"$dir/out" 2>&1
is "or is no kind at all" $? 2

watch lines
watch json --json
watch ticks --kinds tick
ok "ticks are a line each" until_ok 20 told ticks '^[0-9T:-]*Z  tick: 0 vGPUs, load 0\.0 %, 0 overloaded, 0 broken$'
tell() { api PATCH /v1/gpus/gpu0 '{"selling": "off"}' >/dev/null; }
followed() { tell && told lines change && heard json '.event == "change"'; } # until both are there
ok "both watch" until_ok 20 followed
sell a 60
ok "a sale is told with its why" until_ok 20 told lines '^[0-9T:-]*Z  decision [0-9]+ add a: vGPU a is sold 60 % .* \[written'
ok "and what is changed" until_ok 20 told lines '^[0-9T:-]*Z  change vgpu a$'
ok "as objects too" until_ok 20 heard json '.event == "decision" and .data.kind == "add" and (.id | test("^[0-9a-f]+-[0-9]+$"))'
load a load:pct=95
ok "an alert is told" until_ok 60 told lines '^[0-9T:-]*Z  alert [0-9]+ warning contract_limit raised: vGPU a '
ok "no line is anything else" test "$(grep -cvE '^[0-9T:-]*Z  (decision|alert|offer|change) ' "$dir/lines")" = 0

seen=$(grep -c decision "$dir/lines")
stop
ok "that the daemon is away is said" until_ok 20 grep -q 'is away; trying again' "$dir/lines.err"
start || exit 1
api PATCH /v1/vgpus/a '{"weight": 2}' >/dev/null
ok "when it is back, what is lost is said" until_ok 20 told lines '^[0-9T:-]*Z  lost: '
ok "and what was decided meanwhile told" until_ok 20 told lines 'decision [0-9]+ set a: the contract of vGPU a'
ok "as objects too" until_ok 20 heard json '.event == "decision" and .data.kind == "set" and .data.vgpu == "a"'
sell b 30
ok "it goes on" until_ok 20 told lines 'decision [0-9]+ add b: '
ok "more was told than before" test "$(grep -c decision "$dir/lines")" -gt "$seen"
is "no decision twice" "$(sed -n 's/.*  decision \([0-9]*\) .*/\1/p' "$dir/lines" | sort | uniq -d)" ""
is "it is said once that the daemon was away" "$(grep -c away "$dir/lines.err")" 1
kill "$last"
wait "$last"
is "a signal ends it" $? 143
head_of() { timeout 60 "$B/gover-ctl" --socket "$sock" watch --kinds tick | head -n 2 | grep -c tick; }
is "so does whoever reads no more" "$(head_of)" 2
stop
finish
