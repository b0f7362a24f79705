#!/bin/sh
# A silenced alert is listed but not notified. A silence persists across a restart. When the silence ends, the alert
# is notified.
. "$(dirname "$0")/../lib.sh"

python3 "$top/tests/helper/http-sink.py" "$dir/port" "$dir/bodies" "$dir/answer" &
cleanup="kill $! 2>/dev/null"
until_ok 10 test -s "$dir/port" || exit 1
cat >"$dir/hook" <<EOF
#!/bin/sh
cat >>"$dir/hook.heard"
EOF
chmod +x "$dir/hook"
daemon_extra="on_alert = $dir/hook
[alerts]
webhook = http://127.0.0.1:$(cat "$dir/port")/
notify = info"
start_sim
touch "$dir/bodies" "$dir/hook.heard"

sell a 40 idle
sell b 40 idle
ok "a silence without an end is rejected" sh -c "! '$B/gover-ctl' --socket '$sock' silence add --vgpu a --reason x"
ok "a silence without a selector is rejected" sh -c "! '$B/gover-ctl' --socket '$sock' silence add --for 1h --reason x"
refused() { # refused BODY WORDS: the reply is 422 with the detail WORDS
  api POST /v1/silences "$1" | gojq -e --arg words "$2" '.status == 422 and (.detail | contains($words))'
}
day='"until": "2099-01-01T00:00:00Z"'
while IFS='|' read -r body words; do
  ok "refused: $words" refused "$body" "$words"
done <<EOF
{"vgpu": "a", "reason": "x"}|until
{"vgpu": "a", $day}|reason
{"reason": "x", "until": "4070908800"}|at least one of them is required
{"vgpu": "zz", "reason": "x", $day}|no vGPU zz
{"gpu": "zz", "reason": "x", $day}|no GPU zz
{"alert": "zz", "reason": "x", $day}|unknown alert zz
{"vgpu": "a", "reason": "", $day}|reason
{"vgpu": "a", "reason": "x", "until": "1999-01-01T00:00:00Z"}|in the future
{"vgpu": "a", "reason": "x", $day}|at most 366 days
{"vgpu": "a", "reason": "x", "until": "soon"}|until: soon
{"vgpu": "a", "reason": "x", "until": 5}|until
{"vgpu": "a", "why": "x", $day}|why
EOF
is "no rejected silence was created" "$(get /v1/silences '.silences | length')" 0
# shellcheck disable=SC2016 # the backquotes belong to the output
is "a silence is created" "$(ctl silence add --vgpu a --alert contract_limit --for 2h --reason 'being moved' | sed 's/ until [^ ]*/ until T/')" \
  'silenced until T (`gover-ctl silence remove 1` ends the silence)'
load a busy
load b busy
ok "both alerts are raised" until_ok 20 that /v1/alerts '[.alerts[] | select(.name == "contract_limit") | .vgpu] | sort == ["a", "b"]'
ok "the silenced alert is marked" that /v1/alerts '[.alerts[] | select(.silenced) | .vgpu] == ["a"]'
ok "the table of gover-ctl marks the silenced alert" sh -c "'$B/gover-ctl' --socket '$sock' alerts | grep -E ' a .*silenced'"
ok "webhook and program get the other alert" until_ok 20 sh -c "grep -q '\"vgpu\":\"b\"' '$dir/bodies' && grep -q '\"vgpu\":\"b\"' '$dir/hook.heard'"
ok "webhook and program do not get the silenced alert" sh -c "! cat '$dir/bodies' '$dir/hook.heard' | grep '\"vgpu\":\"a\"'"
restart
ok "the silence persists across a restart" sh -c "'$B/gover-ctl' --socket '$sock' silence list | grep 'contract_limit .* being moved'"
ok "the alert is active and silenced after the restart" until_ok 20 that /v1/alerts '[.alerts[] | select(.silenced) | .vgpu] == ["a"]'
periods 5
ok "the silenced alert is not notified after the restart" sh -c "! cat '$dir/bodies' '$dir/hook.heard' | grep '\"vgpu\":\"a\"'"
is "the silence is removed" "$(ctl silence remove 1)" "removed: silence 1"
ok "the webhook gets the alert after the silence" until_ok 20 grep -q '"vgpu":"a"' "$dir/bodies"
is "the first notification is a raised alert" "$(grep '"vgpu":"a"' "$dir/bodies" | head -n 1 | gojq -r .event)" raised
is "the next silence has the next id" "$(ctl --json silence add --gpu gpu0 --for 3 --reason y | gojq .id)" 2
ok "a silence expires after its duration" until_ok 20 that /v1/silences '.silences == []'
ok "the history has the end of the silence" recorded 'SELECT 1 FROM silence WHERE id = 2 AND ended_ms >= until_ms'
finish
