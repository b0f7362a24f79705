#!/bin/sh
# Each change that was answered with 2xx has exactly one row in the audit log: after kill -9 right after the answer, and
# while another program has locked the database. If the history writes no rows, changes end with 507 at a limit.
. "$(dirname "$0")/../lib.sh"

python=python3
[ -x /usr/bin/python3 ] && python=/usr/bin/python3
"$python" -c 'import sqlite3' 2>/dev/null || skip_all "no python3 with sqlite3 here"
conf_extra="[gpu gpu1]
backend = sim
speed = 10
root = $dir/poke1
[offer]
flavor_cap_pct = 10
ttl_s = 86400
probation_s = 1"
mkdir "$dir/poke1"
start_sim

later=$(date -u -d '+1 day' +%Y-%m-%dT%H:%M:%SZ)
: >"$dir/expected"
change() { # change METHOD PATH [BODY]: a change that must be answered with 2xx
  api "$@" >"$dir/answer"
  echo "$1 $2 $(status)" >>"$dir/expected"
  case $(status) in 2*) ;; *) echo "# $1 $2: $(status) $(cat "$dir/body")" ;; esac
}
rows() { get '/v1/audit?limit=1000' ".audit[] | \"\\(.method) \\(.path) \\(.status // \"$1\")\""; }
wrong() { # wrong: prints each change without exactly one row, and each row without a change
  rows '*' | sed 's/ [^ ]*$//' | sort >"$dir/rows"
  sed 's/ [^ ]*$//' "$dir/expected" | sort | diff - "$dir/rows" | grep '^[<>]'
}
cat >"$dir/kill.py" <<'END'
import http.client, os, signal, socket, sys
path, pid, method, target, body = sys.argv[1:]
connection = http.client.HTTPConnection("gover")
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.connect(path)
connection.request(method, target, body or None, {"Content-Type": "application/json"} if body else {})
status = connection.sock.recv(12).split()[1].decode()
os.kill(int(pid), signal.SIGKILL)
print(status)
END
kill_after() { # kill_after METHOD PATH [BODY]: kill -9 as soon as the status of the answer is there
  killed=$("$python" "$dir/kill.py" "$sock" "$daemon_pid" "$1" "$2" "${3-}")
  echo "$1 $2 $killed" >>"$dir/expected"
  stop KILL
  start || exit 1
}
offer_of() { get /v1/offers "[.offers[] | select(.gpu == \"$1\" and .state == \"open\")][0].id // 0"; }
has_offer() { [ "$(offer_of "$1")" != 0 ]; }
alert_of() { get /v1/alerts '[.alerts[] | select(.name == "foreign_write" and .acked_at == null)][0].id // 0'; }
has_alert() { # writes a cap as another program does
  [ "$(alert_of)" != 0 ] || { echo "$1" >"$dir/poke/a.cap" && return 1; }
}

# --- kill -9 after each kind of change ---

change POST /v1/vgpus '{"id": "a", "gpu": "gpu0", "initial_cap_pct": 30}'
i=0
while [ $i -lt 2 ]; do
  i=$((i + 1))
  kill_after POST /v1/vgpus "{\"id\": \"b$i\", \"gpu\": \"gpu1\", \"initial_cap_pct\": 5}"
  kill_after PATCH /v1/vgpus/a "{\"target_fps\": $i}"
  kill_after PATCH /v1/vgpus/a/contract "{\"weight\": $((1 + i))}"
  kill_after PATCH /v1/vgpus/a "{\"held\": true, \"held_cap_pct\": $((10 + i))}"
  ok "an alert is raised" until_ok 60 has_alert $((20 + i))
  kill_after POST "/v1/alerts/$(alert_of)/ack"
  kill_after PATCH /v1/vgpus/a '{"held": false}'
  kill_after PATCH /v1/gpus/gpu1 '{"mode": "frozen"}'
  kill_after PATCH /v1/gpus/gpu1 '{"mode": "act"}'
  kill_after DELETE "/v1/vgpus/b$i"
  kill_after POST /v1/silences "{\"vgpu\": \"a\", \"until\": \"$later\", \"reason\": \"r\"}"
  kill_after DELETE "/v1/silences/$(get /v1/silences '.silences[0].id')"
  ok "offers are open" until_ok 60 has_offer gpu0
  kill_after POST "/v1/offers/$(offer_of gpu0)/hold" "{\"holder\": \"vm\", \"ttl_s\": $((600 - i))}"
  ok "offers are open" until_ok 60 has_offer gpu1
  offer=$(offer_of gpu1)
  kill_after POST "/v1/offers/$offer/claim" "{\"id\": \"c$i\"}"
  kill_after DELETE "/v1/vgpus/c$i"
  ok "offers are open" until_ok 60 has_offer gpu1
  kill_after DELETE "/v1/offers/$(offer_of gpu1)"
  kill_after PATCH /v1/policy "{\"probation_s\": $((1 + i))}"
  kill_after POST /v1/tokens "{\"name\": \"t$i\", \"scope\": \"read\"}"
  kill_after DELETE "/v1/tokens/t$i"
done
is "all changes were accepted" "$(grep -cv ' 20[014]$' "$dir/expected")" 0
is "after kill -9, each change has one row" "$(wrong)" ""
last=$(get '/v1/audit?limit=1' '.audit[0].id')
i=0
while [ $i -lt 5 ]; do
  i=$((i + 1))
  restart KILL
done
is "further crashes add no rows" "$(wrong)" ""
change PATCH /v1/vgpus/a '{"target_fps": 50}'
ok "ids increase" that '/v1/audit?limit=1' ".audit[0].id > $last"
stop KILL
is "a row contains no secret" "$(grep -c '"gover_\|secret' "$dir/state/contracts.json")" 0
start || exit 1

# --- a database that another program has locked ---

lock() { # locks the database for writers until unlock()
  mkfifo "$dir/unlock"
  "$python" -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
db.execute("BEGIN EXCLUSIVE")
open(sys.argv[2], "w").close()
open(sys.argv[3]).read()' "$dir/state/history.db" "$dir/locked" "$dir/unlock" &
  locker=$!
  until_ok 60 test -e "$dir/locked"
}
unlock() {
  echo >"$dir/unlock"
  wait "$locker"
  rm "$dir/unlock" "$dir/locked"
}
ok "the database is locked" lock
i=0
while [ $i -lt 80 ]; do
  i=$((i + 1))
  change PATCH /v1/vgpus/a "{\"target_fps\": $i}"
done
is "while it is locked, all rows are listed" "$(wrong)" ""
is "with their values" "$(get '/v1/audit?limit=2' '[.audit[] | .before.target_fps, .after.target_fps] | tostring')" '[78,79,79,80]'
cursor=$(get '/v1/audit?limit=1000' '.audit[-10].id')
is "a cursor continues in them" "$(get "/v1/audit?after=$cursor&limit=4" '[.audit | length, .[-1].after.target_fps] | tostring')" '[4,75]'
stop KILL
unlock
start || exit 1
is "after kill -9, 80 of 80 changes have one row" "$(wrong)" ""
is "79 of them have their status" "$(rows none | tail -80 | grep -c ' 200$')" 79
is "the last one has the body of its request" \
  "$(get '/v1/audit?limit=1' '.audit[0] | [.status, .before.target_fps, .after.target_fps] | tostring')" '[null,79,80]'

# --- the history is lost ---

ok "the database is locked" lock
change PATCH /v1/vgpus/a '{"target_fps": 1}'
change PATCH /v1/vgpus/a '{"target_fps": 2}'
stop KILL
unlock
rm "$dir"/state/history.db*
start || exit 1
is "the contracts file restores the rows that the lost history did not have" \
  "$(get '/v1/audit?limit=1000' '[.audit[].after.target_fps] | tostring')" '[1,2]'
restart
is "they are in the new history" "$(get '/v1/audit?limit=1000' '[.audit[].after.target_fps] | tostring')" '[1,2]'

# --- a history that cannot be opened ---

stop
version=$(history 'PRAGMA user_version')
sqlite3 "$dir/state/history.db" 'PRAGMA user_version = 999'
start || exit 1
api PATCH /v1/vgpus/a '{"target_fps": 3}' >/dev/null
is "without a history, a change is accepted" "$(status)" 200
stop KILL
start || exit 1
api PATCH /v1/vgpus/a '{"target_fps": 4}' >/dev/null
api GET /v1/audit >/dev/null
is "and the audit log cannot be read" "$(status)" 503
sqlite3 "$dir/state/history.db" "PRAGMA user_version = $version"
ok "the history gets the rows as soon as it is opened" until_ok 60 that '/v1/audit?limit=2' '[.audit[].after.target_fps] == [3, 4]'

# --- the limit ---

ok "the database is locked" lock
i=0
while [ $i -lt 512 ]; do
  echo "url = \"http://gover/v1/vgpus/a\""
  i=$((i + 1))
done >"$dir/urls"
curl -sS --unix-socket "$sock" -X PATCH -H 'Content-Type: application/json' -d '{"weight": 3}' -K "$dir/urls" >/dev/null
api PATCH /v1/vgpus/a '{"weight": 4}' >"$dir/answer"
is "at the limit, a change is refused" "$(status)" 507
ok "the detail names the history" gojq -e '.detail | contains("history.db") and contains("history_failing")' "$dir/answer"
is "nothing was changed" "$(get /v1/vgpus/a .weight)" 3
api POST /v1/tokens '{"name": "late", "scope": "read"}' >/dev/null
is "a token is refused too" "$(status) $(get /v1/tokens '.tokens | length')" "507 0"
unlock
accepted() { api PATCH /v1/vgpus/a '{"weight": 5}' >/dev/null && [ "$(status)" = 200 ]; }
ok "once the history works, changes are accepted" until_ok 60 accepted
ok "the list in the file is empty again" until_ok 60 sh -c \
  "curl -sS --unix-socket '$sock' -X PATCH -H 'Content-Type: application/json' -d '{\"weight\": 6}' http://gover/v1/vgpus/a >/dev/null; gojq -e '.audit | length < 3' '$dir/state/contracts.json'"
is "all rows are in the history" "$(get '/v1/audit?limit=1000' '[.audit[] | select(.after.weight == 3 or .path == "/v1/vgpus/a")] | length >= 514')" true

# --- a damaged entry ---

stop
gojq '.audit = [{"id": 1, "ts_ms": 1, "who": "x", "from": "y", "method": "PATCH", "path": "/p", "status": "200", "before": "", "after": ""}]' \
  "$dir/state/contracts.json" >"$dir/wrong" && cat "$dir/wrong" >"$dir/state/contracts.json"
rm "$dir"/state/history.db*
is "a wrong row stops the start" "$("$B/gover-d" --config "$conf" 2>&1 | grep -c 'audit: element 0: status: ')" 1
finish
