#!/bin/sh
# Access on the unix socket by the user and the groups of the calling process, as reported by the kernel.
# Needs root, to run requests as other users.
# shellcheck disable=SC2016 # of gojq, of the inner shell, or literal backquotes
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" -eq 0 ] || skip_all "needs root to send requests as other users"
command -v setpriv >/dev/null || skip_all "no setpriv here (util-linux)"

operate=54321 read=54322
sim_conf
conf_extra="[access]
operate_group = $operate
read_group = $read" sim_conf
chmod 755 "$dir"
start || exit 1

as() { # as USER GROUP GROUPS METHOD PATH [BODY]: prints the status of a request as this user
  user=$1 group=$2 more=${3:+--groups=$3} method=$4 at=$5
  more=${more:---clear-groups}
  shift 5
  setpriv --reuid "$user" --regid "$group" "$more" \
    curl -sS --unix-socket "$sock" -o /dev/null -w '%{http_code}' -X "$method" \
    ${1+-H 'Content-Type: application/json' -d "$1"} "http://gover$at"
}
allowed() { # allowed TEXT USER GROUP GROUPS WANTED: tests the statuses of an open, a read and an operate route
  text=$1
  shift
  is "$text" "$(as "$1" "$2" "$3" GET /healthz) $(as "$1" "$2" "$3" GET /v1/host) $(as "$1" "$2" "$3" \
    PATCH /v1/gpus/gpu0 '{"selling": "on"}')" "$4"
}

is "every user can connect to the socket" "$(stat -c %a "$sock")" 666
allowed "root can read and change" 0 0 '' "200 200 200"
allowed "a user in no group gets only the health check" 4711 4711 '' "200 403 403"
allowed "operate_group as the primary group can change" 4711 "$operate" '' "200 200 200"
allowed "operate_group as a supplementary group can change" 4711 4711 "4711,$operate" "200 200 200"
allowed "read_group can only read" 4711 4711 "$read" "200 200 403"
allowed "a user in both groups can change" 4711 "$read" "$operate" "200 200 200"
allowed "the group root gives no access" 4711 0 0 "200 403 403"

setpriv --reuid 4711 --regid "$read" --clear-groups curl -sS --unix-socket "$sock" -X PATCH \
  -H 'Content-Type: application/json' -d '{"selling": "off"}' http://gover/v1/gpus/gpu0 >"$dir/said"
ok "a refusal names the user, the group and the command" gojq -e --arg wanted "uid 4711 may not change anything: \
PATCH /v1/gpus/gpu0 requires membership in group 54321 (run \`sudo usermod -aG 54321 \"\$(id -un 4711)\"\`, then log in again)" \
  '.status == 403 and .detail == $wanted' "$dir/said"
is "a refused request changes nothing" "$(get /v1/gpus '.gpus[0].selling')" on

setpriv --reuid 4711 --regid 4711 --clear-groups sh -c "head -c 60000 /dev/zero |
  curl -sS --unix-socket '$sock' -o /dev/null -w '%{http_code} %{size_upload}' -H 'Expect: 100-continue' \
  --data-binary @- -X POST http://gover/v1/vgpus" >"$dir/said"
is "the body of an unauthorised request is not read" "$(cat "$dir/said")" "403 0"

setpriv --reuid 4711 --regid 4711 --clear-groups "$B/gover-ctl" --socket "$sock" status >"$dir/said" 2>&1
is "gover-ctl without access exits with 1" "$?" 1
is "the error of gover-ctl is the daemon's" "$(cat "$dir/said")" "gover-ctl: uid 4711 may not read anything: \
GET /v1/host requires membership in group 54322 or 54321 (run \`sudo usermod -aG 54322 \"\$(id -un 4711)\"\`, then log in again)"
stop

user=4711
conf_extra="[access]
operate_group =
read_group = games" sim_conf
if getent group games >/dev/null; then
  start || exit 1
  allowed "a group configured by name can read" 4711 4711 "$(getent group games | cut -d: -f3)" "200 200 403"
  allowed "an empty operate_group gives no access" 4711 "$operate" '' "200 403 403"
  stop
else
  ok "a group configured by name can read # SKIP no group games" true
fi

conf_extra='[access]
read_group = no-such-group' sim_conf
start || exit 1
ok "a missing group is logged" grep -q 'group no-such-group: does not exist on this host (ignored)' "$dir/log"
ok "a missing default group is not logged" sh -c "! grep -q 'group gover: does not exist' '$dir/log'"
stop

# --- users with names, in a mount namespace with its own /etc/passwd and /etc/group ---

cp /etc/passwd /etc/group "$dir"
echo "gover-alice:x:4711:4711::/:/bin/sh" >>"$dir/passwd"
echo "gover-sellers:x:54321:" >>"$dir/group"
conf_extra='[access]
operate_group = gover-sellers
read_group = gover-lookers' sim_conf
named() { # named COMMAND...: with these files as /etc/passwd and /etc/group; replaces a process in the background
  exec unshare -m --propagation private sh -c 'mount --bind "$0/passwd" /etc/passwd && mount --bind "$0/group" /etc/group && exec "$@"' "$dir" "$@"
}
if unshare -m true 2>/dev/null; then
  named "$B/gover-d" --config "$conf" >>"$dir/log" 2>&1 &
  daemon_pid=$!
  ok "the daemon starts" until_ok 20 curl -sSf --unix-socket "$sock" http://gover/readyz
  detail() { # detail USER GROUP METHOD PATH
    setpriv --reuid "$1" --regid "$2" --clear-groups curl -sS --unix-socket "$sock" -X "$3" "http://gover$4" | gojq -r .detail
  }
  is "the user and a missing group are named" "$(detail 4711 4711 GET /v1/host)" "user gover-alice (uid 4711) may not read anything: \
GET /v1/host requires membership in group gover-lookers, which did not exist when gover-d started (run \`sudo groupadd --system \
gover-lookers && sudo usermod -aG gover-lookers gover-alice && sudo systemctl restart gover-d\`, then log in again)"
  is "the user and the group are named" "$(detail 4711 4711 DELETE /v1/vgpus/a)" "user gover-alice (uid 4711) may not change anything: \
DELETE /v1/vgpus/a requires membership in group gover-sellers (run \`sudo usermod -aG gover-sellers gover-alice\`, then log in again)"
  is "a member may not read the audit log" "$(detail 4711 54321 GET /v1/audit)" "user gover-alice (uid 4711) may not manage tokens \
or read the audit log: GET /v1/audit requires root (run the command with sudo)"
  echo "gover-bob:x:4712:4712::/:/bin/sh" >>"$dir/passwd"
  bob() { detail 4712 4712 GET /v1/host | grep -q '^user gover-bob (uid 4712) may not read'; }
  ok "a user created later is named after the next period" until_ok 20 bob
  stop
else
  ok "users are named # SKIP no mount namespaces" true
fi

# A daemon that does not run as root gives its own user full access.
conf_extra='' sim_conf
mkdir -p "$dir/poke" "$dir/state"
chown -R "$user" "$dir"
setpriv --reuid "$user" --regid "$user" --clear-groups "$B/gover-d" --config "$conf" >>"$dir/log" 2>&1 &
daemon_pid=$!
ok "the daemon starts as another user" until_ok 20 curl -sSf --unix-socket "$sock" http://gover/readyz
allowed "its own user has full access" "$user" "$user" '' "200 200 200"
allowed "root has full access too" 0 0 '' "200 200 200"
allowed "another user has no access" 4712 4712 '' "200 403 403"
finish
