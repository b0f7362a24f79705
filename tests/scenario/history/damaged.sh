#!/bin/sh
# A damaged history is set aside, and a new one begins: the change is logged, an alert and the host name the file, ids
# continue, and contracts, prices and open alerts remain. A database of an older version is migrated; one of a newer version is
# not changed.
. "$(dirname "$0")/../lib.sh"

db=$dir/state/history.db
garbage() { head -c 40000 /dev/urandom >"$db"; }
empty() { : >"$db"; }
short() { truncate -s 12288 "$db"; }
header() { printf 'no header, no schema, no size of pages' | dd of="$db" conv=notrunc status=none; }
table() { sqlite3 "$db" 'DROP TABLE sample'; }
migration() { sqlite3 "$db" 'PRAGMA user_version = 2'; }
folder() { rm "$db" && mkdir "$db" && touch "$db/file"; }
aside() { find "$dir/state" -name 'history.db.damaged-*' ! -name '*-wal' ! -name '*-shm' | sort; }
sum() { if [ -d "$1" ]; then ls "$1"; else cksum <"$1"; fi; }
newest() { get "$2" "[.$1[].id] | max"; }

start_sim
sell a 50
echo 20 >"$dir/poke/a.cap" # a hold, an alert and decisions
ok "an alert is open" until_ok 20 alerts 1 foreign_write
api POST /v1/silences "{\"alert\": \"fps_missing\", \"until\": \"$(date -u -d '+1 day' +%FT%TZ)\", \"reason\": \"test\"}" >/dev/null
ok "rows are stored" until_ok 20 recorded 'SELECT 1 FROM alert JOIN audit'
for kind in garbage empty short header table migration folder; do
  decision=$(newest decisions '/v1/decisions?limit=1')
  change=$(newest audit '/v1/audit?limit=1')
  alert=$(newest alerts '/v1/alerts?all=true')
  stop
  rm -rf "$db".damaged-* "$db"-*
  until_ok 60 sh -c "test \$(date +%s) -gt $change" # ids of audit rows start at the current second
  $kind
  before=$(sum "$db")
  start || exit 1
  is "$kind: the file is set aside unchanged" "$(sum "$(aside)")" "$before"
  name=$(basename "$(aside)")
  ok "$kind: it is logged" grep -q "history.db: damaged (.*): set aside as $name" "$dir/log"
  ok "$kind: an alert names the file" until_ok 10 that /v1/alerts \
    "[.alerts[] | select(.name == \"history_damaged\" and (.text | contains(\"$name\")))] | length == 1"
  is "$kind: the host names the file" "$(get /v1/host '.history | "\(.enabled) \(.damaged | join(" "))"')" "true $name"
  ok "$kind: a new history is recorded" until_ok 20 recorded 'SELECT 1 FROM price JOIN contracts'
  is "$kind: the contract and its hold remain" "$(get /v1/vgpus/a '"\(.initial_cap_pct) \(.held) \(.cap_pct)"')" "50 true 20"
  api PATCH /v1/vgpus/a '{"target_fps": 1}' >/dev/null
  ok "$kind: ids of decisions continue" that "/v1/decisions?after=$decision" '.decisions | length > 0'
  ok "$kind: ids of changes continue" that "/v1/audit?after=$change" '.audit | length > 0'
  ok "$kind: ids of alerts continue" that '/v1/alerts?all=true' "[.alerts[].id] | max > $alert"
done
ok "doctor reports the file" sh -c "$B/gover-ctl --socket '$sock' doctor | grep -q '$name'"

# Damage that a query finds while the daemon runs.
rm -rf "$db".damaged-*
ok "the alert ends when the damaged files are removed" until_ok 30 alerts 0 history_damaged
ok "samples are recorded" until_ok 20 recorded 'SELECT 1 FROM sample'
ok "an alert is open" until_ok 30 alerts 1 fps_missing
alert=$(get '/v1/alerts' '[.alerts[] | select(.name == "fps_missing")][0].id')
header
api GET /v1/audit >/dev/null
ok "the running daemon sets the file aside" until_ok 30 sh -c "ls '$db'.damaged-*"
ok "queries work again" until_ok 30 that /v1/audit '.audit | type == "array"'
ok "prices, contracts and open alerts are stored again" until_ok 20 recorded \
  "SELECT 1 FROM price JOIN contracts JOIN alert WHERE alert.id = $alert AND cleared_ms IS NULL"
ok "it is logged" grep -q "history.db: damaged (.*not a database.*" "$dir/log"
stop

# Not damage: a database of an older version. The columns and tables of the newest step are removed.
rm -rf "$db".damaged-*
version=$(sqlite3 "$db" 'PRAGMA user_version')
PYTHONDONTWRITEBYTECODE=1 python3 -c 'import sys; sys.path.insert(0, sys.argv[1]); import state; state.undo_steps(sys.argv[2], 1)' \
  "$(dirname "$0")/../../faults" "$db"
is "the newest step of the schema is undone" "$(sqlite3 "$db" 'PRAGMA user_version')" $((version - 1))
start || exit 1
ok "an older database is migrated" until_ok 20 recorded "SELECT 1 FROM pragma_user_version WHERE user_version = $version"
ok "its contracts are read" recorded "SELECT 1 FROM contracts"
is "it is not set aside" "$(aside)" ""
stop

# Not damage: a database of a newer version.
sqlite3 "$db" 'PRAGMA user_version = 1000'
before=$(sum "$db")
start || exit 1
is "a newer database is not changed" "$(sum "$db")$(aside)" "$before"
ok "an alert and the host say so" until_ok 10 that /v1/host \
  '(.history.error | contains("newer version of gover")) and ([.alerts[].name] | index("history_failing") != null)'
finish
