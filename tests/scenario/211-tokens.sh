#!/bin/sh
# Bearer tokens over TCP: without one, with one of each scope, expired, revoked, wrong; made and removed by
# gover-ctl; and nowhere to be found but in the file of who had it made.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

tcp
sim_conf
start || exit 1

three() { # three NAME: what it gets for reading, changing and administering
  echo "$(ask "$1" GET /v1/host) $(ask "$1" PATCH /v1/gpus/gpu0 '{"selling": "on"}') $(ask "$1" GET /v1/tokens)"
}

is "without a token nobody is anybody" "$(three '')" "401 401 401"
ok "which a client is told how to mend" grep -qi '^WWW-Authenticate: Bearer realm="gover"' "$dir/head"
ok "and a person too" jq -e '.status == 401 and (.detail | test("gover-ctl token add"))' "$dir/body"
is "but whoever watches hears that it lives" "$(ask '' GET /healthz) $(ask '' GET /readyz)" "200 200"

ok "gover-ctl makes one that reads" token viewer read
ok "one that changes" token robot operate
ok "and one that administers" token chief admin --expires 1h
is "each may what its scope holds" "$(three viewer), $(three robot), $(three chief)" \
  "200 403 403, 200 200 403, 200 200 200"
ask viewer PATCH /v1/gpus/gpu0 '{"selling": "off"}' >/dev/null
ok "a refusal names who lacks what" jq -e '.detail == "token viewer may read, and this needs the scope operate"' "$dir/body"

is "the file is its owner's alone" "$(stat -c %a "$dir/viewer.token")" 600
is "as is the daemon's" "$(stat -c %a "$dir/state/tokens.json")" 600
ok "a file that is there is not written over" sh -c "! '$B/gover-ctl' --socket '$sock' token add x --scope read --out '$dir/viewer.token'"
is "and then none is made" "$(get /v1/tokens '[.tokens[].name] | sort | join(" ")')" "chief robot viewer"
is "a list tells no token" "$(get /v1/tokens '[.tokens[] | keys[]] | unique | join(" ")')" "created_at expires_at name scope"
ctl token list >"$dir/out"
ok "gover-ctl shows it" grep -qE '^viewer +read .* never$' "$dir/out"
is "one is printed where no file is named" "$(ctl token add printed --scope read | grep -cE '^gvr_[A-Za-z0-9_-]{43}$')" 1

is "the same name again" "$(ctl token add viewer --scope admin 2>&1)" \
  "gover-ctl: there is a token viewer already: remove it, or take another name"
is "a scope that is none" "$(ctl token add y --scope root 2>&1)" \
  'gover-ctl: scope: "root" is not allowed: read, operate or admin'
ctl token add y --scope read --expires soon 2>"$dir/err"
is "a time that is none" "$?: $(cat "$dir/err")" "2: gover-ctl: --expires 'soon': allowed is a span such as 30m, 12h or 90d"
api POST /v1/tokens '{"name": "y", "scope": "read", "ttl_s": 59}' >/dev/null
is "a time too short" "$(status)" 422

is "gover-ctl asks with a token" "$("$B/gover-ctl" --url "$url" --token-file "$dir/viewer.token" --json status | jq -r '.gpus[0].name // .host.gpus[0].name')" gpu0
is "or with that of the environment" "$(GOVER_TOKEN_FILE=$dir/viewer.token "$B/gover-ctl" --url "$url" freeze 2>&1)" \
  "gover-ctl: token viewer may read, and this needs the scope operate"
is "a proxy is not told it" "$(http_proxy=http://127.0.0.1:1 "$B/gover-ctl" --url "$url" --token-file "$dir/viewer.token" --json vgpu list | jq -c .vgpus)" "[]"
is "without one it says what is missing" "$("$B/gover-ctl" --url "$url" alerts 2>&1 | grep -c 'a token is needed')" 1

# --- those that are good no more ---

cp "$dir/robot.header" "$dir/old.header"
is "a token is removed" "$(ctl token remove robot)" "removed: token robot is good no more"
is "and is nobody's at once" "$(ask old GET /v1/host)" 401
ok "as is said" jq -e '.detail | test("it was removed")' "$dir/body"
is "another of its name is another" "$(token robot operate && ask old GET /v1/host) $(ask robot GET /v1/host)" "401 200"
is "one that is not there" "$(ctl token remove nix 2>&1)" "gover-ctl: there is no token nix"

stop
start || exit 1
is "a restart forgets none" "$(three viewer), $(three robot), $(three chief), $(ask old GET /v1/host)" \
  "200 403 403, 200 200 403, 200 200 200, 401"
stop
# A minute is the shortest life: the clock of the file is put back instead.
jq '(.tokens[] | select(.name == "chief") | .expires_ms) = 1' "$dir/state/tokens.json" >"$dir/edited"
cat "$dir/edited" >"$dir/state/tokens.json"
start || exit 1
is "an expired one is refused" "$(ask chief GET /v1/host)" 401
ok "as expired" jq -e '.detail | test("this token has expired")' "$dir/body"

mkdir "$dir/state/tokens.json.new" # the file cannot be replaced now, not even by root
api POST /v1/tokens '{"name": "lost", "scope": "read"}' >/dev/null
is "what cannot be kept is not made" "$(status) $(get /v1/tokens '[.tokens[].name] | index("lost")')" "507 null"
api DELETE /v1/tokens/printed >/dev/null
is "what cannot be taken off the disk is told" "$(status) $(get /v1/tokens '[.tokens[].name] | index("printed")')" "507 null"
rmdir "$dir/state/tokens.json.new"
stop

# --- a file that is not one ---

cp "$dir/state/tokens.json" "$dir/good"
echo '{"version": 1, "tokens": [{}]}' >"$dir/state/tokens.json"
start || exit 1
is "of a spoilt file no token is good, and the daemon serves" "$(three viewer) $(get /v1/host '.ticks >= 0')" "401 401 401 true"
ok "the log says so" grep -q 'tokens.json: token 1 is not one; no token is good' "$dir/log"
api POST /v1/tokens '{"name": "n", "scope": "read"}' >/dev/null
is "and it is not written over" "$(status) $(jq -c . "$dir/state/tokens.json")" '500 {"version":1,"tokens":[{}]}'
stop
cat "$dir/good" >"$dir/state/tokens.json"

# --- those of this host ---

conf_extra='[access]
anonymous = read' sim_conf
start || exit 1
is "anonymous = read lets those of this host read" "$(three '')" "200 403 403"
is "a wrong token is wrong all the same" "$(ask old GET /v1/host)" 401
is "a page of elsewhere that leads here is not of this host" \
  "$(curl -sS -o "$dir/body" -w '%{http_code}' -H 'Host: evil.example' "$url/v1/host")" 403
stop
# Who listens when his token is revoked or comes to its end hears no more; the others do.
conf_extra='' sim_conf
start || exit 1
follow() { # follow NAME: what it hears, in $dir/NAME.heard; sets $!
  curl -sSN -H "@$dir/$1.header" "$url/v1/events?kinds=tick" >"$dir/$1.heard" 2>/dev/null &
}
token listener read
token short read --expires 60
for name in listener short viewer; do follow $name && echo $! >"$dir/$name.pid"; done
for name in listener short viewer; do
  ok "$name hears the ticks" until_ok 10 grep -q '^event: tick' "$dir/$name.heard"
done
ctl token remove listener >/dev/null
ended() { ! kill -0 "$(cat "$dir/$1.pid")" 2>/dev/null; }
ok "a revoked token's stream ends" until_ok 10 ended listener
ctl token remove short >/dev/null
token short read
ok "one of the same name is another" until_ok 10 ended short
ok "whose token stands hears on" kill -0 "$(cat "$dir/viewer.pid")"
kill "$(cat "$dir/viewer.pid")"

# What could not be put on disk can be tried again.
mkdir "$dir/state/tokens.json.new"
api DELETE /v1/tokens/short >/dev/null
is "a revocation that is not on disk says so" "$(status)" 507
api DELETE /v1/tokens/short >/dev/null
is "and again, as long as that is so" "$(status)" 507
rmdir "$dir/state/tokens.json.new"
api DELETE /v1/tokens/short >/dev/null
is "then it is done" "$(status)" 204
api DELETE /v1/tokens/short >/dev/null
is "once" "$(status)" 404
stop
start --dry-run || exit 1
api POST /v1/tokens '{"name": "n", "scope": "read"}' >/dev/null
is "in a dry run none is made" "$(status)" 409
stop
conf_extra='[access]
requests_per_s = 5' sim_conf
start || exit 1
i=0
while [ $i -lt 40 ]; do
  ask viewer GET /v1/host && echo
  i=$((i + 1))
done >"$dir/many"
is "more requests than are allowed are told to wait" "$(sort -u "$dir/many" | tr '\n' ' ')" "200 429 "
while [ "$(ask viewer GET /v1/host)" != 429 ]; do :; done
ok "for how long" grep -qi '^Retry-After: 1' "$dir/head"
ok "and then they are answered" until_ok 10 sh -c "[ \"\$(curl -sS -H '@$dir/viewer.header' -o /dev/null -w '%{http_code}' '$url/v1/host')\" = 200 ]"
is "the unix socket is not counted" "$(for i in 1 2 3 4 5 6 7 8 9; do api GET /v1/host >/dev/null && status; done | tr -d '\n')" \
  200200200200200200200200200
stop

# --- where a token is not ---

for secret in viewer robot chief; do cut -c 5- "$dir/$secret.token"; done >"$dir/secrets"
ok "there are secrets to look for" test "$(wc -c <"$dir/secrets")" -eq 132
ok "the log holds none" sh -c "! grep -Ff '$dir/secrets' '$dir/log' && ! grep gvr_[A-Za-z0-9_-] '$dir/log'"
ok "nor does the state directory" sh -c "! grep -rFf '$dir/secrets' '$dir/state'"
finish
