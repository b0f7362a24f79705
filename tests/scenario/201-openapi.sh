#!/bin/sh
# The description of REST and the daemon, both ways: every route is described, what is described is there, every
# described answer is seen, and each answer is what its schema says.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"
# Debian's own: python3-jsonschema is not where another Python would look for it.
python=python3
[ -x /usr/bin/python3 ] && python=/usr/bin/python3
"$python" -c 'import jsonschema; jsonschema.Draft202012Validator' 2>/dev/null || skip_all "no python3-jsonschema here"
described=$top/openapi/openapi.json
walk() { "$python" "$top/tests/openapi/walk.py" "$sock" "$dir" "$1"; }

sed -n 's/.*{"\([A-Z]*\)", "\(\/[^"]*\)", api_.*/\1 \2/p' "$top/gover-d/api.c" | sort >"$dir/routes"
jq -r '.paths | to_entries[] | .key as $path | .value | keys[] | "\(ascii_upcase) \($path)"' "$described" | sort >"$dir/described"
ok "every route is described, and every described route is one" diff "$dir/routes" "$dir/described"
is "it is of this version" "$(jq -r .info.version "$described")" "$("$B/gover-d" --version 2>/dev/null | grep -oE '[0-9.]+' || sed -n 's/^version *:= *//p' "$top/Makefile")"
"$B/gover-d" --print-config | sed -n '/^\[policy\]/,/^\[fps\]/s/^\([a-z_]*\) =.*/\1/p' | sort >"$dir/keys"
jq -r '.components.schemas.PolicyParams.properties | keys[]' "$described" | sort >"$dir/schema"
ok "every live key of the configuration has its schema" diff "$dir/keys" "$dir/schema"
sed -n 's/^\t*{*"\([a-z_0-9]*\)", ALERT_[A-Z]*, [0-9].*/\1/p; s/.*= {"\([a-z_0-9]*\)", ALERT_.*/\1/p' "$top/gover-d/alerts.c" | sort >"$dir/alerts"
jq -r '.components.schemas.Alert.properties.name.enum[]' "$described" | sort >"$dir/schema"
ok "every alert has its name there" diff "$dir/alerts" "$dir/schema"
sed -n '/^\.Sh DECISIONS/,/^\.Sh ENV/s/^\.It Cm //p' "$top/man/gover-d.8" | tr -d ',' | tr -s ' ' '\n' | sort >"$dir/kinds"
jq -r '.components.schemas.Decision.properties.kind.enum[]' "$described" | sort >"$dir/schema"
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
sim_conf
start || exit 1
ok "what is served is what stands in the source" cmp "$described" <<END
$(curl -sS --unix-socket "$sock" http://gover/openapi.json)
END
ok "each member of a change takes what its schema allows, to its ends, and nothing beyond" walk limits
ok "a host's life is as described" walk life
ok "so is all that can be looked at" walk look
ok "lists are the same page by page" walk pages
ok "a change can be made to hang on what was read" walk conditions
ok "and all that must be refused" walk wrong_requests
ok "nothing else is there" walk wrong_methods
stop

rm -f "$dir"/state/history.db*
mkdir "$dir/state/history.db"
start --dry-run || exit 1
ok "without a history, in a dry run" walk unable
stop
rmdir "$dir/state/history.db"

period_ms=10000 sim_conf
"$B/gover-d" --config "$conf" >>"$dir/log" 2>&1 &
daemon_pid=$!
ok "there is a time before the first period" until_ok 20 curl -sSf --unix-socket "$sock" http://gover/healthz
ok "which is as described" walk early
ok "every described answer was seen" walk everything
stop
finish
