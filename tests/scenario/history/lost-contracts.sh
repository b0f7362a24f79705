#!/bin/sh
# The contracts file is lost, damaged or older than the database: contracts and holds come from the database. If file
# and database are lost, no contract is created, and the log names the vGPUs without a contract.
. "$(dirname "$0")/../lib.sh"

conf_extra=$unfunded
sim_conf
file=$dir/state/contracts.json
db=$dir/state/history.db
in_db() { # in_db FILTER: applies FILTER to the contracts in the database
  sqlite3 -readonly "$db" 'SELECT json FROM contracts' | gojq -e "$1" >/dev/null
}
sold() { get /v1/vgpus '[.vgpus[] | "\(.id) \(.initial_cap_pct) \(.target_fps) \(.vm) \(.held) \(.found)"] | join(", ")'; }
start || exit 1
api POST /v1/vgpus '{"id": "a", "initial_cap_pct": 80, "vm": "vm-a", "target_fps": 30, "labels": {"customer": "7"}}' >/dev/null
api POST /v1/vgpus '{"id": "b", "initial_cap_pct": 50, "vm": "vm-b"}' >/dev/null
api PATCH /v1/vgpus/a '{"held": true, "held_cap_pct": 30}' >/dev/null
api PATCH /v1/gpus/gpu0 '{"selling": "off"}' >/dev/null
is "two contracts and a hold" "$(status) $(sold)" "200 a 80 30 vm-a true false, b 50 0 vm-b false false"
was=$(sold)
ok "the database has them too" until_ok 10 in_db '(.vgpus | length == 2) and .vgpus[0].held and (.gpus[0].selling | not)'
stop KILL

rm "$file"
start || exit 1
is "without the file: contracts and holds are loaded from the database" "$(sold)" "$was"
is "labels and settings of the GPU are loaded too" "$(get /v1/vgpus/a .labels.customer) $(get /v1/gpus '.gpus[0].selling')" "7 off"
ok "the log names the file and the database" grep -q "contracts.json.*using the contracts and holds of .*history.db, saved at 2" "$dir/log"
ok "the file is written again" until_ok 10 gojq -e '.vgpus | length == 2' "$file"
stop

: >"$file"
start || exit 1
is "with an empty file, contracts are loaded from the database too" "$(sold)" "$was"
ok "the empty file is kept" test -f "$file.old"
stop
rm "$file.old"

start || exit 1
api PATCH /v1/vgpus/b '{"vm": "vm-b"}' >/dev/null # after the answer, no write of the contracts is in progress
mkdir "$file.new" # blocks the next write, for root too
api PATCH /v1/vgpus/b '{"initial_cap_pct": 40}' >/dev/null
is "a change that cannot be written to the file is 507" "$(status)" 507
echo 33 >"$dir/poke/b.cap"
ok "a hold after an external change is written to the database" until_ok 10 in_db '.vgpus[1].held_cap_pct == 33'
stop KILL
rmdir "$file.new"
start || exit 1
is "the newer contracts of the database are loaded" "$(get /v1/vgpus/b '"\(.held) \(.initial_cap_pct)"')" "true 50"
ok "the log reports newer contracts of the database" grep -q "history.db at .*: using the newer contracts" "$dir/log"
stop

rm "$file" "$db"
"$B/gover-d" --config "$conf" --restore >"$dir/out" 2>&1
is "without file and database --restore fails" "$?" 1
ok "the error names the missing file" grep -q "contracts.json is missing" "$dir/out"
start || exit 1
ok "a start logs the file and the vGPUs" grep -q "contracts.json is missing.*vGPU a, b" "$dir/log"
is "the daemon invents no contract" "$(sold)" ""
ok "a contract can be created again" sh -c "curl -sS --unix-socket '$sock' -d '{\"id\": \"a\", \"initial_cap_pct\": 80}' \
  -H 'Content-Type: application/json' http://gover/v1/vgpus | gojq -e '.initial_cap_pct == 80 and (.held | not)'"
finish
