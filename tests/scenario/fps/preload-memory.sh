#!/bin/sh
# The preload and the receiver under valgrind: no invalid access, no uninitialised value, no leak, and every frame
# is counted.
. "$(dirname "$0")/../fps/lib.sh"
command -v valgrind >/dev/null || skip_all "valgrind is not installed"
[ -n "${GOVER_ASAN-}" ] && skip_all "valgrind does not work with a sanitizer"
look="valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite"

# shellcheck disable=SC2086 # a command and its options
looked_at() { # looked_at HOW FRAMES: like counted, with both programs under valgrind
  $look "$B/tests/fps-sink" "$fps" env LD_LIBRARY_PATH="$gl" LD_PRELOAD="$preload" GOVER_FPS="unix:$fps" \
    $look "$B/tests/fps-draw" "$@" 2>"$dir/valgrind" || echo "exit $?"
  sed 's/^/# /' "$dir/valgrind"
}

is "direct" "$(looked_at direct-glx 100)" "frames 100 programs 1 refused 0 exit 0"
is "by dlsym and *GetProcAddress" "$(looked_at dlsym-proc 100)" "frames 100 programs 1 refused 0 exit 0"
is "through two libraries" "$(looked_at translated 100)" "frames 200 programs 1 refused 0 exit 0"
is "16 threads" "$(looked_at threads 10)" "frames 160 programs 1 refused 0 exit 0"
is "parent and child" "$(looked_at fork 100)" "frames 300 programs 2 refused 0 exit 0"
finish
