#!/bin/sh
# The description of REST and the daemon, both ways: every route is described, what is described is there, every
# described answer is seen, and each answer is what its schema says.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"
# Debian's own: python3-jsonschema is not where another Python would look for it.
python=python3
[ -x /usr/bin/python3 ] && python=/usr/bin/python3
"$python" -c 'import jsonschema; jsonschema.Draft202012Validator' 2>/dev/null || skip_all "no python3-jsonschema here"
described=$top/gover-d/openapi/openapi.json
port=''
walk() { "$python" "$top/tests/openapi/walk.py" "${2:-$sock}" "$dir" "$1"; }
enum() { jq -r ".components.schemas.$1.properties.$2.enum[]" "$described" | sort; }

sed -n 's/.*{"\([A-Z]*\)", "\(\/[^"]*\)", api_.*/\1 \2/p' "$top/gover-d/api/api.c" | sort >"$dir/routes"
jq -r '.paths | to_entries[] | .key as $path | .value | keys[] | "\(ascii_upcase) \($path)"' "$described" | sort >"$dir/described"
is "every route is described" "$(comm -23 "$dir/routes" "$dir/described")" ""
is "and every described route is one" "$(comm -13 "$dir/routes" "$dir/described")" ""
sed -n 's/.*{"\([A-Z]*\)", "\(\/[^"]*\)", api_[a-z_]*, \([A-Z]*\), .*/\1 \2 \L\3/p' "$top/gover-d/api/api.c" | sort >"$dir/scopes"
jq -r '.paths | to_entries[] | .key as $path | .value | to_entries[] |
  "\(.key | ascii_upcase) \($path) \(.value["x-gover-scope"])"' "$described" | sort >"$dir/schema"
is "with the scope that it takes" "$(comm -23 "$dir/scopes" "$dir/schema")" ""
tr '\n' ' ' <"$top/gover-d/api/api.c" | grep -oE '\{"[A-Z]+", "/[^"]*", api_[^{]*\{[^}]*\}\}' |
  sed 's/^{"\([A-Z]*\)", "\([^"]*\)", api_[^{]*{\([^}]*\)}}$/\1 \2 \3/; s/NULL//; s/[",]//g; s/ *$//' |
  while read -r method path query; do
    # shellcheck disable=SC2086 # words
    echo "$method $path $(printf '%s\n' $query | sort | paste -sd ' ')"
  done | sort >"$dir/queries"
jq -r '.components.parameters as $shared | .paths | to_entries[] | .key as $path | .value | to_entries[] |
  ([.value.parameters[]? | if has("$ref") then $shared[."$ref" | split("/")[-1]] else . end |
    select(.in == "query").name] | sort | join(" ")) as $query |
  "\(.key | ascii_upcase) \($path) \($query)"' "$described" | sort >"$dir/schema"
is "and the parameters" "$(comm -23 "$dir/queries" "$dir/schema")" ""
ok "of each route" test "$(wc -l <"$dir/queries")" -eq "$(wc -l <"$dir/routes")"
is "it is of this version" "$(jq -r .info.version "$described")" "$(sed -n 's/^version *:= *//p' "$top/Makefile")"
"$B/gover-d" --print-config | sed -n '/^\[policy\]/,/^\[fps\]/s/^\([a-z_]*\) =.*/\1/p' | sort >"$dir/keys"
jq -r '.components.schemas.PolicyParams.properties | keys[]' "$described" | sort >"$dir/schema"
ok "every live key of the configuration has its schema" diff "$dir/keys" "$dir/schema"
sed -n '/^\.Sh ALERTS/,/^\.Sh DEC/s/^\.It Cm \([a-z_0-9]*\) Pq .*/\1/p' "$top/man/gover-d.8" | sort >"$dir/alerts"
enum Alert name >"$dir/schema"
is "every alert has its name there" "$(comm -3 "$dir/alerts" "$dir/schema")" ""
sed -n '/^\.Sh DECISIONS/,/^\.Sh ENV/s/^\.It Cm //p' "$top/man/gover-d.8" | tr -d ',' | tr -s ' ' '\n' | sort >"$dir/kinds"
enum Decision kind >"$dir/schema"
ok "and every kind of decision" diff "$dir/kinds" "$dir/schema"

conf_extra='[flavor small]
cap_pct = 20
[policy]
fund_window_s = 2
[offer]
flavor_cap_pct = 30
max_vgpus = 8
ttl_s = 86400
probation_s = 2'
tcp
sim_conf
start || exit 1
api GET /openapi.json >"$dir/openapi.json"
ok "what is served is what stands in the source" cmp "$described" "$dir/openapi.json"
ok "each member of a change takes what its schema allows, to its ends, and nothing beyond" walk limits
ok "a host's life is as described" walk life
ok "so is all that can be looked at" walk look
ok "lists are the same page by page" walk pages
ok "a change can be made to hang on what was read" walk conditions
ok "what must be refused is" walk wrong_requests
ok "nothing else is there" walk wrong_methods
ok "the page is as described" walk page
ok "so are silences" walk silences
ok "and events" walk events
ok "and tokens, and the record of who did what" walk tokens
ok "over TCP strangers are told so" walk strangers "127.0.0.1:$port"
stop

rm -f "$dir"/state/history.db*
mkdir "$dir/state/history.db"
start --dry-run || exit 1
ok "without a history, in a dry run" walk unable
stop
rmdir "$dir/state/history.db"
conf_extra="$conf_extra
[access]
anonymous = read"
sim_conf
start || exit 1
ok "who need not be known must mean this host" walk elsewhere "127.0.0.1:$port"
stop

period_ms=10000 sim_conf
"$B/gover-d" --config "$conf" >>"$dir/log" 2>&1 &
daemon_pid=$!
ok "there is a time before the first period" until_ok 20 curl -sSf --unix-socket "$sock" http://gover/healthz
ok "which is as described" walk early
ok "every described answer was seen" walk everything
stop
finish
