#!/bin/sh
# A daemon that starts before the driver of its GPU runs, reports the reason, and opens the GPU when the driver is loaded. A driver
# that is unloaded and loaded again is found again without a restart. gover-sim is the driver: its mount is sysfs.
GOVER_HOST=fuse
. "$(dirname "$0")/../host.sh"

load_driver() { # load_driver KIND
  fuse_mount "$dir/sys" --kind "$1" --speed "$speed"
}
stale() { # stale TEXT: the alert names the GPU and contains TEXT
  that /v1/alerts ".alerts | any(.name == \"telemetry_stale\" and .gpu == \"gpu0\" and (.text | contains(\"$1\")))"
}
problem() { that /v1/gpus ".gpus[0].problem | contains(\"$1\")"; }
knows() { that "/v1/vgpus/$uuid" ".state == \"active\" and .load_pct != null and .initial_cap_pct == $1"; }
logged() { grep -c "$1" "$dir/log"; }

# --- GVT-g ---

host_sys=$dir/sys
mkdir -p "$dir/sys"
conf_extra="$unfunded" loop_conf
sed -i 's/^lease_ms.*/&\nparent = 0000:00:02.0/' "$conf"
ok "a start before the driver does not fail" start
ok "an alert contains the reason" until_ok 20 stale 'GPU gpu0 cannot be opened: parent = 0000:00:02.0: not a GPU of GVT-g'
ok "it says when the next attempt is" until_ok 20 stale 'the next attempt is in '
ok "so does the GPU in REST" until_ok 20 problem 'parent = 0000:00:02.0: not a GPU of GVT-g'
ok "gover-ctl status shows it" sh -c "'$B/gover-ctl' --socket '$sock' status | grep -q 'cannot be opened: parent = 0000:00:02.0'"
ok "gover-ctl doctor shows it" sh -c "'$B/gover-ctl' --socket '$sock' doctor | grep -q 'cannot be opened: parent = 0000:00:02.0'"
api POST /v1/vgpus '{"id": "x", "gpu": "gpu0", "initial_cap_pct": 10}' >/dev/null
is "nothing can be sold on it" "$(status)" 503
ok "several attempts pass" until_ok 20 test "$(sleep 4 && logged 'cannot be opened')" -ge 1
is "the same reason is logged once" "$(logged 'gover-d: GPU gpu0 cannot be opened')" 1

load_driver gvt
host_parent=$host_sys/class/mdev_bus/0000:00:02.0
ok "the GPU is opened when the driver is loaded" until_ok 60 that /v1/gpus '.gpus[0].telemetry_valid'
ok "the alert is cleared" until_ok 30 alerts 0 telemetry_stale
ok "no problem remains" until_ok 20 that /v1/gpus '.gpus[0].problem == null' # a busy machine reads a GPU too late now and then
ok "a vGPU is sold" host_vgpu a 60
ok "it is read" until_ok 20 knows 60

fuse_unmount
ok "the driver is unloaded: an alert" until_ok 20 stale 'the vGPUs of GPU gpu0 cannot be listed: '"$host_parent"': No such file or directory (is the driver loaded?)'
load_driver gvt
make_on_bus "$uuid" 60
ok "the driver is loaded again: the vGPU is found again" until_ok 60 knows 60
ok "the alert is cleared" until_ok 30 alerts 0 telemetry_stale

fuse_unmount
stop
ok "a daemon with a contract starts without the driver" start
ok "an alert contains the reason" until_ok 20 stale 'cannot be opened: parent = 0000:00:02.0: not a GPU of GVT-g'
ok "the contract stays" that "/v1/vgpus/$uuid" '.initial_cap_pct == 60'
ok "no alert says that the vGPU does not exist" alerts 0 vgpu_missing
is "its promise does not count as kept" "$(get "/v1/vgpus/$uuid" '.promise == "kept"')" false
"$B/gover-d" --config "$conf" --state-dir "$dir/state" --restore 2>"$dir/restored"
ok "--restore beside a daemon fails at once" grep -q 'another gover-d' "$dir/restored"
load_driver gvt
make_on_bus "$uuid" 60
ok "the vGPU is adopted when the driver is loaded" until_ok 60 knows 60
is "no cap counts as changed externally" "$(decided foreign_write)" 0
fuse_unmount
stop
"$B/gover-d" --config "$conf" --restore 2>"$dir/restored"
is "--restore without the driver fails" "$?" 1
ok "it reports the reason" grep -q 'GPU gpu0 cannot be opened: parent = 0000:00:02.0: not a GPU of GVT-g' "$dir/restored"

# --- SR-IOV: the driver xe, with its counters ---

rm -rf "$dir/state"
sed -i 's/^backend = .*/backend = xe/; /^lease_ms/d' "$conf"
start || exit 1
ok "xe: an alert contains the reason" until_ok 20 stale 'parent = 0000:00:02.0: not a physical function whose driver has settings of SR-IOV'
enable_vf() { # enables a VF with a quantum that is half of the round
  load_driver xe
  pf=$host_sys/bus/pci/drivers/xe/0000:00:02.0
  echo 1 >"$pf/sriov_numvfs"
  echo 20 >"$pf/sriov_admin/vf1/profile/exec_quantum_ms"
  echo 20 >"$pf/sriov_admin/pf/profile/exec_quantum_ms"
}
enable_vf
uuid=$(basename "$(readlink "$pf/virtfn0")" | tr : _)
ok "xe: the GPU is opened when the driver is loaded" until_ok 60 that "/v1/vgpus/$uuid" '.load_pct != null'
api POST /v1/vgpus "{\"id\": \"$uuid\", \"initial_cap_pct\": 50}" >/dev/null
is "xe: the function gets a contract" "$(status)" 201
fuse_unmount
ok "xe: the driver is unbound: an alert" until_ok 20 stale 'the vGPUs of GPU gpu0 cannot be listed: parent = 0000:00:02.0: not a physical function'
enable_vf
ok "xe: the driver is bound again: busy time is read again" until_ok 60 knows 50
ok "xe: the alert is cleared" until_ok 30 alerts 0 telemetry_stale
api PATCH "/v1/vgpus/$uuid" '{"held": true, "held_cap_pct": 30}' >/dev/null
is "xe: a cap can be written" "$(status) $(gojq -r .cap_pct "$dir/body")" "200 30"
finish
