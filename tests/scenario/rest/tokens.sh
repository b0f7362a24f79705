#!/bin/sh
# Bearer tokens over TCP: missing, expired, revoked and invalid tokens, and one token of each scope. gover-ctl creates and
# revokes them.
# A token appears only in the file that gover-ctl writes.
# shellcheck disable=SC2016 # of gojq, of the inner shell, or literal backquotes
. "$(dirname "$0")/../lib.sh"

tcp
start_sim

three() { # three NAME: prints the statuses for reading, changing and administering
  echo "$(ask "$1" GET /v1/host) $(ask "$1" PATCH /v1/gpus/gpu0 '{"selling": "on"}') $(ask "$1" GET /v1/tokens)"
}

is "without a token every request is refused" "$(three '')" "401 401 401"
ok "the reply has a WWW-Authenticate header" grep -qi '^WWW-Authenticate: Bearer realm="gover"' "$dir/head"
ok "the detail names the command that creates a token" gojq -e '.status == 401 and (.detail | test("gover-ctl token add"))' "$dir/body"
is "health checks need no token" "$(ask '' GET /healthz) $(ask '' GET /readyz)" "200 200"

ok "gover-ctl creates a token with scope read" token viewer read
ok "gover-ctl creates a token with scope operate" token robot operate
ok "gover-ctl creates a token with scope admin" token chief admin --expires 1h
is "each token has the access of its scope" "$(three viewer), $(three robot), $(three chief)" \
  "200 403 403, 200 200 403, 200 200 200"
ask viewer PATCH /v1/gpus/gpu0 '{"selling": "off"}' >/dev/null
ok "a refusal names the token and the required scope" gojq -e '.detail == "token viewer has scope read, PATCH /v1/gpus/gpu0 requires operate: " +
  "create a token with `gover-ctl token add NAME --scope operate`"' "$dir/body"

is "only its owner can read the token file" "$(stat -c %a "$dir/viewer.token")" 600
is "only its owner can read the file of the daemon" "$(stat -c %a "$dir/state/tokens.json")" 600
ok "an existing token file is not overwritten" sh -c "! '$B/gover-ctl' --socket '$sock' token add x --scope read --out '$dir/viewer.token'"
is "a failed command creates no token" "$(get /v1/tokens '[.tokens[].name] | sort | join(" ")')" "chief robot viewer"
is "the list contains no token text" "$(get /v1/tokens '[.tokens[] | keys[]] | unique | join(" ")')" "created_at expired expires_at name scope"
ctl token list >"$dir/out"
ok "gover-ctl prints the list" grep -qE '^viewer +read .* never$' "$dir/out"
is "without --out the token is printed" "$(ctl token add printed --scope read | grep -cE '^gvr_[A-Za-z0-9_-]{43}$')" 1

is "a name that is in use is rejected" "$(ctl token add viewer --scope admin 2>&1)" \
  "gover-ctl: token viewer: already exists (revoke it first, or use another name)"
is "an unknown scope is rejected" "$(ctl token add y --scope root 2>&1)" \
  'gover-ctl: --scope: "root" is invalid (allowed: read, operate, admin)'
ctl token add y --scope read --expires soon 2>"$dir/err"
is "an invalid lifetime is rejected" "$?: $(cat "$dir/err")" "2: gover-ctl: --expires 'soon': not allowed (allowed: seconds, or 30m, 12h, 90d)"
api POST /v1/tokens '{"name": "y", "scope": "read", "ttl_s": 59}' >/dev/null
is "a lifetime below a minute is rejected" "$(status)" 422

is "gover-ctl reads a token file" "$("$B/gover-ctl" --url "$url" --token-file "$dir/viewer.token" --json status | gojq -r '.gpus[0].name // .host.gpus[0].name')" gpu0
is "gover-ctl reads the token file named in the environment" "$(GOVER_TOKEN_FILE=$dir/viewer.token "$B/gover-ctl" --url "$url" freeze 2>&1)" \
  'gover-ctl: token viewer has scope read, PATCH /v1/gpus/gpu0 requires operate: create a token with `gover-ctl token add NAME --scope operate`'
is "a proxy in the environment is not used" "$(http_proxy=http://127.0.0.1:1 "$B/gover-ctl" --url "$url" --token-file "$dir/viewer.token" --json vgpu list | gojq -c .vgpus)" "[]"
is "without a token gover-ctl reports that one is required" "$("$B/gover-ctl" --url "$url" alerts 2>&1)" \
  'gover-ctl: a token is required: Authorization: Bearer gvr_... (GET /v1/alerts requires scope read: create a token with `gover-ctl token add NAME --scope read`); pass it with --token-file or GOVER_TOKEN_FILE'

# --- revoked and expired tokens ---

cp "$dir/robot.header" "$dir/old.header"
is "a token is revoked" "$(ctl token remove robot)" "removed: token robot"
is "a revoked token is invalid immediately" "$(ask old GET /v1/host)" 401
ok "the detail reports the revoked token without its name" gojq -e '.detail == "unknown or revoked token " +
  "(GET /v1/host requires scope read: create a token with `gover-ctl token add NAME --scope read`)"' "$dir/body"
is "a new token of the same name does not revive the old one" "$(token robot operate && ask old GET /v1/host) $(ask robot GET /v1/host)" "401 200"
is "an unknown token cannot be revoked" "$(ctl token remove nix 2>&1)" "gover-ctl: token nix: not found"

restart
is "tokens persist across a restart" "$(three viewer), $(three robot), $(three chief), $(ask old GET /v1/host)" \
  "200 403 403, 200 200 403, 200 200 200, 401"
stop
# The shortest lifetime is a minute, so the test edits the expiry in the file.
gojq '(.tokens[] | select(.name == "chief") | .expires_ms) = 1' "$dir/state/tokens.json" >"$dir/edited"
cat "$dir/edited" >"$dir/state/tokens.json"
start || exit 1
is "an expired token is refused" "$(ask chief GET /v1/host)" 401
ok "the detail reports the expired token" gojq -e '.detail | test("expired token")' "$dir/body"

mkdir "$dir/state/tokens.json.new" # this folder prevents the replacement of the file, even by root
api POST /v1/tokens '{"name": "lost", "scope": "read"}' >/dev/null
is "a token that cannot be saved is not created" "$(status) $(get /v1/tokens '[.tokens[].name] | index("lost")')" "507 null"
api DELETE /v1/tokens/printed >/dev/null
is "a revocation that cannot be saved is answered with 507" "$(status) $(get /v1/tokens 'any(.tokens[]; .name == "printed")')" "507 true"
rmdir "$dir/state/tokens.json.new"
stop

# --- an invalid file ---

cp "$dir/state/tokens.json" "$dir/good"
echo '{"version": 1, "tokens": [{}]}' >"$dir/state/tokens.json"
start || exit 1
is "with an invalid file all tokens are invalid, and the daemon runs" "$(three viewer) $(get /v1/host '.ticks >= 0')" "401 401 401 true"
ok "the invalid file is logged" grep -q 'tokens.json: token 1: invalid: all tokens are invalid' "$dir/log"
api POST /v1/tokens '{"name": "n", "scope": "read"}' >/dev/null
is "the invalid file is not overwritten" "$(status) $(gojq -c . "$dir/state/tokens.json")" '500 {"tokens":[{}],"version":1}'
ok "an alert names the file and the fault" that /v1/alerts '.alerts | any(.name == "tokens_unreadable" and (.text | contains("tokens.json: token 1: invalid")))'
cat "$dir/good" >"$dir/state/tokens.json"
ok "the repaired file is read without a restart" until_ok 30 sh -c "test '200' = \"\$(curl -s -o /dev/null -w '%{http_code}' -H '@$dir/viewer.header' '$url/v1/host')\""
ok "the alert clears" until_ok 20 alerts 0 tokens_unreadable
ok "the log reports it" grep -q 'tokens.json: the tokens are valid again' "$dir/log"
stop

# --- anonymous access from this host ---

conf_extra='[access]
anonymous = read' sim_conf
start || exit 1
is "anonymous = read allows reading from this host" "$(three '')" "200 403 403"
is "an invalid token is still refused" "$(ask old GET /v1/host)" 401
is "a request with a foreign Host header is refused" \
  "$(curl -sS -o "$dir/body" -w '%{http_code}' -H 'Host: evil.example' "$url/v1/host")" 403
stop
# An event stream ends when its token is revoked or expires; other streams continue.
conf_extra='' sim_conf
start || exit 1
follow() { # follow NAME: an event stream with this token, into $dir/NAME.heard; sets $!
  curl -sSN -H "@$dir/$1.header" "$url/v1/events?kinds=tick" >"$dir/$1.heard" 2>/dev/null &
}
token listener read
token short read --expires 60
for name in listener short viewer; do follow $name && echo $! >"$dir/$name.pid"; done
for name in listener short viewer; do
  ok "$name receives tick events" until_ok 10 grep -q '^event: tick' "$dir/$name.heard"
done
ctl token remove listener >/dev/null
ended() { ! kill -0 "$(cat "$dir/$1.pid")" 2>/dev/null; }
ok "the stream of a revoked token ends" until_ok 10 ended listener
ctl token remove short >/dev/null
token short read
ok "the stream of a token that was replaced ends" until_ok 10 ended short
ok "the stream of a valid token continues" kill -0 "$(cat "$dir/viewer.pid")"
kill "$(cat "$dir/viewer.pid")"

# A revocation that could not be saved can be retried.
mkdir "$dir/state/tokens.json.new"
api DELETE /v1/tokens/short >/dev/null
is "an unsaved revocation is answered with 507" "$(status)" 507
api DELETE /v1/tokens/short >/dev/null
is "a repeated unsaved revocation is answered with 507" "$(status)" 507
rmdir "$dir/state/tokens.json.new"
api DELETE /v1/tokens/short >/dev/null
is "a revocation can be repeated until it is saved" "$(status)" 204
api DELETE /v1/tokens/short >/dev/null
is "a saved revocation cannot be repeated" "$(status)" 404
stop
start --dry-run || exit 1
api POST /v1/tokens '{"name": "n", "scope": "read"}' >/dev/null
is "a dry run creates no token" "$(status)" 409
stop
conf_extra='[access]
requests_per_s = 5' sim_conf
start || exit 1
many() { # the statuses of 40 requests on one connection: separate programs can be slower than the limit
  set --
  for _ in $(seq 40); do set -- "$@" -o /dev/null "$url/v1/host"; done
  curl -sS -H "@$dir/viewer.header" -D "$dir/head" -w '%{http_code}\n' "$@"
}
many >"$dir/many"
is "requests over the limit are answered with 429" "$(sort -u "$dir/many" | tr '\n' ' ')" "200 429 "
ok "the reply has a Retry-After header" grep -qi '^Retry-After: 1' "$dir/head"
ok "later requests are answered again" until_ok 10 sh -c "[ \"\$(curl -sS -H '@$dir/viewer.header' -o /dev/null -w '%{http_code}' '$url/v1/host')\" = 200 ]"
is "the limit does not apply to the unix socket" "$(for _ in 1 2 3 4 5 6 7 8 9; do api GET /v1/host >/dev/null && status; done | tr -d '\n')" \
  200200200200200200200200200
stop

# --- places that contain no token ---

for secret in viewer robot chief; do cut -c 5- "$dir/$secret.token"; done >"$dir/secrets"
ok "the file of secrets has the tokens to search for" test "$(wc -c <"$dir/secrets")" -eq 132
ok "the log contains no token" sh -c "! grep -Ff '$dir/secrets' '$dir/log' && ! grep gvr_[A-Za-z0-9_-] '$dir/log'"
ok "the state directory contains no token" sh -c "! grep -rFf '$dir/secrets' '$dir/state'"
finish
