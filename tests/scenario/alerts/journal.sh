#!/bin/sh
# The journal: every message id has a catalog entry, and messages are found by their fields in a real journald.
if [ "${1-}" = inside ]; then # inside DAEMON CONFIG DIR: runs the test with a private journald and /run
  mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/journal /run/log/journal || exit 1
  mkdir "$4/explanations" && mount --bind "$4/explanations" /var/lib/systemd/catalog || exit 1
  cp "$4/root/var/lib/systemd/catalog/database" /var/lib/systemd/catalog/ || exit 1
  /lib/systemd/systemd-journald >/dev/null 2>&1 &
  journald=$!
  for _ in 1 2 3 4 5 6 7 8 9 10; do [ -S /run/systemd/journal/stdout ] || sleep 0.2; done
  # systemd sets JOURNAL_STREAM for a service; systemd-cat does not, so the test sets it.
  # shellcheck disable=SC2016 # of the inner shell
  systemd-cat sh -c 'export JOURNAL_STREAM="$(stat -L -c %d:%i /proc/self/fd/2)"; exec "$0" --config "$1"' "$2" "$3" &
  daemon=$!
  rest() { curl -sf -o /dev/null --unix-socket "$dir/gover.sock" -H 'Content-Type: application/json' -X "$1" ${3+-d "$3"} "http://g$2"; }
  dir=$4
  journal() { journalctl -q -D /run/log/journal "$@"; }
  waits() { # waits FIELD=VALUE...: until such a message is in the journal
    for _ in $(seq 150); do
      journal -o json "$@" | grep -q . && return
      sleep 0.2
    done
    echo "no message $*" >>"$dir/missing"
  }
  for _ in $(seq 100); do
    if rest GET /readyz; then break; fi
    sleep 0.2
  done
  rest POST /v1/vgpus '{"id": "a", "initial_cap_pct": 50, "vm": "win-1", "labels": {"workload": "busy"}}'
  until=$(date -u -d '+1 hour' +%Y-%m-%dT%H:%M:%SZ)
  silence=$(curl -sf --unix-socket "$dir/gover.sock" -H 'Content-Type: application/json' \
    -d "{\"alert\": \"fps_missing\", \"until\": \"$until\", \"reason\": \"test\"}" http://g/v1/silences | gojq .id)
  rest POST /v1/vgpus '{"id": "b", "initial_cap_pct": 20, "target_fps": 60, "labels": {"workload": "load:pct=5"}}'
  waits GOVER_ALERT=contract_limit GOVER_VGPU=a
  waits GOVER_ALERT=fps_missing GOVER_VGPU=b
  journal -o json GOVER_ALERT=contract_limit GOVER_VGPU=a >"$dir/alert"
  # A host alert, which concerns no vGPU: raised, acknowledged, cleared.
  waits GOVER_ALERT=tokens_unreadable
  # A silenced alert whose silence ends is updated.
  rest DELETE "/v1/silences/$silence"
  waits MESSAGE_ID=24519901a03b4f6f9535ba9c16b92cac
  for alert in $(curl -sf --unix-socket "$dir/gover.sock" http://g/v1/alerts | gojq '.alerts[].id'); do
    rest POST "/v1/alerts/$alert/ack"
  done
  rest PATCH /v1/policy '{"overload_pct": 90}'
  rm "$dir/state/tokens.json"
  rest PATCH /v1/vgpus/a '{"labels": {"workload": "idle"}}'
  waits GOVER_ALERT=tokens_unreadable MESSAGE_ID=cdf0b878aa9c4d2687731f1920b90c99
  waits MESSAGE_ID=89fce286d43542cc9c5c8c2a7533281e # an offer
  waits MESSAGE_ID=4358457eb18e4fda86eefdd6a89fb13e # a hook
  waits MESSAGE_ID=b5c50f9dd1ad46b897092b03a7fe81e8 # the webhook
  kill "$daemon"
  wait "$daemon"
  journalctl --sync 2>/dev/null
  journal -o json GOVER_DECISION=add >"$dir/decision"
  journal -o cat _COMM=gover-d >"$dir/all"
  journal -o json _COMM=gover-d >"$dir/messages"
  journal -x --no-hostname _COMM=gover-d >"$dir/explained"
  kill "$journald"
  exit 0
fi
. "$(dirname "$0")/../lib.sh"

sed -n '/log_kind_id/,/^}/s/.*"\([0-9a-f]\{32\}\)".*/\1/p' "$top/gover-d/util/log.c" | sort >"$dir/program"
sed -n 's/^-- //p' "$top/dist/gover.catalog" | sort >"$dir/catalog"
ok "the catalog has exactly the message ids of the daemon" cmp "$dir/program" "$dir/catalog"
if command -v journalctl >/dev/null; then
  mkdir -p "$dir/root/usr/lib/systemd/catalog" "$dir/root/var/lib/systemd/catalog"
  cp "$top/dist/gover.catalog" "$dir/root/usr/lib/systemd/catalog/"
  ok "journalctl compiles the catalog without a warning" sh -c "journalctl --root='$dir/root' --update-catalog >'$dir/said' 2>&1 && ! [ -s '$dir/said' ]"
  is "the compiled catalog has all entries" "$(journalctl --root="$dir/root" --list-catalog | wc -l)" "$(wc -l <"$dir/program")"
else
  echo "ok $((n = n + 1)) - journalctl compiles the catalog # SKIP no journalctl"
fi

if [ "$(id -u)" -ne 0 ] || [ ! -x /lib/systemd/systemd-journald ] || ! unshare -mn --propagation private true 2>/dev/null; then
  echo "ok $((n = n + 1)) - a real journald # SKIP needs root, namespaces and systemd-journald"
  finish
fi
conf_extra="[alerts]
webhook = http://127.0.0.1:9/
webhook_timeout_s = 1"
daemon_extra="on_alert = /bin/false" sim_conf
mkdir -p "$dir/state"
echo '{"version": 1, "tokens": [{}]}' >"$dir/state/tokens.json"
unshare -mn --propagation private "$0" inside "$B/gover-d" "$conf" "$dir" >"$dir/log" 2>&1
ok "all kinds of messages are in the journal" test ! -e "$dir/missing"
ok "an alert is found by vGPU and name" test -s "$dir/alert"
is "the entry has VM, GPU, message id and priority" \
  "$(head -n 1 "$dir/alert" | gojq -r '"\(.GOVER_VM) \(.GOVER_GPU) \(.MESSAGE_ID) \(.PRIORITY) \(.SYSLOG_IDENTIFIER)"')" \
  "win-1 gpu0 d8f391f60b4e44f3a14ad981729aa97b 4 gover-d"
is "the entry has its subject and the next command as words" "$(head -n 1 "$dir/alert" | gojq -r '"\(.GOVER_SUBJECT); \(.GOVER_NEXT)"')" \
  "vGPU a on GPU gpu0, virtual machine win-1; gover-ctl why a"
ok "a decision is found by its kind" gojq -se 'any(.[]; .GOVER_VGPU == "a")' "$dir/decision"
ok "a message without an id is in the journal once" test "$(grep -c 'ready on' "$dir/all")" -eq 1

# Each field in an entry of the catalog is set in every message of its kind.
awk '/^-- /{id = $2} {line = $0; while (match(line, /@[A-Z_]+@/)) {print id, substr(line, RSTART + 1, RLENGTH - 2); line = substr(line, RSTART + RLENGTH)}}' \
  "$top/dist/gover.catalog" | sort -u >"$dir/fields"
while read -r id field; do
  gojq -r --arg id "$id" --arg field "$field" 'select(.MESSAGE_ID == $id) | if (.[$field] // "") == "" then "empty" else "set" end' \
    "$dir/messages" | sort | uniq -c | sed "s/^/$id $field /"
done <"$dir/fields" >"$dir/counts"
ok "every message has the fields of its catalog entry" sh -c "test -s '$dir/counts' && ! grep ' empty\$' '$dir/counts'"
sed 's/^/# /' "$dir/counts"
is "every entry with fields was tested" "$(awk '{print $1, $2}' "$dir/fields" | tr '\n' ' ')" \
  "$(awk '{print $1, $2}' "$dir/counts" | sort -u | tr '\n' ' ')"
ok "journalctl -x explains an alert of the host" grep -q 'The alert concerns the whole host\.' "$dir/explained"
ok "journalctl -x explains an alert without a virtual machine" grep -q 'The alert concerns vGPU b on GPU gpu0\.' "$dir/explained"
ok "journalctl -x names the next command" grep -q "The next command is 'gover-ctl why a'" "$dir/explained"
ok "journalctl -x shows no empty name" sh -c "test -s '$dir/explained' && ! grep -nE \"vGPU +(on|\\.|,)|GPU +(,|\\.)|machine *\$|''|why '|@\" '$dir/explained'"
finish
