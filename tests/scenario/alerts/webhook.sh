#!/bin/sh
# Alerts reach a webhook and the operator's programs; a hanging receiver does not block the daemon.
. "$(dirname "$0")/../lib.sh"

python3 "$top/tests/helper/http-sink.py" "$dir/port" "$dir/bodies" "$dir/answer" &
sink=$!
cleanup="kill $sink 2>/dev/null"
until_ok 10 test -s "$dir/port" || exit 1
for hook in alert offer migrate; do
  cat >"$dir/on_$hook" <<EOF
#!/bin/sh
echo "\$GOVER_EVENT \$GOVER_VGPU \$(cat)" >>"$dir/on_$hook.heard"
EOF
  chmod +x "$dir/on_$hook"
done
daemon_extra="on_alert = $dir/on_alert
on_offer = $dir/on_offer
on_migrate = $dir/on_migrate
[alerts]
webhook = http://127.0.0.1:$(cat "$dir/port")/alerts?token=s3cret
webhook_timeout_s = 60
notify = info
update_s = 1"
start_sim

received() { # received FILTER: succeeds if FILTER is true for one of the bodies
  gojq -es "[.[] | select($1)] | length > 0" "$dir/bodies"
}

sell a 50 busy '"vm": "win-42"'
ok "a raised alert reaches the webhook" until_ok 20 received '.event == "raised" and .alert.name == "contract_limit"'
gojq -cs '[.[] | select(.event == "raised" and .alert.vgpu == "a")][0]' "$dir/bodies" >"$dir/raised"
is "the message has the vGPU, the severity and the next command" \
  "$(gojq -r '"\(.version) \(.host) \(.alert.vgpu) \(.alert.severity) \(.next)"' "$dir/raised")" \
  "1 $(uname -n) a info gover-ctl why a"
id=$(gojq .alert.id "$dir/raised")
is "the alert has the same members as in GET /v1/alerts" "$(gojq -c '.alert | keys' "$dir/raised")" \
  "$(get /v1/alerts '.alerts[0] | keys' | gojq -c .)"
ok "its text contains host, VM, vGPU and meaning" \
  gojq -e ".text | contains(\"$(uname -n), info, VM win-42: vGPU a uses\") and contains(\"the customer may want a larger contract\")" "$dir/raised"
# shellcheck disable=SC2046 # words
ok "the next command works" ctl $(gojq -r .next "$dir/raised" | cut -d ' ' -f 2-)
ok "changed numbers are sent as an update" until_ok 30 received ".event == \"updated\" and .alert.id == $id"
api POST "/v1/alerts/$id/ack" >/dev/null
ok "an acknowledgement is sent" until_ok 10 received ".event == \"acknowledged\" and .alert.id == $id and .alert.acked_at != null"
load a idle
ok "the clearing is sent" until_ok 30 received ".event == \"cleared\" and .alert.id == $id and .alert.cleared_at != null"
program_got() { sed -n 's/^[a-z]* a {/{/p' "$dir/on_alert.heard" | gojq -es "map(.event) | index(\"$1\") != null"; }
ok "the operator's program gets the message on its standard input" until_ok 20 program_got raised
ok "the program gets the clearing too" until_ok 20 program_got cleared
ok "an offer is passed to its program" until_ok 30 grep -q '^open  {.*"offer":{' "$dir/on_offer.heard"
ok "the secret in the URL is not logged" sh -c "! grep s3cret '$dir/log'"

# --- a receiver that does not reply ---
echo hang >"$dir/answer"
sent=$(wc -l <"$dir/bodies")
load a busy
ok "the next alert is being sent" until_ok 20 sh -c "[ \$(wc -l <'$dir/bodies') -gt $sent ]"
ok "a hanging receiver does not delay the history" that /v1/vgpus/a/history '.points | length > 0'
ok "a hanging receiver does not delay other requests" that /v1/vgpus '.vgpus | length == 1'
ok "a hanging receiver does not stop ticks" periods 20
kill "$sink"
ok "an unreachable receiver raises an alert" until_ok 60 alerts 1 webhook_failing
ok "the alert is passed to the program" until_ok 10 grep -q 'webhook_failing' "$dir/on_alert.heard"
finish
