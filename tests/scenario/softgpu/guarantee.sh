#!/bin/sh
# sharing = guarantee on the software GPU, with real OpenGL programs. A tenant uses the time that the other does not
# need, up to its ceiling. The other gets its guaranteed share as soon as it has work again. A restart with the other
# sharing keeps the caps.
. "$(dirname "$0")/../softgpu.sh"

period_ms=500 conf_extra='[policy]
name = none'
softgpu_conf # skips the scenario if not even hard caps are possible
need_steps
sed -i 's/^sharing = .*/sharing = guarantee/' "$conf"

files_are() { # files_are VGPU WEIGHT QUOTA
  group_has "$(kernel_group "$1")" guarantee "$2" "$3"
}

draw() { # draw VGPU BODY_US: starts a program that draws as fast as it can, with BODY_US of CPU time per frame
  draw_steps "$1" 1000 "$2" --fps-max 0
  eval "program_$1=$program"
}

if ! start; then
  grep -q "$no_guarantees" "$dir/log" && skip_all "$(tail -n 1 "$dir/log")"
  exit 1
fi
ctl vgpu add a --cap 60 >/dev/null
ctl vgpu add b --cap 60 >/dev/null
ctl vgpu hold a --cap 20 >/dev/null
ctl vgpu hold b --cap 60 >/dev/null
is "the GPU shows its sharing" "$(get /v1/gpus '.gpus[0].sharing')" guarantee
ok "the cap is the weight, the contract is the quota" until_ok 10 files_are a 20 60
ok "the same is true for the other vGPU" until_ok 10 files_are b 60 60

draw a 4000
# A share above the ceiling is an error. Other programs of the host can cause a share below it.
ok "a uses the time of b, up to its contract" until_ok 60 that /v1/vgpus/a '.load_pct > 56 and .load_pct < 62'
fps_alone=$(get /v1/vgpus/a .fps)
draw b 4000
ok "b has work: both get their guarantees, and the rest is divided by the caps" until_ok 60 sh -c "
  curl -s --unix-socket '$sock' http://gover/v1/vgpus | gojq -e '[.vgpus[] | {(.id): .load_pct}] | add |
    .b > 57 and .b < 62 and .a > 34 and .a < 42' >/dev/null"
ctl vgpu set b --burst >/dev/null
ok "with burst, b has no ceiling" until_ok 10 files_are b 60 100
ok "the caps 20 and 60 divide the GPU 1 to 3" until_ok 60 sh -c "
  curl -s --unix-socket '$sock' http://gover/v1/vgpus | gojq -e '[.vgpus[] | {(.id): .load_pct}] | add |
    .b > 71 and .b < 78 and .a > 22 and .a < 28' >/dev/null"
ok "a has fewer frames than alone" that /v1/vgpus/a ".fps < 0.7 * $fps_alone"
# shellcheck disable=SC2154 # set by draw
kill "$program_b"
ok "b stops: a has its contract again" until_ok 60 that /v1/vgpus/a '.load_pct > 56 and .load_pct < 62'

group=$(kernel_group a)
ok "no external change is reported yet" alerts 0 foreign_write
if [ -f "$group/cpu.shares" ]; then echo 87605 >"$group/cpu.shares"; else echo 3465 >"$group/cpu.weight"; fi
ok "another weight is an external change of the cap" until_ok 20 that /v1/vgpus/a '.cap_pct == 35 and .held'
ctl vgpu hold a --cap 20 >/dev/null
ok "a hold sets the weight again" until_ok 10 files_are a 20 60

stop
sed -i 's/^sharing = .*/sharing = hard/' "$conf"
start || exit 1
is "a daemon with hard caps shows them" "$(get /v1/gpus '.gpus[0].sharing')" hard
is "the caps are unchanged" "$(get /v1/vgpus '[.vgpus[] | .cap_pct] | join(" ")')" "20 60"
is "the quota is the cap" "$(kernel_cap a) $(kernel_cap b)" "20 60"
ok "the load of a is its cap" until_ok 60 that /v1/vgpus/a '.load_pct > 17 and .load_pct < 22'
stop
sed -i '/^sharing = /d' "$conf"
start || exit 1
is "guarantee is the default" "$(get /v1/gpus '.gpus[0].sharing')" guarantee
ok "guarantees again: the cap is the weight, the contract is the quota" until_ok 10 files_are a 20 60
api PATCH /v1/policy '{"paper_mode": true}' >/dev/null
ok "paper mode makes the quota the cap while the daemon runs" until_ok 20 sh -c "
  curl -s --unix-socket '$sock' http://gover/v1/gpus | gojq -e '.gpus[0].sharing == \"hard\"' >/dev/null"
is "the caps stay" "$(kernel_cap a) $(kernel_cap b)" "20 60"
ok "the load of a is its cap" until_ok 60 that /v1/vgpus/a '.load_pct > 17 and .load_pct < 22'
api PATCH /v1/policy '{"paper_mode": false}' >/dev/null
ok "without paper mode the quota is the contract again" until_ok 20 files_are a 20 60
# shellcheck disable=SC2154
kill "$program_a"
ok "the vGPU can be removed" until_ok 20 ctl vgpu remove a
ctl vgpu remove b >/dev/null
stop
is "no control group remains" "$(find /sys/fs/cgroup -maxdepth 3 -name "$root*" | wc -l)" 0
finish
