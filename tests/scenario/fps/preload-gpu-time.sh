#!/bin/sh
# GOVER_FPS_GPU_TIME=1 measures GPU time with a few frames of delay and does not disturb the program's own GL calls. Renderers
# on the CPU are refused, because their timestamps do not measure the work. Mesa's setting force_gl_renderer gives llvmpipe another
# name, so that the measurement itself can be tested without a GPU.
. "$(dirname "$0")/../fps/lib.sh"
[ -n "${GOVER_ASAN-}" ] && skip_all "a sanitizer cannot be loaded into programs that were not built for it"
export LIBGL_ALWAYS_SOFTWARE=1 LP_NUM_THREADS=0
"$B/tests/fps-gpu" 2 >"$dir/none" 2>&1 || skip_all "no EGL without a window system here: $(cat "$dir/none")"

measured() { # measured FRAMES [es]: print the counters, including frames with known GPU time
  "$B/tests/fps-sink" "$fps" env LD_PRELOAD="$preload" GOVER_FPS="unix:$fps" "$B/tests/fps-gpu" "$@" 2>"$dir/err"
}

is "off: no GPU time is measured" "$(measured 400)" "frames 400 programs 1 refused 0 exit 0"
export GOVER_FPS_GPU_TIME=1
refused="gover-fps\[[0-9]*\]: llvmpipe .*: GOVER_FPS_GPU_TIME is ignored: this renderer has no GPU"
for kind in "" es; do
  # shellcheck disable=SC2086 # no word or one
  is "llvmpipe $kind: frames are counted, GPU time is not measured" "$(GOVER_FPS_DEBUG=1 measured 400 $kind)" \
    "frames 400 programs 1 refused 0 exit 0"
  is "llvmpipe $kind: the library says so once, for two contexts" "$(grep -c "$refused" "$dir/err")" 1
done
is "softpipe is refused, too" "$(GALLIUM_DRIVER=softpipe measured 20)" "frames 20 programs 1 refused 0 exit 0"
export force_gl_renderer="GPU of the test"
for kind in "" es; do
  # shellcheck disable=SC2086 # no word or one
  counts=$(measured 400 $kind)
  is "OpenGL $kind: every frame is counted" "${counts%% gpu*}" "frames 400 programs 1 refused 0 exit 0"
  # The program uses two contexts. In each context, the GPU time of the first frame is not measured, and the GPU times of
  # the last frames arrive too late.
  known=$(echo "$counts" | sed -n 's/.* gpu \([0-9]*\) of .*/\1/p')
  ok "OpenGL $kind: GPU time is known for ${known:-no} of 400 frames" test "${known:-0}" -ge 380 -a "${known:-0}" -lt 400
done
export GOVER_FPS=off
ok "counting off: GPU time is off, too" env LD_PRELOAD="$preload" "$B/tests/fps-gpu" 10
is "a GL library without queries is not measured" "$(counted direct-glx 100)" "frames 100 programs 1 refused 0 exit 0"
finish
