#!/bin/sh
# The contracts file is checked as a whole before a GPU is opened: an entry that cannot be adopted ends the start, and no
# cap is written and no vGPU is created, also for the entries before it.
GOVER_HOST=fuse
. "$(dirname "$0")/../host.sh"

host_setup
conf_extra="$unfunded
[gpu made]
backend = sim
root = $dir/poke
speed = $speed"
loop_conf
mkdir -p "$dir/poke"
contracts=$dir/state/contracts.json
start || exit 1
ok "a vGPU of the bus with a contract" host_vgpu a 60
api POST /v1/vgpus '{"id": "first", "gpu": "made", "initial_cap_pct": 30}' >/dev/null
is "a vGPU that the daemon creates" "$(status)" 201
stop
cp "$contracts" "$dir/good.json"
uuid=$(host_uuid a)
echo guarantee >"$host_parent/gover_sharing"
caps() { cat "$host_parent/$uuid/intel_vgpu/cap" "$host_parent/$uuid/intel_vgpu/cap_lease_ms" "$host_parent/gover_sharing" "$dir/state/caps" | cksum; }
before=$(caps)

refused() { # refused FILTER: the start fails with the contracts of the filter, which are in no database
  gojq "$1" "$dir/good.json" >"$contracts"
  rm -f "$dir"/state/history.db*
  timeout 20 "$B/gover-d" --config "$conf" >"$dir/out" 2>&1
  [ $? -eq 1 ]
}
says() { grep -q "$1" "$dir/out"; }
unchanged() { [ "$(caps)" = "$before" ] && ! says "was created again"; }

ok "a duplicate id in the last entry ends the start" refused '.vgpus += [.vgpus[0]]'
ok "the message names the file and both entries" says "$contracts: vgpus: element 2: id: .* is a duplicate of element 0"
ok "no cap, lease or sharing has changed, and no vGPU was created" unchanged
ok "so does a contract on an unknown GPU" refused '.vgpus += [.vgpus[1] | .id = "last" | .gpu = "gone"]'
ok "the message names the file and the entry" says "$contracts: vgpus: element 2: vGPU last has a contract on GPU gone, which is not configured"
ok "nothing has changed" unchanged
# shellcheck disable=SC2016 # a filter of gojq
ok "so do more contracts than a GPU can have" refused '.vgpus[1] as $one | .vgpus += [range(256) as $i | $one | .id = "v\($i)"]'
ok "the message names the file and the GPU" says "$contracts: GPU made has 257 contracts (limit 256)"
ok "nothing has changed" unchanged
ok "so does a GPU with two entries" refused '.gpus += [.gpus[0]]'
ok "the message names the file and both entries" says "$contracts: gpus: element 2: name: .* is a duplicate of element 0"
ok "nothing has changed" unchanged

cp "$dir/good.json" "$contracts"
start || exit 1
is "the repaired file is accepted" "$(get /v1/vgpus '[.vgpus[].state] | sort | join(" ")')" "active active"
finish
