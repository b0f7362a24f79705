#!/bin/sh
# The contracts file is lost, spoilt or older than the database: contracts and holds are those of the database. Both are
# lost: nothing is made up, and whom it concerns is named.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

conf_extra=$unfunded
sim_conf
file=$dir/state/contracts.json
db=$dir/state/history.db
in_db() { # in_db FILTER: true of the contracts the database keeps
  sqlite3 -readonly "$db" 'SELECT json FROM contracts' | jq -e "$1" >/dev/null
}
sold() { get /v1/vgpus '[.vgpus[] | "\(.id) \(.initial_cap_pct) \(.target_fps) \(.vm) \(.held) \(.found)"] | join(", ")'; }
start || exit 1
api POST /v1/vgpus '{"id": "a", "initial_cap_pct": 80, "vm": "vm-a", "target_fps": 30, "labels": {"customer": "7"}}' >/dev/null
api POST /v1/vgpus '{"id": "b", "initial_cap_pct": 50, "vm": "vm-b"}' >/dev/null
api PATCH /v1/vgpus/a '{"held": true, "held_cap_pct": 30}' >/dev/null
api PATCH /v1/gpus/gpu0 '{"selling": "off"}' >/dev/null
is "sold, and a hold" "$(status) $(sold)" "200 a 80 30 vm-a true false, b 50 0 vm-b false false"
was=$(sold)
ok "the database has it too" until_ok 10 in_db '(.vgpus | length == 2) and .vgpus[0].held and (.gpus[0].selling | not)'
stop KILL

rm "$file"
start || exit 1
is "the file is gone: contracts and holds are not" "$(sold)" "$was"
is "nor labels and what is set on the GPU" "$(get /v1/vgpus/a .labels.customer) $(get /v1/gpus '.gpus[0].selling')" "7 off"
ok "the log names the file and where they were found" grep -q "contracts.json.*are taken from .*history.db, as of 2" "$dir/log"
ok "the file is there again" until_ok 10 jq -e '.vgpus | length == 2' "$file"
stop

: >"$file"
start || exit 1
is "the file is empty: likewise" "$(sold)" "$was"
ok "it is kept beside the new one" test -f "$file.old"
stop
rm "$file.old"

start || exit 1
api PATCH /v1/vgpus/b '{"vm": "vm-b"}' >/dev/null # answered: no save is under way
mkdir "$file.new" # where the next file is written, for root too
api PATCH /v1/vgpus/b '{"initial_cap_pct": 40}' >/dev/null
is "a change that cannot be put in the file" "$(status)" 507
ok "is put in the database" until_ok 10 in_db '.vgpus[1].initial_cap_pct == 40'
stop KILL
rmdir "$file.new"
start || exit 1
is "and is found there, the newer one" "$(get /v1/vgpus/b .initial_cap_pct)" 40
ok "which the log says" grep -q "history.db has newer contracts" "$dir/log"
stop

rm "$file" "$db"
"$B/gover-d" --config "$conf" --restore >"$dir/out" 2>&1
is "both are gone: --restore has nothing to go by" "$?" 1
ok "and says so" grep -q "contracts.json is missing" "$dir/out"
start || exit 1
ok "a start names the file and whom it concerns" grep -q "contracts.json is missing.*vGPU a, b" "$dir/log"
is "and makes nothing up" "$(sold)" ""
ok "sells again" sh -c "curl -sS --unix-socket '$sock' -d '{\"id\": \"a\", \"initial_cap_pct\": 80}' \
  -H 'Content-Type: application/json' http://gover/v1/vgpus | jq -e '.initial_cap_pct == 80 and (.held | not)'"
stop
finish
