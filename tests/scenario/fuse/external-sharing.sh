#!/bin/sh
# [gpu] sharing after external changes, and on a kernel without its files: --restore works on a GPU whose sharing cannot be
# set, and the daemon sets a sharing and a ceiling again that another program has changed.
GOVER_HOST=fuse
. "$(dirname "$0")/../host.sh"

# --- --restore on a kernel without gover_sharing and without leases ---

plain_conf() { # plain_conf SHARING
  printf '[daemon]\nsocket = %s\nstate_dir = %s\n[policy]\nname = none\n[gpu gpu0]\nbackend = gvt\nroot = %s\nsharing = %s\n[fps]\nsocket = %s\n' \
    "$sock" "$dir/state" "$dir/old" "$1" "$dir/fps.sock" >"$conf"
}
name_vgpu old
old=$dir/old/class/mdev_bus/0000:00:02.0
files=$old/$uuid/intel_vgpu
mkdir -p "$old/mdev_supported_types/i915-GVTg_V5_8" "$files" "$dir/old/bus/mdev/devices"
ln -s "../../../class/mdev_bus/0000:00:02.0/$uuid" "$dir/old/bus/mdev/devices/$uuid"
for file in vgpu_id busy_time sched_time; do echo 1 >"$files/$file"; done
echo 50 >"$files/cap"
echo 50 >"$files/initial_cap"
plain_conf hard
start || exit 1
ok "the vGPU has a contract" contract "$uuid" 50
api PATCH "/v1/vgpus/$uuid" '{"held": true, "held_cap_pct": 10}' >/dev/null
ok "its cap is small" until_ok 20 grep -qx 10 "$files/cap"
stop
plain_conf guarantee
"$B/gover-d" --config "$conf" --restore >"$dir/out" 2>&1
is "--restore works although the GPU has only hard caps" "$?" 0
is "the cap is the initial cap again" "$(cat "$files/cap")" 50
ok "--restore logs that the sharing is not as configured" grep -q "GPU gpu0: sharing = guarantee: .*$old/gover_sharing does not exist" "$dir/out"

# --- a kernel without cap_ceiling ---

log_has() { grep -q "$1" "$dir/log"; }
echo guarantee >"$old/gover_sharing"
start || exit 1
ok "without cap_ceiling the daemon logs that the ceiling does not change" until_ok 20 log_has "vGPU $uuid: the kernel has no cap_ceiling: "
periods 3
is "it is logged once" "$(grep -c 'the kernel has no cap_ceiling' "$dir/log")" 1
stop

# --- another program changes gover_sharing ---

host_setup
file_is() { [ "$(cat "$host_parent/gover_sharing")" = "$1" ]; }
for word in hard guarantee; do
  other=hard
  [ "$word" = guarantee ] || other=guarantee
  conf_extra='[policy]
name = none' loop_conf
  sed -i "/^sharing = /d; s/^backend = gvt/&\nsharing = $word/" "$conf"
  : >"$dir/log"
  start || exit 1
  is "$word: the file reads it" "$(cat "$host_parent/gover_sharing")" "$word"
  echo "$other" >"$host_parent/gover_sharing"
  ok "$word: the daemon sets it again" until_ok 20 file_is "$word"
  ok "$word: the change is logged" until_ok 20 log_has "GPU gpu0: its sharing was changed externally to $other and is set again"
  [ "$word" = guarantee ] || stop
done

# --- ceilings ---

ceiling_is() { grep -qx "$2" "$host_parent/$(host_uuid "$1")/intel_vgpu/cap_ceiling"; } # ceiling_is NAME PCT
host_vgpu a 50
ok "the ceiling is the contract" until_ok 20 ceiling_is a 50
periods 5 # until the daemon has written it
echo 90 >"$host_parent/$uuid_a/intel_vgpu/cap_ceiling"
ok "the daemon sets a ceiling that another program has changed" until_ok 60 ceiling_is a 50
api PATCH "/v1/vgpus/$uuid_a" '{"burst": true}' >/dev/null
ok "with burst the ceiling is the GPU" until_ok 20 ceiling_is a 100
stop
rm "$dir/state/contracts.json" "$dir/state/history.db"*
start || exit 1
ok "the vGPU has no contract" until_ok 20 vgpu_is a '.found'
ok "its ceiling is the initial cap" until_ok 20 ceiling_is a 50
stop

# --- a dry run ---

echo hard >"$host_parent/gover_sharing"
: >"$dir/log"
start --dry-run || exit 1
ok "a dry run logs that caps are hard" log_has "GPU gpu0: its sharing is hard: $host_parent/gover_sharing reads hard, and a dry run does not change it"
periods 3
ok "it does not change the file" file_is hard
stop

fuse_unmount
finish
