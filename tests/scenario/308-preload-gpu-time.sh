#!/bin/sh
# GOVER_FPS_GPU_TIME=1: what the GPU took is counted, a few frames late, and the program's own GL is left alone.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/scenario/300-lib.sh
. "$(dirname "$0")/300-lib.sh"
[ -n "${GOVER_ASAN-}" ] && skip_all "a sanitizer cannot be loaded into programs that were not built for it"
export LIBGL_ALWAYS_SOFTWARE=1 LP_NUM_THREADS=0
"$B/tests/fps-gpu" 2 >"$dir/none" 2>&1 || skip_all "no EGL without a window system here: $(cat "$dir/none")"

measured() { # measured FRAMES [es]: counted, and of how many frames the GPU's time became known
  "$B/tests/fps-sink" "$fps" env LD_PRELOAD="$preload" GOVER_FPS="unix:$fps" "$B/tests/fps-gpu" "$@" 2>"$dir/err"
}

is "off: nothing is asked of the GPU" "$(measured 400)" "frames 400 programs 1 refused 0 exit 0"
export GOVER_FPS_GPU_TIME=1
for kind in "" es; do
  # shellcheck disable=SC2086 # no word or one
  told=$(measured 400 $kind)
  is "OpenGL $kind: every frame counts" "${told%% gpu*}" "frames 400 programs 1 refused 0 exit 0"
  # Of each of two contexts: the first frame begins before it is met, and the last ones are never picked up.
  known=$(echo "$told" | sed -n 's/.* gpu \([0-9]*\) of .*/\1/p')
  ok "OpenGL $kind: the time of ${known:-no} frames of 400 is known" test "${known:-0}" -ge 380 -a "${known:-0}" -lt 400
done
export GOVER_FPS=off
ok "counting off: it is off too" env LD_PRELOAD="$preload" "$B/tests/fps-gpu" 10
is "a library without queries is left alone" "$(counted direct-glx 100)" "frames 100 programs 1 refused 0 exit 0"
finish
