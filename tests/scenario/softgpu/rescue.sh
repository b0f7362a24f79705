#!/bin/sh
# The closed loop with a real OpenGL program: its vGPU gets cap by steals until the target FPS is reached, and the
# kernel's quota equals the cap of the decision.
. "$(dirname "$0")/../softgpu.sh"

conf_extra=$unfunded
softgpu_conf
start_x
start || exit 1
ctl vgpu add a --cap 80 >/dev/null
ctl vgpu add b --cap 60 --vm vm-b >/dev/null
is "the second vGPU starts with the free cap" "$(get /v1/vgpus/b .cap_pct)" 20
is "the kernel has that quota" "$(kernel_cap b)" 20
ctl freeze >/dev/null
ctl run --vgpu b --fps-max 0 -- glxgears -geometry 960x720 >"$dir/gears.log" 2>&1 &
ok "its frames are counted" until_ok 20 that /v1/vgpus/b '.fps > 5'
# Other programs may take CPU time in some periods, so wait for a period without such programs.
periods 2
ok "it uses its whole cap: its share equals the cap, within 2 points" until_ok 30 that /v1/vgpus/b \
  '.util_pct > 90 and .util_pct < 110 and (.load_pct - 20 | fabs <= 2)'
fps=$(get /v1/vgpus/b .fps)
target=$(gojq -n "$fps * 1.5 | floor")
ctl vgpu set b --target-fps "$target" >/dev/null
ctl thaw >/dev/null
ok "below its target and GPU-bound, it gets a steal" until_ok 20 that '/v1/decisions?limit=1000' '[.decisions[] | select(.kind == "steal" and .vgpu == "b")] | length > 0'
ok "the new cap is written and read back from the kernel" that '/v1/decisions?limit=1000' \
  '[.decisions[] | select(.kind == "steal") | .moves[] | .to_pct == .read_back_pct] | all'
ok "its FPS reaches the target" until_ok 40 that /v1/vgpus/b '.fps >= .target_fps * 0.98'
periods 2
cap=$(get /v1/vgpus/b .cap_pct)
is "the kernel's quota equals the cap" "$(kernel_cap b)" "$cap"
ok "it gets only the cap that it needs" test "$cap" -lt 60
is "the sum of the caps is unchanged" "$(get /v1/gpus '.gpus[0].sum_cap_pct')" 100
unknown() { # prints the number of samples of b without a load
  sqlite3 -readonly "$dir/state/history.db" \
    "SELECT count(*) FROM sample JOIN vgpu ON num = vgpu WHERE id = 'b' AND load_pct IS NULL"
}
before=$(unknown)
api DELETE /v1/vgpus/b >/dev/null
is "a vGPU with programs in it is not removed" "$(status)" 409
ok "the message contains their number" grep -q '1' "$dir/body"
written=$(get /v1/host .history.written)
ok "some periods pass" until_ok 20 that /v1/host ".history.written > $written + 10"
is "the refused request loses no sample" "$(unknown)" "$before"
xargs kill <"$(get /v1/vgpus/b '.attach.cgroup_procs[0]')"
ok "it can be removed after its program has ended" until_ok 20 ctl vgpu remove b
ctl vgpu remove a >/dev/null
stop
is "no control group remains" "$(find /sys/fs/cgroup -maxdepth 3 -name "$root*" | wc -l)" 0
finish
