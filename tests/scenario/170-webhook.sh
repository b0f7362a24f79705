#!/bin/sh
# Alerts reach a webhook and the operator's programs; a receiver that is slow holds up nobody.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

"$B/tests/http-sink" "$dir/port" "$dir/bodies" "$dir/answer" &
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
update_s = 1"
sim_conf
start || exit 1

told() { # told FILTER: one of the bodies is so
  jq -es "[.[] | select($1)] | length > 0" "$dir/bodies"
}

sell a 50 busy '"vm": "win-42"'
ok "a raised alert reaches the webhook" until_ok 20 told '.event == "raised" and .alert.name == "contract_limit"'
jq -cs '[.[] | select(.event == "raised" and .alert.vgpu == "a")][0]' "$dir/bodies" >"$dir/raised"
is "with who it is about, and what to run" \
  "$(jq -r '"\(.version) \(.host) \(.alert.vgpu) \(.alert.severity) \(.next)"' "$dir/raised")" \
  "1 $(uname -n) a warning gover-ctl why a"
id=$(jq .alert.id "$dir/raised")
is "the alert is as GET /v1/alerts has it" "$(jq -c '.alert | keys' "$dir/raised")" \
  "$(get /v1/alerts '.alerts[0] | keys' | jq -c .)"
ok "its text names host, VM, vGPU and what it means" \
  jq -e ".text | contains(\"$(uname -n), warning, VM win-42: vGPU a uses\") and contains(\"the customer needs a larger one\")" "$dir/raised"
# shellcheck disable=SC2046 # words
ok "the command it names runs" ctl $(jq -r .next "$dir/raised" | cut -d ' ' -f 2-)
ok "newer numbers are an update of the same alert" until_ok 30 told ".event == \"updated\" and .alert.id == $id"
api POST "/v1/alerts/$id/ack" >/dev/null
ok "so is that somebody looks after it" until_ok 10 told ".event == \"acknowledged\" and .alert.id == $id and .alert.acked_at != null"
load a idle
ok "and its end" until_ok 30 told ".event == \"cleared\" and .alert.id == $id and .alert.cleared_at != null"
heard() { sed -n 's/^[a-z]* a {/{/p' "$dir/on_alert.heard" | jq -es "map(.event) | index(\"$1\") != null"; }
ok "the program hears the same on its standard input" until_ok 20 heard raised
ok "to the end" until_ok 20 heard cleared
ok "an offer is told to its program" until_ok 30 grep -q '^open  {.*"offer":{' "$dir/on_offer.heard"
ok "the secret of the address is not in the log" sh -c "! grep s3cret '$dir/log'"

# --- a receiver that says nothing ---
echo hang >"$dir/answer"
sent=$(wc -l <"$dir/bodies")
load a busy
ok "the next alert is on its way" until_ok 20 sh -c "[ \$(wc -l <'$dir/bodies') -gt $sent ]"
ok "the history answers meanwhile" that /v1/vgpus/a/history '.points | length > 0'
ok "so do contracts" that /v1/vgpus '.vgpus | length == 1'
ok "and the loop goes on" periods 20
kill "$sink"
ok "a receiver that is gone is an alert of its own" until_ok 60 alerts 1 webhook_failing
ok "of which the program hears" until_ok 10 grep -q 'webhook_failing' "$dir/on_alert.heard"
stop
is "nothing of it holds up the end" "$stopped" 0
finish
