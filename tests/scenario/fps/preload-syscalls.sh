#!/bin/sh
# A frame makes no system call, allocates no memory and takes no lock. The numbers of calls, allocations and locks do
# not grow with the number of frames, except for polling the connection once a second.
. "$(dirname "$0")/../fps/lib.sh"
[ -n "${GOVER_ASAN-}" ] && skip_all "a sanitizer adds system calls and allocations"

taken() { # taken WHERE FRAMES: prints "allocations N locks N" of the whole program
  env LD_LIBRARY_PATH="$gl" LD_PRELOAD="$preload $B/tests/fps-allocs" GOVER_FPS="$1" \
    "$B/tests/fps-draw" direct-glx "$2" 2>&1 >/dev/null | grep ^allocations
}

"$B/tests/fps-sink" "$fps" >/dev/null 2>&1 &
# shellcheck disable=SC2034 # read by lib.sh
cleanup="kill $! 2>/dev/null"
until_ok 10 test -S "$fps"
for where in off "unix:$dir/missing" "unix:$fps"; do
  few=$(taken "$where" 1000)
  is "a million frames need the same as a thousand ($few), reporting to ${where##*/}" "$(taken "$where" 1000000)" "$few"
done

{ command -v strace && strace -o /dev/null true; } >/dev/null 2>&1 || {
  n=$((n + 1))
  echo "ok $n - system calls # SKIP strace is not installed or not permitted"
  finish
}

calls() { # calls FRAMES: prints the number of system calls of the whole program
  strace -f -o "$dir/trace" -E LD_LIBRARY_PATH="$gl" -E LD_PRELOAD="$preload" -E GOVER_FPS="${1}" \
    "$B/tests/fps-draw" direct-glx "$2" || return 1
  wc -l <"$dir/trace"
}

few=$(calls "unix:$fps" 1000)
many=$(calls "unix:$fps" 1000000)
ok "counting: $few calls for 1,000 frames, $many for 1,000,000" test "$((many - few))" -le 20
for where in vsock:2:7007 port:org.gover.none; do
  few=$(calls "$where" 1000)
  many=$(calls "$where" 1000000)
  ok "$where: $few calls for 1,000 frames, $many for 1,000,000" test "$((many - few))" -le 60
done
few=$(calls off 1000)
many=$(calls off 1000000)
is "counting off: no additional call" "$many" "$few"
finish
