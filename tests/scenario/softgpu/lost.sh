#!/bin/sh
# kill -9 and loss of the contracts file: groups, contracts and caps stay. If the database is lost too, the groups are
# held at their caps until they get contracts again.
. "$(dirname "$0")/../softgpu.sh"

softgpu_conf
start || exit 1
ctl vgpu add a --cap 80 >/dev/null
ctl vgpu add b --cap 60 >/dev/null # the contracts exceed the GPU, so both caps are below the contracts
caps() { echo "$(kernel_cap a) $(kernel_cap b)"; }
sold() { get /v1/vgpus '[.vgpus[] | "\(.id) \(.initial_cap_pct) \(.held)"] | join(", ")'; }
ok "the database has both contracts" until_ok 10 sh -c \
  "sqlite3 -readonly '$dir/state/history.db' 'SELECT json FROM contracts' | gojq -e '.vgpus | length == 2'"
ctl freeze >/dev/null
was=$(caps)
stop KILL
rm "$dir/state/contracts.json"
start || exit 1
is "without the contracts file the contracts stay" "$(sold)" "a 80 false, b 60 false"
is "the caps in the kernel stay" "$(caps)" "$was"
is "the GPU stays frozen" "$(get /v1/gpus '.gpus[0].mode')" frozen
stop KILL
rm "$dir"/state/contracts.json "$dir"/state/history.db*
start || exit 1
ok "without both files the groups are found" until_ok 20 that /v1/vgpus '.vgpus | length == 2'
is "they are held" "$(get /v1/vgpus '[.vgpus[] | .held and .found] | all')" true
ok "the log names them" grep -q "contracts.json is missing.*vGPU a, b" "$dir/log"
ok "periods pass" periods 4
is "their caps are unchanged" "$(caps)" "$was"
ok "a gets a contract again" ctl vgpu add a --cap 80
is "an adopted vGPU is held until it is released" "$(get /v1/vgpus/a '"\(.initial_cap_pct) \(.found) \(.held)"')" "80 false true"
ok "the adopted vGPU can be released" ctl vgpu release a
restart
is "the released vGPU has the same state after a restart" "$(get /v1/vgpus '[.vgpus[].held] | join(" ")')" "false true"
ctl vgpu remove a >/dev/null
ctl vgpu remove b >/dev/null
finish
