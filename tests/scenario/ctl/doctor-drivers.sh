#!/bin/sh
# doctor and status on hosts with none, one or two of the drivers that divide a GPU: trees of gover-sim as /sys.
# shellcheck disable=SC2016 # of inner shells
GOVER_HOST=fuse
. "$(dirname "$0")/../host.sh"
[ "$(id -u)" -eq 0 ] || skip_all "needs root"
unshare -m --propagation private true 2>/dev/null || skip_all "needs mount namespaces"

xe=0000:00:02.0 # also the address of the GPU with GVT-g, in a tree of its own
device=$dir/tree-xe/bus/pci/drivers/xe/$xe
fuse_mount "$dir/tree-xe" --kind xe --vgpus 4
fuse_mount "$dir/tree-gvt"
mkdir -p "$dir/none/bus" "$dir/xe/bus" "$dir/both/bus"
ln -s "$dir/tree-xe/bus/pci" "$dir/xe/bus/pci"
ln -s "$dir/tree-xe/bus/pci" "$dir/both/bus/pci"
ln -s "$dir/tree-gvt/bus/mdev" "$dir/both/bus/mdev"
ln -s "$dir/tree-gvt/class" "$dir/both/class"

on() { # on HOST COMMAND...: runs it with the tree of the host as /sys
  host=$1
  shift
  unshare -m --propagation private sh -c 'mount --rbind "$0" /sys && exec "$@"' "$dir/$host" "$@"
}
doctor() { # doctor HOST: text to $dir/text, JSON to $dir/doctor
  on "$1" "$B/gover-ctl" --socket "$sock" doctor >"$dir/text" 2>&1
  on "$1" "$B/gover-ctl" --socket "$sock" --json doctor >"$dir/doctor"
}
finding() { # finding CHECK: prints "STATE: TEXT", or nothing if the check was skipped
  gojq -r --arg check "$1" '.checks[] | select(.check == $check) | "\(.state): \(.text)"' "$dir/doctor"
}
# A busy machine reads a GPU too late from time to time; then doctor reports that its busy time is not known.
controls() { # controls HOST GPUS
  doctor "$1"
  [ "$(finding gpus)" = "ok: controlled GPUs: $2" ]
}
advice() { gojq -r --arg check "$1" '.checks[] | select(.check == $check).advice' "$dir/doctor"; }
in_text() { # in_text CHECK: the text output has the same finding
  grep -qF "$(gojq -r --arg check "$1" '.checks[] | select(.check == $check).text' "$dir/doctor" | cut -c 1-60)" "$dir/text"
}
run_on() { # run_on HOST SECTIONS
  printf '[daemon]\nsocket = %s\nstate_dir = %s/state-%s\nperiod_ms = 250\n%s\n[fps]\nsocket = %s/fps.sock\n' \
    "$sock" "$dir" "$1" "$2" "$dir" >"$conf"
  start || exit 1
}
skipped="" # a check that was skipped has no finding

# --- none: a host with other devices only ---

doctor none
is "none: no finding about SR-IOV or its counters" "$(finding sriov)$(finding xe-pmu)$(finding gvt)" "$skipped"
is "none: GVT-g is missing" "$(finding mdev)" "warn: no mediated device bus (/sys/bus/mdev): this host has no GVT-g"
ok "none: the text says the same" in_text mdev
run_on none "[gpu]
root = $dir/none"
doctor none
is "none: the daemon runs without a GPU" "$(finding gpus)" "warn: the daemon controls no GPU"
ok "none: status says so" sh -c '"$@" | grep -q "No GPUs: gover-d found no vGPU scheduler"' sh "$B/gover-ctl" --socket "$sock" status
is "none: so does its JSON" "$(ctl --json status | gojq -c .gpus)" "[]"
stop

# --- xe: each step of the setup ---

doctor xe
is "xe: functions must be enabled" "$(finding sriov)" "warn: GPU $xe: no virtual function is enabled, of 4"
is "xe: with the command" "$(advice sriov)" "echo 3 >/sys/bus/pci/devices/$xe/sriov_numvfs"
is "xe: the counters are those of the tree" "$(finding xe-pmu)" \
  "ok: GPU $xe is simulated: gover-sim counts the busy time of its functions"
is "xe: no finding about GVT-g" "$(finding gvt)" "$skipped"
ok "xe: the command of the advice works" on xe sh -c "$(advice sriov)"
doctor xe
is "xe: a function has no limit" "$(finding sriov)" \
  "warn: GPU $xe: virtual function 1 has no limit in exec_quantum_ms: it keeps the GPU until it has no work"
ok "xe: the text says the same" in_text sriov
echo 20 >"$device/sriov_admin/pf/profile/exec_quantum_ms"
doctor xe
is "xe: the host keeps much of each round" "$(finding sriov | cut -d : -f 1-5 | cut -d ' ' -f 1-13)" \
  "warn: GPU $xe: the host keeps its own time slice of 20 ms"
echo 1 >"$device/sriov_admin/pf/profile/exec_quantum_ms"
run_on xe "[gpu]
root = $dir/xe"
for vf in 1 2 3; do
  ok "xe: vGPU $vf gets a contract" ctl vgpu add "0000_00_02.$vf" --cap $((vf * 10 + 10))
done
round() { ctl --json status | gojq -c '.gpus[0] | [.backend, .round_ms, .longest_wait_ms, .host_share_pct]'; }
round_is() { [ "$(round)" = "$1" ]; }
until_ok 20 round_is '["xe",10,9,10]'
is "xe: status has the round and the part of the host" "$(round)" '["xe",10,9,10]'
ctl status >"$dir/status-text"
ok "xe: so does its text" grep -qE '^GPU .* HOST% ' "$dir/status-text"
ok "xe: with the backend" grep -qE '^gpu0? +xe +act ' "$dir/status-text"
doctor xe
is "xe: nothing is missing" "$(finding sriov)" \
  "ok: 1 GPU with SR-IOV; GPU $xe has 3 vGPUs, whose time slices can be written (sriov_admin of driver xe)"
ok "xe: the daemon controls it" until_ok 20 controls xe "gpu0 (xe, act)"
stop

# --- both: GVT-g and SR-IOV ---

doctor both
is "both: GVT-g is found" "$(finding mdev)" "ok: 1 GPU with mediated devices, 0 existing vGPUs"
is "both: SR-IOV is found" "$(finding sriov | cut -d ' ' -f 1-5)" "ok: 1 GPU with SR-IOV;"
run_on both "[gpu old]
backend = gvt
root = $dir/both
[gpu new]
backend = xe
root = $dir/both"
is "both: status has both GPUs" "$(ctl --json status | gojq -c '[.gpus[] | [.name, .backend]]')" '[["old","gvt"],["new","xe"]]'
ctl status >"$dir/status-text"
is "both: so does its text" "$(awk '$2 == "gvt" || $2 == "xe" { print $1, $2 }' "$dir/status-text" | xargs)" "old gvt new xe"
doctor both
ok "both: the daemon controls both" until_ok 20 controls both "old (gvt, act), new (xe, act)"
stop
run_on auto "[gpu]
root = $dir/both"
is "both: backend = auto selects the first" "$(get /v1/gpus '[.gpus[].backend] | join(" ")')" gvt
finish
