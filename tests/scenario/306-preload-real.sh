#!/bin/sh
# Real programs on a real OpenGL (Mesa's software renderer): frames counted = frames drawn.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/scenario/300-lib.sh
. "$(dirname "$0")/300-lib.sh"
command -v Xvfb >/dev/null || skip_all "Xvfb is not installed"
[ -n "${GOVER_ASAN-}" ] && skip_all "a sanitizer cannot be loaded into programs that were not built for it"

Xvfb -displayfd 3 -screen 0 1280x1024x24 -nolisten tcp 3>"$dir/display" >/dev/null 2>&1 &
# shellcheck disable=SC2034 # read by lib.sh
cleanup="kill $! 2>/dev/null"
until_ok 20 test -s "$dir/display" || skip_all "Xvfb does not start here"
DISPLAY=:$(cat "$dir/display")
export DISPLAY LIBGL_ALWAYS_SOFTWARE=1 vblank_mode=0 LP_NUM_THREADS=0

real() { # real COMMAND...: what the daemon's end counted
  "$B/tests/fps-sink" "$fps" env LD_PRELOAD="$preload" GOVER_FPS="unix:$fps" "$@" 2>"$dir/err" | tail -n 1
}

is "gover-terrain" "$(real "$B/gover-terrain" --quiet --frames 40 --size 320x240)" "frames 40 programs 1 refused 0 exit 0"
is "gover-terrain, paced" "$(GOVER_FPS_MAX=50 real "$B/gover-terrain" --quiet --frames 25 --detail 1 --size 160x120)" \
  "frames 25 programs 1 refused 0 exit 0"
if command -v glmark2 >/dev/null; then
  is "glmark2, which finds everything by dlsym" "$(real glmark2 --size 320x240 -b build:duration=60.0:nframes=150)" \
    "frames 150 programs 1 refused 0 exit 0"
else
  n=$((n + 1))
  echo "ok $n - glmark2 # SKIP glmark2 is not installed"
fi
if command -v glxgears >/dev/null; then
  gears=$(real timeout 2 glxgears)
  ok "glxgears ($gears)" sh -c "echo '$gears' | grep -q '^frames [1-9][0-9]* programs 1 refused 0 exit 124'"
else
  n=$((n + 1))
  echo "ok $n - glxgears # SKIP glxgears is not installed"
fi
finish
