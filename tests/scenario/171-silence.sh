#!/bin/sh
# A silenced alert is shown and wakes nobody; the silence outlives a restart; when it ends, it is told.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

"$B/tests/http-sink" "$dir/port" "$dir/bodies" "$dir/answer" &
cleanup="kill $! 2>/dev/null"
until_ok 10 test -s "$dir/port" || exit 1
cat >"$dir/hook" <<EOF
#!/bin/sh
cat >>"$dir/hook.heard"
EOF
chmod +x "$dir/hook"
daemon_extra="on_alert = $dir/hook
[alerts]
webhook = http://127.0.0.1:$(cat "$dir/port")/"
sim_conf
start || exit 1
touch "$dir/bodies" "$dir/hook.heard"
heard() { # heard VGPU: somebody heard of it
  cat "$dir/bodies" "$dir/hook.heard" | grep -q "\"vgpu\":\"$1\""
}

sell a 40 idle
sell b 40 idle
ok "nothing silences for ever" sh -c "! '$B/gover-ctl' --socket '$sock' silence add --vgpu a --reason x"
ok "nor everything" sh -c "! '$B/gover-ctl' --socket '$sock' silence add --for 1h --reason x"
refused() { # refused BODY WORDS: with 422, and this in the reason
  api POST /v1/silences "$1" | jq -e --arg words "$2" '.status == 422 and (.detail | contains($words))'
}
day='"until": "2099-01-01T00:00:00Z"'
while IFS='|' read -r body words; do
  ok "refused: $words" refused "$body" "$words"
done <<EOF
{"vgpu": "a", "reason": "x"}|until
{"vgpu": "a", $day}|reason
{"reason": "x", "until": "4070908800"}|names an alert, a GPU or a vGPU
{"vgpu": "zz", "reason": "x", $day}|no vGPU zz
{"gpu": "zz", "reason": "x", $day}|no GPU zz
{"alert": "zz", "reason": "x", $day}|no alert named zz
{"vgpu": "a", "reason": "", $day}|reason
{"vgpu": "a", "reason": "x", "until": "1999-01-01T00:00:00Z"}|a time to come
{"vgpu": "a", "reason": "x", $day}|at most 366 days
{"vgpu": "a", "reason": "x", "until": "soon"}|until: soon
{"vgpu": "a", "reason": "x", "until": 5}|until
{"vgpu": "a", "why": "x", $day}|why
EOF
is "none of them was made" "$(get /v1/silences '.silences | length')" 0
is "a silence is made" "$(ctl silence add --vgpu a --alert contract_limit --for 2h --reason 'being moved' | sed 's/ until .*:/ until T:/')" \
  "silenced until T: 'gover-ctl silence remove 1' ends it"
load a busy
load b busy
ok "both alerts are raised" until_ok 20 that /v1/alerts '[.alerts[] | select(.name == "contract_limit") | .vgpu] | sort == ["a", "b"]'
ok "one is marked" that /v1/alerts '[.alerts[] | select(.silenced) | .vgpu] == ["a"]'
ok "in the table too" sh -c "'$B/gover-ctl' --socket '$sock' alerts | grep -E ' a .*silenced'"
ok "of the other both hear" until_ok 20 sh -c "grep -q '\"vgpu\":\"b\"' '$dir/bodies' && grep -q '\"vgpu\":\"b\"' '$dir/hook.heard'"
ok "of this one neither" sh -c "! cat '$dir/bodies' '$dir/hook.heard' | grep '\"vgpu\":\"a\"'"
stop
start || exit 1
ok "it outlives a restart" sh -c "'$B/gover-ctl' --socket '$sock' silence list | grep 'contract_limit .* being moved'"
ok "in which the alert stands, silenced" until_ok 20 that /v1/alerts '[.alerts[] | select(.silenced) | .vgpu] == ["a"]'
periods 5
ok "and wakes nobody" sh -c "! cat '$dir/bodies' '$dir/hook.heard' | grep '\"vgpu\":\"a\"'"
is "it is removed" "$(ctl silence remove 1)" "removed: silence 1"
ok "then who should hear does" until_ok 20 heard a
is "as of one just raised" "$(grep '"vgpu":"a"' "$dir/bodies" | head -n 1 | jq -r .event)" raised
is "and the next silence has the next number" "$(ctl --json silence add --gpu gpu0 --for 3 --reason y | jq .id)" 2
ok "which ends by itself" until_ok 20 that /v1/silences '.silences == []'
ok "the history has when each ended" recorded 'SELECT 1 FROM silence WHERE id = 2 AND ended_ms >= until_ms'
stop
finish
