#!/bin/sh
# Who may do what on the unix socket: by user and group of the process that asks, as the kernel tells them.
# Real users and groups, which only root can become.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" -eq 0 ] || skip_all "only root can ask as somebody else"
command -v setpriv >/dev/null || skip_all "no setpriv here (util-linux)"

operate=54321 read=54322
sim_conf
conf_extra="[access]
operate_group = $operate
read_group = $read" sim_conf
chmod 755 "$dir"
start || exit 1

as() { # as USER GROUP GROUPS METHOD PATH [BODY]: the status somebody else gets
  user=$1 group=$2 more=${3:+--groups=$3} method=$4 at=$5
  more=${more:---clear-groups}
  shift 5
  setpriv --reuid "$user" --regid "$group" "$more" \
    curl -sS --unix-socket "$sock" -o /dev/null -w '%{http_code}' -X "$method" \
    ${1+-H 'Content-Type: application/json' -d "$1"} "http://gover$at"
}
allowed() { # allowed TEXT USER GROUP GROUPS WANTED: what each kind of route answers
  text=$1
  shift
  is "$text" "$(as "$1" "$2" "$3" GET /healthz) $(as "$1" "$2" "$3" GET /v1/host) $(as "$1" "$2" "$3" \
    PATCH /v1/gpus/gpu0 '{"selling": "on"}')" "$4"
}

is "anybody may knock" "$(stat -c %a "$sock")" 666
allowed "root may see and change" 0 0 '' "200 200 200"
allowed "a stranger only hears that the daemon lives" 4711 4711 '' "200 403 403"
allowed "the group that changes, by login" 4711 "$operate" '' "200 200 200"
allowed "and as one of several" 4711 4711 "4711,$operate" "200 200 200"
allowed "the group that reads" 4711 4711 "$read" "200 200 403"
allowed "whoever is in both changes" 4711 "$read" "$operate" "200 200 200"
allowed "root's group is not root" 4711 0 0 "200 403 403"

setpriv --reuid 4711 --regid "$read" --clear-groups curl -sS --unix-socket "$sock" -X PATCH \
  -H 'Content-Type: application/json' -d '{"selling": "off"}' http://gover/v1/gpus/gpu0 >"$dir/said"
ok "a refusal is a problem that says who lacks what" jq -e \
  '.status == 403 and .detail == "uid 4711 may read, and this needs the scope operate"' "$dir/said"
is "and nothing was changed" "$(get /v1/gpus '.gpus[0].selling')" on

setpriv --reuid 4711 --regid 4711 --clear-groups sh -c "head -c 60000 /dev/zero |
  curl -sS --unix-socket '$sock' -o /dev/null -w '%{http_code} %{size_upload}' -H 'Expect: 100-continue' \
  --data-binary @- -X POST http://gover/v1/vgpus" >"$dir/said"
is "a stranger's body is not even read" "$(cat "$dir/said")" "403 0"

setpriv --reuid 4711 --regid 4711 --clear-groups "$B/gover-ctl" --socket "$sock" status >"$dir/said" 2>&1
is "gover-ctl is refused like everybody" "$?" 1
ok "and says what to do" grep -q 'in a group that may ask gover-d' "$dir/said"
stop

user=4711
conf_extra="[access]
operate_group =
read_group = games" sim_conf
if getent group games >/dev/null; then
  start || exit 1
  allowed "a group by its name" 4711 4711 "$(getent group games | cut -d: -f3)" "200 200 403"
  allowed "none is nobody's" 4711 "$operate" '' "200 403 403"
  stop
else
  ok "a group by its name # SKIP no group games here" true
fi

conf_extra='[access]
read_group = no-such-group' sim_conf
start || exit 1
ok "a group that is not there is told" grep -q 'there is no group no-such-group on this host: nobody is let in by it' "$dir/log"
ok "unless nobody named it" sh -c "! grep -q 'there is no group gover' '$dir/log'"
stop

# A daemon that is not root serves its own user.
conf_extra='' sim_conf
mkdir -p "$dir/poke" "$dir/state"
chown -R "$user" "$dir"
setpriv --reuid "$user" --regid "$user" --clear-groups "$B/gover-d" --config "$conf" >>"$dir/log" 2>&1 &
daemon_pid=$!
ok "a daemon of another user starts" until_ok 20 curl -sSf --unix-socket "$sock" http://gover/readyz
allowed "its own user may all" "$user" "$user" '' "200 200 200"
allowed "root too" 0 0 '' "200 200 200"
allowed "another may not" 4712 4712 '' "200 403 403"
stop
finish
