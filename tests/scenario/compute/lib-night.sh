#!/bin/sh
# Follows docs/runbook/telemetry_stale.md when an arbiter was stopped or killed: from the message of a webhook to cause and fix.
# shellcheck disable=SC2154 # variables of lib.sh
. "$(dirname "$0")/../libgpu.sh"

receive_webhook
# shellcheck disable=SC2034 # read by libgpu.sh
conf_extra=$daemon_extra
cleanup="$cleanup; end_lib"
start_lib
run a 50 --us 1000 --depth 4
ok "a program computes" until_ok 30 that /v1/vgpus/a '.units > 100'

heard() { # heard EVENT N: the webhook has received the event of telemetry_stale N times
  [ "$(gojq -s "[.[] | select(.event == \"$1\" and .alert.name == \"telemetry_stale\")] | length" "$dir/bodies")" = "$2" ]
}
listed() { # the command of the page, for the arbiter of this test
  echo '$ ps -C gover-arbiter -o pid,stat,args'
  # shellcheck disable=SC2009 # pgrep does not print the state
  ps -C gover-arbiter -o pid,stat,args | grep -e PID -e "$socket" | tee "$dir/said"
}

first=$(arbiter)
kill -STOP "$first"
ok "the webhook receives the alert" until_ok 30 heard raised 1
message=$(gojq -cs '[.[] | select(.alert.name == "telemetry_stale")][0]' "$dir/bodies")
echo "$message" | gojq . | sed 's/^/# /'
is "the message contains the next command" "$(echo "$message" | gojq -r .next)" "gover-ctl doctor"
{ echo '$ gover-ctl doctor' && ctl doctor; } >"$dir/said"
sed 's/^/# /' "$dir/said"
ok "1: gover-ctl doctor names the GPU" grep -q '^fail  gpus .*GPU gpu0' "$dir/said"
listed | sed 's/^/# /'
ok "2: ps shows a stopped arbiter" grep -qE "^ *$first T" "$dir/said"
kill -CONT "$first"
ok "3: kill -CONT ends the alert" until_ok 30 heard cleared 1
is "the arbiter is the same" "$(arbiter)" "$first"

kill -STOP "$first"
ok "the alert is raised again" until_ok 30 heard raised 2
kill -KILL "$first"
ok "3: kill -KILL ends the alert, too" until_ok 30 heard cleared 2
second=$(arbiter)
ok "the daemon has started another arbiter" test -n "$second" -a "$second" != "$first"
listed | sed 's/^/# /'
ok "ps shows that it runs" grep -qE "^ *$second [SR]" "$dir/said"
{ echo '$ gover-ctl vgpu list' && ctl vgpu list; } | sed 's/^/# /'
ok "the vGPU has its cap" that /v1/vgpus/a '.cap_pct == 50 and .util_pct != null'

units=$(get /v1/vgpus/a .units)
kill -KILL "$second"
replaced() {
  third=$(arbiter)
  [ -n "$third" ] && [ "$third" != "$second" ]
}
ok "an arbiter that was only killed is replaced" until_ok 20 replaced
ok "the program computes in its turns" until_ok 20 that /v1/vgpus/a ".units > $units and .util_pct != null"
ok "without an alert" heard raised 2

is "the page of the alert contains the commands" \
  "$(grep -cE '^    \$ (gover-ctl doctor|ps -C gover-arbiter -o pid,stat,args|kill -(CONT|KILL) [0-9]+)$' "$top/docs/runbook/telemetry_stale.md")" 4
finish
