#!/bin/sh
# The configuration of a host with GVT-g: a single GPU needs no configuration; with several GPUs, each section [gpu]
# needs its parent. The daemon finds existing and later vGPUs of each GPU and survives the loss of a whole GPU.
GOVER_HOST=fuse
. "$(dirname "$0")/../host.sh"

gpus=$dir/sys/class/mdev_bus
first=0000:00:02.0 second=0000:01:00.0
write_conf() { # write_conf SECTIONS
  cat >"$conf" <<EOF
[daemon]
socket = $sock
state_dir = $dir/state
period_ms = 100
$1
[fps]
socket = $dir/fps.sock
EOF
}
make() { echo "$2" >"$gpus/$1/mdev_supported_types/i915-GVTg_V5_4/create"; }
uuid() { printf 'cccccccc-0000-4000-8000-%012d' "$1"; }

# --- a host with one GPU ---

fuse_mount "$dir/sys"
write_conf "[gpu]
root = $dir/sys"
start || exit 1
is "backend = auto finds it" "$(get /v1/gpus '.gpus[0] | "\(.backend) \(.mode) \(.step_pct) \(.share)"')" "gvt act 1 hard_cap"
make "$first" "$(uuid 1)"
ok "a new vGPU is found" until_ok 20 that "/v1/vgpus/$(uuid 1)" '.found and .initial_cap_pct == 25'
ok "a new vGPU can get a contract immediately" sh -c "
  echo $(uuid 2) >$gpus/$first/mdev_supported_types/i915-GVTg_V5_4/create
  curl -sSf --unix-socket '$sock' -X POST -H 'Content-Type: application/json' -d '{\"id\": \"$(uuid 2)\", \"initial_cap_pct\": 20}' http://gover/v1/vgpus"
is "the initial cap is that of the contract" "$(cat "$gpus/$first/$(uuid 2)/intel_vgpu/initial_cap")" 20
is "the cap has a lease" "$(cat "$gpus/$first/$(uuid 2)/intel_vgpu/cap_lease_ms")" 60000
api POST /v1/vgpus "{\"id\": \"$(uuid 3)\", \"initial_cap_pct\": 20}" >/dev/null
is "the daemon does not create a missing vGPU" "$(status)" 409
ok "the message reports it" grep -q "does not exist on GPU" "$dir/body"

kill -KILL "$mounted" # has the same effect as removing the driver
wait "$mounted" 2>/dev/null
umount -l "$dir/sys" 2>/dev/null || fusermount3 -uz "$dir/sys"
ok "without the GPU a vGPU with a contract is missing" until_ok 20 that "/v1/vgpus/$(uuid 2)" '.state == "missing"'
ok "one without a contract is forgotten" until_ok 20 that /v1/vgpus '.vgpus | length == 1'
ok "the loop continues" periods 6
fuse_mount "$dir/sys"
make "$first" "$(uuid 2)"
ok "with the GPU the vGPU returns" until_ok 20 that "/v1/vgpus/$(uuid 2)" '.state != "missing" and .load_pct != null'
is "the vGPU has its old cap" "$(cat "$gpus/$first/$(uuid 2)/intel_vgpu/cap")" 20
stop
is "a clean stop" "$stopped" 0
ok "--restore ends the lease" "$B/gover-d" --config "$conf" --restore
is "the cap is that of the contract" "$(cat "$gpus/$first/$(uuid 2)/intel_vgpu/cap_lease_ms" "$gpus/$first/$(uuid 2)/intel_vgpu/cap" | xargs)" "0 20"
fuse_unmount

# --- a host with two GPUs ---

rm -rf "$dir/state"
fuse_mount "$dir/sys" --gpus 2
"$B/gover-d" --config "$conf" >"$dir/refused" 2>&1
is "two GPUs and one section without a parent are rejected" "$?" 1
ok "the message names both" grep -q "0000:0.:0...*, 0000:0.:0.*; each needs a section" "$dir/refused"
write_conf "[gpu left]
root = $dir/sys
parent = $first
[gpu right]
backend = gvt
root = $dir/sys
parent = $second
lease_ms = 0
intel_gpu_top = $dir/top"
cat >"$dir/top" <<EOF
#!/bin/sh
echo "\$*" >"$dir/top.said"
exec sleep 60
EOF
chmod +x "$dir/top"
make "$first" "$(uuid 1)"
make "$second" "$(uuid 2)"
start || exit 1
ok "each GPU has its own vGPUs" until_ok 20 that /v1/vgpus \
  "[.vgpus[] | \"\(.id) \(.gpu)\"] | sort == [\"$(uuid 1) left\", \"$(uuid 2) right\"]"
ok "intel_gpu_top gets the configured GPU" until_ok 20 grep -q "sys:.*/devices/pci0000:00/$second" "$dir/top.said"
api POST /v1/vgpus "{\"id\": \"$(uuid 2)\", \"initial_cap_pct\": 20}" >/dev/null
is "a contract for an existing vGPU needs no GPU" "$(status) $(gojq -r .gpu "$dir/body")" "201 right"
api POST /v1/vgpus "{\"id\": \"$(uuid 1)\", \"gpu\": \"right\", \"initial_cap_pct\": 20}" >/dev/null
is "a contract with another GPU is rejected" "$(status)" 409
is "lease_ms = 0 sets no lease" "$(cat "$gpus/$first/$(uuid 1)/intel_vgpu/cap_lease_ms" "$gpus/$second/$(uuid 2)/intel_vgpu/cap_lease_ms" | xargs)" "60000 0"
stop
write_conf "[gpu left]
backend = gvt
root = $dir/sys
parent = 0000:7f:00.0"
start --state-dir "$dir/other" || exit 1
ok "a missing parent: an alert lists the existing ones" until_ok 20 that /v1/alerts \
  '.alerts | any(.name == "telemetry_stale" and (.text | test("parent = 0000:7f:00.0: not a GPU of GVT-g .*has only 0000:")))'
stop
fuse_unmount
is "gover-sim ends normally" "$unmounted" 0
finish
