#!/bin/sh
# The state directory is on a file system without one or more features (tests/helper/odd-fs.c, and a real read-only mount): start,
# --restore, queries and changes. And a log or an index of the history that another program deletes or replaces.
. "$(dirname "$0")/../lib.sh"

[ -w /dev/fuse ] || skip_all "no permission to use /dev/fuse"
state=$dir/odd/state db=$dir/odd/state/history.db odd_pid=''
cleanup="unmount; $cleanup"

unmount() {
  case $odd_pid in
  '') ;;
  ro) umount "$dir/odd" ;;
  *) kill "$odd_pid" && wait "$odd_pid" ;;
  esac 2>/dev/null
  odd_pid=''
}

missing() { echo "$*" >"$dir/missing"; }

mount_odd() { # mount_odd WORD...: mounts $dir/folder at $dir/odd
  missing "$@"
  "$B/tests/odd-fs" "$dir/missing" "$dir/folder" "$dir/odd" >"$dir/odd.log" 2>&1 &
  odd_pid=$!
  until_ok 20 grep -q " $dir/odd fuse" /proc/mounts && return 0
  skip_all "FUSE does not work: $(tail -n 1 "$dir/odd.log")"
}

fill() { # fill STATE: the content of the file system is a copy of STATE
  rm -rf "$dir/folder"
  mkdir -p "$dir/folder" "$dir/odd"
  [ -z "$1" ] || cp -a "$1" "$dir/folder/state"
}

sim_conf
sed -i "s|^state_dir = .*|state_dir = $state|" "$conf"

# States of earlier daemons: one has stopped, one was killed and has left a log with rows.
fill ''
mount_odd
start || exit 1
sell old 10
ok "a change is recorded" until_ok 20 that /v1/audit '.audit | length == 1'
cp -a "$dir/folder/state" "$dir/killed"
stop
cp -a "$dir/folder/state" "$dir/stopped"
unmount

names() { get /v1/vgpus '[.vgpus[].id] | sort | join(" ")'; }
audit() { api GET /v1/audit >/dev/null; status; }
has_log() { grep -qF -- "$1" "$dir/log"; }
explains() { # explains NAME TEXT: such an alert is active
  until_ok 20 that /v1/alerts "[.alerts[] | select(.name == \"$1\" and (.text | contains(\"$2\")))] | length == 1"
}
reason() { # reason TEXT: the last answer and the alert contain the text
  gojq -e --arg text "$1" '.detail | contains($text)' "$dir/body" && explains contracts_unsaved "$1"
}
change() { # change WANTED: changes contracts, tokens and the policy
  api POST /v1/tokens '{"name": "t", "scope": "read"}' >/dev/null
  answers=$(status)
  api PATCH /v1/policy '{"ttl_s": 1000}' >/dev/null
  answers="$answers $(status)"
  api DELETE /v1/vgpus/old >/dev/null
  answers="$answers $(status)"
  sell new 10
  is "$what: changes" "$answers $(status)" "$1"
}

# Each operation. CHANGES: "yes" or the reason of 507. AUDIT: the status of a query. Then the file system becomes a good one.
operate() { # operate CHANGES AUDIT
  : >"$dir/log"
  "$B/gover-d" --config "$conf" --restore >"$dir/restore" 2>&1
  is "$what: --restore" "$?" 0
  ok "$what: --restore knows the contract" grep -q "vGPU old does not exist: nothing to restore" "$dir/restore"
  start || exit 1
  is "$what: contracts" "$(names) $(get /v1/vgpus/old .cap_pct)" "old 10"
  is "$what: a query" "$(audit)" "$2"
  if [ "$1" = yes ]; then
    change "201 200 204 201"
    after=new
  else
    change "507 507 507 507"
    ok "$what: the reason is named" reason "$1"
    after=old
  fi
  is "$what: contracts after the changes" "$(names)" "$after"
  restart KILL
  is "$what: contracts after kill -9" "$(names)" "$after"
  is "$what: a query after kill -9" "$(audit)" "$2"
}

cure() { # the file system works again: the daemon recovers without a restart
  ok "$what: the alerts end" until_ok 60 that /v1/alerts \
    '[.alerts[] | select(.name == "contracts_unsaved" or .name == "history_failing" or .name == "history_damaged")] | length == 0'
  api POST /v1/vgpus '{"id": "cured", "initial_cap_pct": 5}' >/dev/null
  is "$what: a change after the recovery" "$(status)" 201
  ok "$what: it is recorded" until_ok 20 that /v1/audit '.audit | map(.after.id) | index("cured") != null'
  is "$what: its cap is stored" "$(awk '$1 == "cured" { print $2 }' "$dir/folder/state/caps")" 5
  stop
  is "$what: the daemon stops" "$stopped" 0
  unmount
  is "$what: the history is intact" "$(sqlite3 "$dir/folder/state/history.db" 'PRAGMA integrity_check')" ok
}

# What is missing | the state before | CHANGES | AUDIT
rows='none|stopped|yes|200
links|stopped|yes|200
locks|stopped|yes|503
mmap|stopped|yes|200
mmap|killed|yes|200
mmap links|killed|yes|200
folders|stopped|does not support fsync() of a folder|200
folders links|stopped|does not support fsync() of a folder|200
folders mmap links|killed|does not support fsync() of a folder|200
writes|stopped|Read-only file system|200
writes|killed|Read-only file system|200'
while IFS='|' read -r words before changes audited <&3; do
  what="without $words, $before"
  fill "$dir/$before"
  # shellcheck disable=SC2086 # several words
  mount_odd $words
  operate "$changes" "$audited"
  case $words in
  locks)
    ok "$what: the message names the reason" explains history_failing "the file system has no locks: No locks available"
    stop
    unmount
    ;;
  *)
    [ "$words" != mmap ] || ok "$what: it is logged" has_log "no shared mappings: the database has no WAL"
    missing none
    cure
    ;;
  esac
done 3<<END
$rows
END

# A file system that becomes read-only under the daemon, as ext4 after an error of the disk.
what="read-only under the daemon"
fill "$dir/stopped"
mount_odd none
start || exit 1
missing writes
is "$what: a query" "$(audit)" 200
change "507 507 507 507"
ok "$what: the reason is named" reason "Read-only file system"
missing none
cure

# A real read-only mount, also without a lock file.
fill "$dir/stopped"
if mount -t tmpfs -o size=32m tmpfs "$dir/odd" 2>/dev/null; then
  odd_pid=ro
  cp -a "$dir/stopped" "$state"
  for what in "read-only mount" "read-only mount, no lock and no caps"; do
    case $what in *,*)
      mount -o remount,rw "$dir/odd"
      rm "$state/lock" "$state/caps"
      ;;
    esac
    mount -o remount,ro "$dir/odd"
    : >"$dir/log"
    ok "$what: --restore" "$B/gover-d" --config "$conf" --restore
    start || exit 1
    is "$what: the contract" "$(get /v1/vgpus '.vgpus[].id')" old
    is "$what: a query" "$(audit)" 200
    change "507 507 507 507"
    mount -o remount,rw "$dir/odd"
    ok "$what: the alerts end" until_ok 60 that /v1/alerts \
      '[.alerts[] | select(.name == "contracts_unsaved" or .name == "history_failing")] | length == 0'
    api PATCH /v1/vgpus/old '{"weight": 2}' >/dev/null
    is "$what: a change after the recovery" "$(status)" 200
    stop
  done
  unmount
else
  ok "a real read-only mount # SKIP no permission to mount" true
fi

# Another program deletes or replaces the log or the index.
rows_of() { api GET '/v1/audit?limit=1000' | gojq -r '[.audit[].after.id // empty] | join(" ")'; }
has_rows() { [ "$(rows_of)" = "$1" ]; }
deleted() { rm "$1"; }
moved() { mv "$1" "$1.copy"; }
replaced() { cp "$1" "$1.copy" && mv "$1.copy" "$1"; }
emptied() { : >"$1.new" && mv "$1.new" "$1"; }
older() { cp "$dir/folder/older${1##*history.db}" "$1.new" && mv "$1.new" "$1"; }
sed -i "s|^state_dir = .*|state_dir = $dir/folder/state|" "$conf"
db=$dir/folder/state/history.db
for files in -wal -shm '-wal -shm'; do
  for how in deleted moved replaced emptied older; do
    what="$files is $how"
    fill ''
    : >"$dir/log"
    start || exit 1
    sell one 5
    ok "$what: a change is recorded" until_ok 20 has_rows one
    for end in -wal -shm; do cp "$db$end" "$dir/folder/older$end"; done
    sell two 5
    ok "$what: a second one" until_ok 20 has_rows "one two"
    for end in $files; do $how "$db$end"; done
    sell three 5
    ok "$what: it is noticed" until_ok 30 has_log "was deleted or replaced by another program; no record was lost"
    ok "$what: all changes are recorded" until_ok 30 has_rows "one two three"
    sell four 5
    ok "$what: also the next one" until_ok 30 has_rows "one two three four"
    restart KILL
    is "$what: after kill -9" "$(rows_of)" "one two three four"
    case "$files $how" in
    '-wal replaced' | '-wal older' | '-wal -shm replaced' | '-wal -shm older')
      ok "$what: the other log is set aside" sh -c "ls '$db-wal.damaged-'*"
      ok "$what: an alert names it" explains history_damaged "history.db-wal.damaged-"
      ;;
    *) is "$what: no file is set aside" "$(find "$dir/folder/state" -name '*.damaged-*')" '' ;;
    esac
    stop
    is "$what: the history is intact" "$(sqlite3 "$db" 'PRAGMA integrity_check')" ok
  done
done
finish
