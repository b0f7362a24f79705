#!/bin/sh
# Server-sent events: kinds, resuming by id, also over a restart, and slow clients that do not delay the daemon.
. "$(dirname "$0")/../lib.sh"

conf_extra=$unfunded
start_sim
followers=''
# shellcheck disable=SC2016,SC2034 # for the end
cleanup='for p in $followers; do kill -KILL $p 2>/dev/null; done'
follow() { # follow FILE QUERY [CURL-ARGUMENT...]: follows events in the background into $dir/FILE
  file=$dir/$1 query=$2
  shift 2
  curl -sSN --unix-socket "$sock" "$@" "http://gover/v1/events$query" >"$file" 2>&1 &
  followers="$followers $!"
  until_ok 20 test -s "$file"
}
heard() { # heard FILE KIND FILTER: succeeds if an event of that kind matches the filter
  awk -v kind="$2" '/^event: / {now = $2} /^data: / && now == kind {print substr($0, 7)}' "$dir/$1" | gojq -e "select($3)" | grep -q .
}

is "an unknown kind is rejected" "$(curl -sS --unix-socket "$sock" -o "$dir/body" -w '%{http_code}' 'http://gover/v1/events?kinds=all')" 400
ok "a client follows all events" follow all ''
ok "another client follows decisions and changes" follow some '?kinds=decision,change'
sell a 80
sell b 50 load:pct=95
ok "a sale is an event" until_ok 20 heard all decision '.kind == "add" and .vgpu == "a" and .why != ""'
ok "a change is an event" until_ok 20 heard all change '.what == "vgpu" and .id == "a"'
ok "each period is an event with all vGPUs" until_ok 20 heard all tick '.vgpus | map(.id) == ["a", "b"]'
ok "a tick has the fields of the list" test "$(awk '/^event: tick/ {getline; t = $0} END {print substr(t, 7)}' "$dir/all" | gojq -c '.vgpus[0] | keys')" = \
  "$(get /v1/vgpus '.vgpus[0] | keys | tojson')"
ok "a steal is an event" until_ok 60 heard all decision '.kind == "steal" and .vgpu == "b" and (.moves | length) == 2'
api PATCH /v1/gpus/gpu0 '{"selling": "off"}' >/dev/null
ok "a change of a GPU is an event" until_ok 20 heard all change '.what == "gpu" and .id == "gpu0"'
api PATCH /v1/policy '{"overload_pct": 94}' >/dev/null
ok "a change of the policy is an event" until_ok 20 heard all change '.what == "policy" and .id == null'
load a load:pct=95
ok "an alert is an event" until_ok 60 heard all alert '.name and .raised_at'
ok "a client receives only the requested kinds" test "$(sed -n 's/^event: //p' "$dir/some" | sort -u | tr '\n' ' ')" = "change decision "
is "ids increase by one" "$(sed -n 's/^id: .*-//p' "$dir/all" | awk 'NR > 1 && $1 != last + 1 {n++} {last = $1} END {print n + 0}')" 0

first=$(sed -n 's/^id: //p' "$dir/all" | sed -n 2p)
ok "a client resumes with Last-Event-ID" follow again "" -H "Last-Event-ID: $first"
second=$(sed -n 's/^id: //p' "$dir/all" | sed -n 3p)
ok "it receives the next event" until_ok 20 grep -q "^id: $second\$" "$dir/again"
ok "it loses no event" test "$(grep -c '^event: lost' "$dir/again")" = 0
ok "a client resumes with the parameter after" follow param "?after=$first&kinds=decision,change,alert,offer"
ok "it receives the same events" until_ok 20 grep -q "^id: $second\$" "$dir/param"

stop
is "the daemon stops while clients follow" "$stopped" 0
start || exit 1
ok "a client resumes at the next run" follow later "?after=$first"
ok "it receives the event lost" until_ok 20 heard later lost ".after == \"$first\""
api PATCH /v1/vgpus/a '{"weight": 3}' >/dev/null
ok "it receives new events" until_ok 20 heard later decision '.kind == "set" and .vgpu == "a"'
finish
