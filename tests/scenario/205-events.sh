#!/bin/sh
# What happens, told as it happens: kinds, resuming by an id, over a restart too, and readers who keep nobody waiting.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

sim_conf
start || exit 1
followers=''
# shellcheck disable=SC2016,SC2034 # for the end
cleanup='for p in $followers; do kill -KILL $p 2>/dev/null; done'
follow() { # follow FILE QUERY [CURL-ARGUMENT...]: in the background, into $dir/FILE
  file=$dir/$1 query=$2
  shift 2
  curl -sSN --unix-socket "$sock" "$@" "http://gover/v1/events$query" >"$file" 2>&1 &
  followers="$followers $!"
  until_ok 20 test -s "$file"
}
heard() { # heard FILE KIND FILTER: an event of that kind whose data is such
  awk -v kind="$2" '/^event: / {now = $2} /^data: / && now == kind {print substr($0, 7)}' "$dir/$1" | jq -e "select($3)" | grep -q .
}

is "a wrong kind is refused" "$(curl -sS --unix-socket "$sock" -o "$dir/body" -w '%{http_code}' 'http://gover/v1/events?kinds=all')" 400
ok "somebody follows" follow all ''
ok "and somebody else, only decisions and changes" follow some '?kinds=decision,change'
sell a 80
sell b 50 load:pct=95
ok "a sale is told" until_ok 20 heard all decision '.kind == "add" and .vgpu == "a" and .why != ""'
ok "and what is to be read anew" until_ok 20 heard all change '.what == "vgpu" and .id == "a"'
ok "periods are told with every vGPU" until_ok 20 heard all tick '.vgpus | map(.id) == ["a", "b"]'
ok "in the words of the list" test "$(awk '/^event: tick/ {getline; t = $0} END {print substr(t, 7)}' "$dir/all" | jq -c '.vgpus[0] | keys')" = \
  "$(get /v1/vgpus '.vgpus[0] | keys | tojson')"
ok "a steal is told" until_ok 30 heard all decision '.kind == "steal" and .vgpu == "b" and (.moves | length) == 2'
api PATCH /v1/gpus/gpu0 '{"selling": "off"}' >/dev/null
ok "a GPU that was changed" until_ok 20 heard all change '.what == "gpu" and .id == "gpu0"'
api PATCH /v1/policy '{"overload_pct": 94}' >/dev/null
ok "and the policy" until_ok 20 heard all change '.what == "policy" and .id == null'
load a load:pct=95
ok "an alert is told" until_ok 60 heard all alert '.name and .raised_at'
ok "who wants few kinds gets those alone" test "$(sed -n 's/^event: //p' "$dir/some" | sort -u | tr '\n' ' ')" = "change decision "
is "ids grow by one" "$(sed -n 's/^id: .*-//p' "$dir/all" | awk 'NR > 1 && $1 != last + 1 {n++} {last = $1} END {print n + 0}')" 0

first=$(sed -n 's/^id: //p' "$dir/all" | sed -n 2p)
ok "who comes back gets what he missed" follow again "" -H "Last-Event-ID: $first"
second=$(sed -n 's/^id: //p' "$dir/all" | sed -n 3p)
ok "from the very next on" until_ok 20 grep -q "^id: $second\$" "$dir/again"
ok "and nothing was lost" test "$(grep -c '^event: lost' "$dir/again")" = 0
ok "by a parameter as well" follow param "?after=$first&kinds=decision,change,alert,offer"
ok "with the same events" until_ok 20 grep -q "^id: $second\$" "$dir/param"

stop
is "the daemon ends while they follow" "$stopped" 0
start || exit 1
ok "who comes back to another run" follow later "?after=$first"
ok "is told that some are lost" until_ok 20 heard later lost ".after == \"$first\""
api PATCH /v1/vgpus/a '{"weight": 3}' >/dev/null
ok "and hears what happens now" until_ok 20 heard later decision '.kind == "set" and .vgpu == "a"'
stop
is "it ends well" "$stopped" 0
finish
