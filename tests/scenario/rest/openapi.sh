#!/bin/sh
# Compares the REST description with the daemon in both directions: every route is described, every described answer occurs,
# and each answer matches its schema.
. "$(dirname "$0")/../lib.sh"
# Debian's Python: another Python would not find python3-jsonschema.
python=python3
[ -x /usr/bin/python3 ] && python=/usr/bin/python3
"$python" -c 'import jsonschema; jsonschema.Draft202012Validator' 2>/dev/null || skip_all "no python3-jsonschema here"
described=$top/gover-d/openapi/openapi.json
port=''
walk() { "$python" "$top/tests/openapi/walk.py" "${2:-$sock}" "$dir" "$1"; }
enum() { gojq -r ".components.schemas.$1.properties.$2.enum[]" "$described" | sort; }

cat "$top"/gover-d/api/resource/*.c >"$dir/code"
sed -n 's/.*{"\([A-Z]*\)", "\(\/[^"]*\)", .*/\1 \2/p' "$dir/code" | sort >"$dir/routes"
gojq -r '.paths | to_entries[] | .key as $path | .value | keys[] | "\(ascii_upcase) \($path)"' "$described" | sort >"$dir/described"
is "every route is described" "$(comm -23 "$dir/routes" "$dir/described")" ""
is "every described route exists" "$(comm -13 "$dir/routes" "$dir/described")" ""
sed -n 's/.*{"\([A-Z]*\)", "\(\/[^"]*\)", [a-z_]*, ACCESS_\([A-Z]*\), .*/\1 \2 \L\3/p' "$dir/code" | sort >"$dir/scopes"
gojq -r '.paths | to_entries[] | .key as $path | .value | to_entries[] |
  "\(.key | ascii_upcase) \($path) \(.value["x-gover-scope"])"' "$described" | sort >"$dir/schema"
is "the described scope is the required one" "$(comm -23 "$dir/scopes" "$dir/schema")" ""
tr '\n' ' ' <"$dir/code" | grep -oE '\{"[A-Z]+", "/[^"]*", [^{]*\{[^}]*\}\}' |
  sed 's/^{"\([A-Z]*\)", "\([^"]*\)", [^{]*{\([^}]*\)}}$/\1 \2 \3/; s/NULL//; s/[",]//g; s/ *$//' |
  while read -r method path query; do
    # shellcheck disable=SC2086 # words
    echo "$method $path $(printf '%s\n' $query | sort | paste -sd ' ')"
  done | sort >"$dir/queries"
gojq -r '.components.parameters as $shared | .paths | to_entries[] | .key as $path | .value | to_entries[] |
  ([.value.parameters[]? | if has("$ref") then $shared[."$ref" | split("/")[-1]] else . end |
    select(.in == "query").name] | sort | join(" ")) as $query |
  "\(.key | ascii_upcase) \($path) \($query)"' "$described" | sort >"$dir/schema"
is "the described parameters are the accepted ones" "$(comm -23 "$dir/queries" "$dir/schema")" ""
ok "the parameters of each route are found" test "$(wc -l <"$dir/queries")" -eq "$(wc -l <"$dir/routes")"
is "the version is that of the file VERSION" "$(gojq -r .info.version "$described")" "$(cat "$top/VERSION")"
"$B/gover-d" --print-config | sed -n '/^\[policy\]/,/^\[fps\]/s/^\([a-z_]*\) =.*/\1/p' | sort >"$dir/keys"
gojq -r '.components.schemas.PolicyParams.properties | keys[]' "$described" | sort >"$dir/schema"
ok "every changeable configuration key has a schema" diff "$dir/keys" "$dir/schema"
# openapi-python-client rejects a list as 'const' and 'items: false', and makes no class for an object with alternatives.
is "generators of clients can read every schema" "$(gojq -c '.components.schemas | to_entries[] | .key as $name | .value | .. |
  objects | select((.const | type == "array" or type == "object") or .items == false or (has("properties") and
  (has("anyOf") or has("oneOf")))) | $name' "$described" | sort -u)" ""
is "every operation has a description" "$(gojq -r '.paths[][] | select((.description // "") == "").operationId' "$described")" ""
is "the description names a contact" "$(gojq '.info.contact | has("name")' "$described")" true
gojq -r '.components.links[] | .operationId as $to | .parameters | keys[] | "\($to) \(sub("^header\\."; ""))"' "$described" | sort -u >"$dir/links"
gojq -r '.components.parameters as $shared | .paths[][] | .operationId as $to | .parameters[]? |
  if has("$ref") then $shared[."$ref" | split("/")[-1]] else . end | "\($to) \(.name)"' "$described" | sort -u >"$dir/schema"
is "each link names parameters of its operation" "$(comm -23 "$dir/links" "$dir/schema")" ""
sed -n 's/ \(id\|name\)$//p' "$dir/links" | sort -u >"$dir/linked"
is "a link leads to each operation on an object" "$(sed -n 's/ \(id\|name\)$//p' "$dir/schema" | sort -u | comm -13 "$dir/linked" -)" ""
sed -n '/^\.Sh ALERTS/,/^\.Sh DEC/s/^\.It Cm \([a-z_0-9]*\) Pq .*/\1/p' "$top/man/gover-d.8" | sort >"$dir/alerts"
enum Alert name >"$dir/schema"
is "every alert name is in the schema" "$(comm -3 "$dir/alerts" "$dir/schema")" ""
sed -n '/^\.Sh DECISIONS/,/^\.Sh ENV/s/^\.It Cm //p' "$top/man/gover-d.8" | tr -d ',' | tr -s ' ' '\n' | sort >"$dir/kinds"
enum Decision kind >"$dir/schema"
ok "every kind of decision is in the schema" diff "$dir/kinds" "$dir/schema"

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
start_sim
api GET /openapi.json >"$dir/openapi.json"
ok "the served description is the one in the source" cmp "$described" "$dir/openapi.json"
ok "each member accepts what its schema allows, up to its limits, and nothing else" walk limits
ok "a normal run matches the description" walk life
ok "all readable objects match the description" walk look
ok "reports of gover-fleet match the description" walk fleet
ok "paging returns the same lists" walk pages
ok "conditional requests match the description" walk conditions
ok "invalid requests are rejected as described" walk wrong_requests
ok "undescribed methods are rejected" walk wrong_methods
ok "the web page matches the description" walk page
ok "silences match the description" walk silences
ok "events match the description" walk events
ok "tokens and the audit log match the description" walk tokens
ok "unauthenticated callers over TCP are rejected as described" walk strangers "127.0.0.1:$port"
stop

rm -f "$dir"/state/history.db*
sqlite3 "$dir/state/history.db" 'PRAGMA application_id = 1' # a database of another program is not used
start --dry-run || exit 1
ok "a dry run without a history matches the description" walk unable
stop
rm "$dir/state/history.db"
conf_extra="$conf_extra
[access]
anonymous = read"
start_sim
ok "anonymous access matches the description" walk elsewhere "127.0.0.1:$port"
stop

sim_conf
sed -i 's/^backend = sim$/&\nunit = work/' "$conf"
start --state-dir "$dir/work" || exit 1
ok "on a GPU that counts work, each member accepts what its schema allows" walk limits
ok "a GPU that counts work matches the description" walk work
stop

period_ms=10000 sim_conf
"$B/gover-d" --config "$conf" >>"$dir/log" 2>&1 &
daemon_pid=$!
ok "the daemon answers before the first period" until_ok 20 curl -sSf --unix-socket "$sock" http://gover/healthz
ok "answers before the first period match the description" walk early
ok "every described answer has occurred" walk everything
finish
