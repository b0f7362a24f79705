#!/bin/sh
# A frame makes no system call: a hundred times the frames, the same calls but for the look once a second.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/scenario/300-lib.sh
. "$(dirname "$0")/300-lib.sh"
command -v strace >/dev/null || skip_all "strace is not installed"
strace -o /dev/null true 2>/dev/null || skip_all "this system lets nobody trace"
[ -n "${GOVER_ASAN-}" ] && skip_all "a sanitizer makes system calls of its own"

calls() { # calls FRAMES: system calls of the whole program
  strace -f -o "$dir/trace" -E LD_LIBRARY_PATH="$gl" -E LD_PRELOAD="$preload" -E GOVER_FPS="${1}" \
    "$B/tests/fps-draw" direct-glx "$2" || return 1
  wc -l <"$dir/trace"
}

few=$(calls "unix:$fps" 1000)
many=$(calls "unix:$fps" 1000000)
ok "recording: $few calls for 1,000 frames, $many for 1,000,000" test "$((many - few))" -le 20
for where in vsock:2:7007 port:org.gover.none; do
  few=$(calls "$where" 1000)
  many=$(calls "$where" 1000000)
  ok "$where: $few calls for 1,000 frames, $many for 1,000,000" test "$((many - few))" -le 60
done
few=$(calls off 1000)
many=$(calls off 1000000)
is "switched off: none at all" "$many" "$few"
finish
