#!/bin/sh
# Real programs with Mesa's software renderer: frames counted = frames drawn.
. "$(dirname "$0")/../fps/lib.sh"
start_x 1280x1024
export LP_NUM_THREADS=0

real() { # real COMMAND...: print the counters
  "$B/tests/fps-sink" "$fps" env LD_PRELOAD="$preload" GOVER_FPS="unix:$fps" "$@" 2>"$dir/err" | tail -n 1
}

without() { # without PROGRAM: skip a test
  n=$((n + 1))
  echo "ok $n - $1 # SKIP $1 is not installed"
}

is "gover-terrain" "$(real "$B/gover-terrain" --quiet --frames 40 --size 320x240)" "frames 40 programs 1 refused 0 exit 0"
is "gover-terrain, paced" "$(GOVER_FPS_MAX=50 real "$B/gover-terrain" --quiet --frames 25 --detail 1 --size 160x120)" \
  "frames 25 programs 1 refused 0 exit 0"
is "two threads, two windows" "$(real "$B/tests/fps-windows" 300)" "frames 600 programs 1 refused 0 exit 0"
is "EGL without a display server" "$(real "$B/tests/fps-gpu" 400)" "frames 400 programs 1 refused 0 exit 0"
is "OpenGL ES frames are counted" "$(real "$B/tests/fps-gpu" 400 es)" "frames 400 programs 1 refused 0 exit 0"

if "$B/tests/fps-sdl" 1 >"$dir/none" 2>&1; then
  is "an SDL2 program" "$(real "$B/tests/fps-sdl" 300)" "frames 300 programs 1 refused 0 exit 0"
else
  without SDL2
fi
if command -v glxgears >/dev/null; then
  is "glxgears, killed in its 201st frame" \
    "$(real LD_PRELOAD="$preload $B/tests/fps-end" FPS_END_AFTER=200 glxgears)" "frames 200 programs 1 refused 0 exit 137"
else
  without glxgears
fi

scene=build:duration=60.0:nframes=150
for glmark in glmark2 glmark2-es2; do
  if command -v $glmark >/dev/null; then
    is "$glmark, which uses dlsym for all functions" "$(real $glmark --size 320x240 -b $scene)" \
      "frames 150 programs 1 refused 0 exit 0"
  else
    without $glmark
  fi
done

if command -v glmark2-es2-wayland >/dev/null && command -v weston >/dev/null; then
  export XDG_RUNTIME_DIR="$dir" WAYLAND_DISPLAY=fps
  weston --backend=headless-backend.so --socket=fps --idle-time=0 --log="$dir/weston" >"$dir/weston.out" 2>&1 &
  cleanup="$cleanup; kill $! 2>/dev/null"
  # weston starts its shell when it accepts connections; its socket exists earlier.
  if until_ok 20 grep -q 'launching .*weston-desktop-shell' "$dir/weston"; then
    is "glmark2-es2-wayland" "$(real glmark2-es2-wayland --size 320x240 -b $scene)" "frames 150 programs 1 refused 0 exit 0"
  else
    without "weston that starts"
  fi
else
  without "glmark2-es2-wayland with weston"
fi
finish
