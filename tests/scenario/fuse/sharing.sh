#!/bin/sh
# [gpu] sharing on a host with GVT-g: with guarantee, a vGPU uses the time that others leave unused, up to its contract,
# and only its cap when the others have work. The daemon does not start if the GPU has only hard caps.
GOVER_HOST=fuse
. "$(dirname "$0")/../host.sh"

host_setup
set_sharing() { # set_sharing WORD [SECTIONS]: writes a configuration
  conf_extra="[policy]
name = none
${2-}" sharing=$1 loop_conf
}
log_has() { grep -q "$1" "$dir/log"; }
file_is() { [ "$(cat "$host_parent/gover_sharing")" = "$1" ]; }
mean_load() { # mean_load NAME: prints the load of a whole second, in whole percent
  before=$(cat "$host_parent/$(host_uuid "$1")/intel_vgpu/busy_time")
  allotted=$(cat "$host_parent/$(host_uuid "$1")/intel_vgpu/sched_time")
  sleep 1
  after=$(cat "$host_parent/$(host_uuid "$1")/intel_vgpu/busy_time")
  now=$(cat "$host_parent/$(host_uuid "$1")/intel_vgpu/sched_time")
  echo $(((after - before) * $(host_cap "$1") / (now - allotted)))
}
is_near() { [ "$1" -ge $(($2 - 2)) ] && [ "$1" -le $(($2 + 2)) ]; } # is_near VALUE WANTED
load_is() { is_near "$(mean_load "$1")" "$2"; }
# A daemon that starts is stopped after 20 s, and its status is not 1.
refused() { timeout 20 "$B/gover-d" --config "$conf" --state-dir "$dir/state2" >"$dir/err" 2>&1; }

# --- auto, the default ---

loop_conf
sed -i '/^sharing = /d' "$conf"
start || exit 1
is "caps are guarantees by default" "$(get /v1/gpus '.gpus[0].sharing')" guarantee
is "the file of the GPU agrees" "$(cat "$host_parent/gover_sharing")" guarantee
ok "the log has a line" log_has 'GPU gpu0: its sharing is guarantee$'
host_vgpu a 50
host_vgpu b 50
ok "the ceiling is the contract" until_ok 20 grep -qx 50 "$host_parent/$uuid_a/intel_vgpu/cap_ceiling"
api PATCH /v1/policy '{"paper_mode": true}' >/dev/null
ok "paper mode makes caps hard while the daemon runs" until_ok 20 file_is hard
ok "REST reports it" until_ok 20 that /v1/gpus '.gpus[0].sharing == "hard"'
ok "the log contains the reason" log_has 'GPU gpu0: its sharing is hard: the caps of the paper are hard limits (paper_mode = on)$'
stop
: >"$dir/log"
start || exit 1
is "a restart in paper mode has hard caps" "$(get /v1/gpus '.gpus[0].sharing') $(cat "$host_parent/gover_sharing")" "hard hard"
ok "it is logged once" test "$(grep -c 'its sharing is' "$dir/log")" = 1
echo 60 >"$host_parent/$uuid_a/intel_vgpu/cap_ceiling"
api PATCH /v1/policy '{"paper_mode": false}' >/dev/null
ok "without paper mode caps are guarantees again" until_ok 20 file_is guarantee
ok "the daemon writes the ceilings again" until_ok 20 grep -qx 50 "$host_parent/$uuid_a/intel_vgpu/cap_ceiling"
stop
echo hard >"$host_parent/gover_sharing"
start --dry-run || exit 1
is "a dry run reports the sharing in force, and changes nothing" "$(get /v1/gpus '.gpus[0].sharing') $(cat "$host_parent/gover_sharing")" "hard hard"
stop

# --- hard ---

set_sharing hard
start || exit 1
host_load a 100
ok "the load of a vGPU with work is its cap" until_ok 20 load_is a 50
host_write_cap a 30
ok "the time of an idle vGPU stays unused" until_ok 20 load_is a 30
stop

# --- guarantee ---

set_sharing guarantee
start || exit 1
is "the daemon sets the file" "$(cat "$host_parent/gover_sharing")" guarantee
is "REST reports the sharing" "$(get /v1/gpus '.gpus[0].sharing')" guarantee
is "so does the table" "$("$B/gover-ctl" --socket "$sock" status | grep -c guarantee)" 1
is "and the metric" "$(curl -sSf --unix-socket "$sock" http://gover/metrics | sed -n 's/^gover_gpu_guarantees{[^}]*} //p')" 1
is "the cap is as before" "$(host_cap a)" 30
ok "a vGPU uses idle time up to its contract" until_ok 20 load_is a 50
ok "its use is above the cap" vgpu_is a '.util_pct > 150 and .load_pct > 45'
ok "it is not broken" vgpu_is a '.broken | not'
api PATCH "/v1/vgpus/$uuid_a" '{"burst": true}' >/dev/null
ok "with burst the ceiling is the GPU" until_ok 20 grep -qx 100 "$host_parent/$uuid_a/intel_vgpu/cap_ceiling"
ok "it uses all idle time" until_ok 20 load_is a 100
host_load b 100
ok "another vGPU gets its guarantee" until_ok 20 load_is b 50
ok "from the time beyond the cap of the first" until_ok 20 load_is a 50
host_load b 10
ok "time that it does not need is used again" until_ok 20 load_is a 90
stop
is "the sharing stays when the daemon ends" "$(cat "$host_parent/gover_sharing")" guarantee
set_sharing hard
start || exit 1
is "a daemon with hard caps sets it back" "$(cat "$host_parent/gover_sharing")" hard
stop

# --- refused ---

set_sharing guarantee 'paper_mode = on'
refused
is "paper mode needs hard caps" "$?" 1
ok "the message names the GPU and the key" grep -q '\[gpu gpu0\] sharing = guarantee: not possible with \[policy\] paper_mode = on' "$dir/err"
sed -i 's/^backend = gvt/backend = lib/; s/^paper_mode.*//; s/^root = .*//; s/^speed = .*//' "$conf"
refused
is "a backend with hard caps only is rejected" "$?" 1
ok "with a message" grep -q '\[gpu gpu0\] sharing = guarantee: not possible with backend = lib (allowed with this backend: auto or hard)' "$dir/err"

# A kernel without the file.
old=$dir/old/class/mdev_bus/0000:00:02.0
mkdir -p "$old/mdev_supported_types/i915-GVTg_V5_8" "$dir/old/bus/mdev/devices"
for backend in gvt auto; do
  printf '[daemon]\nsocket = %s\n[gpu gpu0]\nbackend = %s\nroot = %s\nsharing = guarantee\n[fps]\nsocket = %s\n' \
    "$sock" "$backend" "$dir/old" "$dir/fps.sock" >"$conf"
  refused
  is "a GPU without gover_sharing is rejected, backend = $backend" "$?" 1
  ok "the message names GPU, key and file" grep -q "GPU gpu0 cannot be opened: sharing = guarantee: .*$old/gover_sharing does not exist (allowed: hard)" "$dir/err"
done
# With auto, such a GPU has hard caps, and a third discipline of an administrator stays.
plain_conf() { # plain_conf SHARING
  printf '[daemon]\nsocket = %s\nstate_dir = %s\n[gpu gpu0]\nbackend = gvt\nroot = %s\nsharing = %s\n[fps]\nsocket = %s\n' \
    "$sock" "$dir/state3" "$dir/old" "$1" "$dir/fps.sock" >"$conf"
  : >"$dir/log"
}
plain_conf auto
start || exit 1
is "auto is hard without the file" "$(get /v1/gpus '.gpus[0].sharing')" hard
ok "the log names the file" log_has "GPU gpu0: its sharing is hard: sharing = guarantee: .*$old/gover_sharing does not exist"
is "the configured word is printed" "$("$B/gover-d" --config "$conf" --print-config | grep '^sharing = ')" "sharing = auto"
stop
echo weight >"$old/gover_sharing"
plain_conf auto
start || exit 1
is "auto does not change a third discipline" "$(get /v1/gpus '.gpus[0].sharing') $(cat "$old/gover_sharing")" "hard weight"
ok "the log contains the reason" log_has "GPU gpu0: its sharing is hard: $old/gover_sharing reads weight, and sharing = auto does not change it"
stop
plain_conf guarantee
start || exit 1
is "guarantee replaces it" "$(get /v1/gpus '.gpus[0].sharing') $(cat "$old/gover_sharing")" "guarantee guarantee"
stop
fuse_unmount
is "gover-sim ends normally" "$unmounted" 0
finish
