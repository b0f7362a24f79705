#!/bin/sh
# A token that has expired stays expired after the clock is set back, also over a restart.
. "$(dirname "$0")/../lib.sh"

marked() { gojq -e '.tokens[] | select(.name == "t") | .expired' "$dir/state/tokens.json" >/dev/null; }

tcp
shift_clock 0
start_sim
ok "gover-ctl creates a token" token t read --expires 2m
ok "gover-ctl creates a token with a longer lifetime" token long read --expires 1h
is "the tokens are valid" "$(ask t GET /v1/host) $(ask long GET /v1/host)" "200 200"
shift_clock 180
ok "the mark is stored" until_ok 20 marked
is "the token has expired" "$(ask t GET /v1/host) $(ask long GET /v1/host)" "401 200"
shift_clock 0
ok "periods pass" periods 5
is "it stays expired after the clock is set back" "$(ask t GET /v1/host) $(ask long GET /v1/host)" "401 200"
stop KILL
start || exit 1
is "it stays expired after a restart" "$(ask t GET /v1/host) $(ask long GET /v1/host)" "401 200"
is "REST shows which token has expired" "$(get /v1/tokens '[.tokens[] | "\(.name) \(.expired)"] | sort | join(", ")')" "long false, t true"
is "its name can be used again after it was removed" "$(ctl token remove t; token t read && ask t GET /v1/host)" "removed: token t
200"

mkdir "$dir/state/tokens.json.new" # this folder prevents the replacement of the file, even by root
shift_clock 7200
ok "a mark that cannot be stored is logged" until_ok 20 grep -q 'tokens.json: cannot be written, so expired tokens may be valid again' "$dir/log"
is "the token has expired" "$(ask long GET /v1/host)" 401
rmdir "$dir/state/tokens.json.new"
stop
finish
