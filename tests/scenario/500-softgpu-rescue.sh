#!/bin/sh
# The closed loop on real parts: a real OpenGL program below its target wins cap by steals until it holds, and the
# kernel's quota is what the decision says.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/scenario/softgpu.sh
. "$(dirname "$0")/softgpu.sh"

conf_extra=$unfunded
softgpu_conf
start_x
start || exit 1
ctl vgpu add a --cap 80 >/dev/null
ctl vgpu add b --cap 60 --vm vm-b >/dev/null
is "the second begins with what is free" "$(get /v1/vgpus/b .cap_pct)" 20
is "the kernel has that quota" "$(kernel_cap b)" 20
ctl freeze >/dev/null
ctl run --vgpu b --fps-max 0 -- glxgears -geometry 960x720 >"$dir/gears.log" 2>&1 &
ok "its frames are seen" until_ok 20 that /v1/vgpus/b '.fps > 5'
# Each reading is a whole period; one in which the machine was busy with other things says nothing.
periods 2
ok "it uses its whole cap, and the share is the cap, within 2 points" until_ok 30 that /v1/vgpus/b \
  '.util_pct > 90 and .util_pct < 110 and (.load_pct - 20 | fabs <= 2)'
fps=$(get /v1/vgpus/b .fps)
target=$(jq -n "$fps * 1.5 | floor")
ctl vgpu set b --target-fps "$target" >/dev/null
ctl thaw >/dev/null
ok "short and GPU-bound: a steal" until_ok 20 that '/v1/decisions?limit=1000' '[.decisions[] | select(.kind == "steal" and .vgpu == "b")] | length > 0'
ok "it was written and read back from the kernel" that '/v1/decisions?limit=1000' \
  '[.decisions[] | select(.kind == "steal") | .moves[] | .to_pct == .read_back_pct] | all'
ok "its FPS comes to its target" until_ok 40 that /v1/vgpus/b '.fps >= .target_fps * 0.98'
periods 2
cap=$(get /v1/vgpus/b .cap_pct)
is "the kernel's quota is the cap" "$(kernel_cap b)" "$cap"
ok "it took what it needs and no more" test "$cap" -lt 60
is "what a gave is what b got" "$(get /v1/gpus '.gpus[0].sum_cap_pct')" 100
unknown() { # in how many periods the use of b was not known
  sqlite3 -readonly "$dir/state/history.db" \
    "SELECT count(*) FROM sample JOIN vgpu ON num = vgpu WHERE id = 'b' AND load_pct IS NULL"
}
before=$(unknown)
api DELETE /v1/vgpus/b >/dev/null
is "a vGPU with programs in it is not removed" "$(status)" 409
ok "and says how many" grep -q '1' "$dir/body"
written=$(get /v1/host .history.written)
ok "some periods later" until_ok 20 that /v1/host ".history.written > $written + 10"
is "no sample of it is lost for having asked" "$(unknown)" "$before"
xargs kill <"$(get /v1/vgpus/b '.attach.cgroup_procs[0]')"
ok "its program gone, it can be" until_ok 20 ctl vgpu remove b
ctl vgpu remove a >/dev/null
stop
is "no group is left behind" "$(find /sys/fs/cgroup -maxdepth 3 -name "$root*" | wc -l)" 0
finish
