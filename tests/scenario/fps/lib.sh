# Shared by the preload scenarios: fake GL libraries, and a fake daemon that counts the frames of a command.
# Sourced by a scenario, also instead of lib.sh.
# shellcheck shell=sh
command -v finish >/dev/null || . "$(dirname "$0")/../lib.sh"
fps=${dir:?}/fps.sock
gl=$dir/gl
mkdir -p "$gl"
for library in libGL.so.1 libEGL.so.1 libfake-gl.so.1; do ln -s "$B/tests/fake-gl" "$gl/$library"; done
cp "$B/tests/fake-gl" "$gl/libfake-copy.so.1"

# The sanitizer library must be the first preload. Leaks of GL programs are ignored.
first=''
[ -n "${GOVER_ASAN-}" ] && first="$(gcc -print-file-name=libasan.so) "
preload=$first$B/libgover-fps.so
export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0"

drawing() { # drawing HOW FRAMES [PAUSE_US]: run a program with the preload and the fake libraries
  env LD_LIBRARY_PATH="$gl" LD_PRELOAD="$preload" GOVER_FPS="${where-unix:$fps}" "$B/tests/fps-draw" "$@"
}

counted() { # counted HOW FRAMES [PAUSE_US]: prints "frames N programs N refused N exit N"
  "$B/tests/fps-sink" "$fps" env LD_LIBRARY_PATH="$gl" GOVER_FPS="unix:$fps" \
    LD_PRELOAD="$first${before-} $B/libgover-fps.so ${behind-}" "$B/tests/fps-draw" "$@"
}

start_x() { # start_x SIZE: start a private X server, or skip the test
  command -v Xvfb >/dev/null || skip_all "Xvfb is not installed"
  [ -n "${GOVER_ASAN-}" ] && skip_all "a sanitizer cannot be loaded into programs that were not built for it"
  Xvfb -displayfd 3 -screen 0 "$1x24" -nolisten tcp 3>"$dir/display" >/dev/null 2>&1 &
  # shellcheck disable=SC2034 # read by lib.sh
  cleanup="kill $! 2>/dev/null"
  until_ok 20 test -s "$dir/display" || skip_all "Xvfb does not start here"
  DISPLAY=:$(cat "$dir/display")
  export DISPLAY LIBGL_ALWAYS_SOFTWARE=1 vblank_mode=0
}
