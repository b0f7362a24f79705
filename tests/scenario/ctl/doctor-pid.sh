#!/bin/sh
# doctor --pid names why the frames of a running program are not counted. The programs are real; the GL library and the other
# preload library are stand-ins.
. "$(dirname "$0")/../fps/lib.sh"
[ -n "${GOVER_ASAN-}" ] && skip_all "a sanitizer cannot be loaded into programs that were not built for it"
export FPS_PLUGIN="$B/tests/fps-plugin"
rm "$gl/libGL.so.1" # a copy, because /proc shows the file behind a link
cp "$B/tests/fake-gl" "$gl/libGL.so.1"

examine() { # examine WAIT_FOR [NAME=VALUE...] COMMAND...: runs a program; prints the cause when it is WAIT_FOR, or the last one
  wanted=$1
  shift
  env LD_LIBRARY_PATH="$gl" GOVER_FPS="unix:$fps" "$@" >/dev/null 2>&1 &
  program=$!
  # shellcheck disable=SC2034 # read by lib.sh
  cleanup="kill $program 2>/dev/null"
  until_ok 20 named "$wanted"
  gojq -r '"\(.cause) \(.ok) \(.checks[-1].state)"' "$dir/found"
  kill "$program" 2>/dev/null
  wait "$program" 2>/dev/null
}
named() {
  "$B/gover-ctl" --socket "$sock" --json doctor --pid "$program" >"$dir/found" 2>&1
  [ "$(gojq -r .cause "$dir/found")" = "$1" ]
}

sim_conf
start || exit 1
library=$B/libgover-fps.so
set -- "$B/tests/fps-draw" direct-glx 100000 1000
is "a program without the library" "$(examine not_preloaded "$@")" "not_preloaded false fail"
is "a library that does not exist" "$(examine file_missing LD_PRELOAD="$dir/none/libgover-fps.so" "$@")" "file_missing false fail"
ok "the text has its path" sh -c "gojq -r '.checks[-1].text' '$dir/found' | grep -q '$dir/none/libgover-fps.so'"
is "a program in no vGPU" "$(examine no_vgpu LD_PRELOAD="$library" "$@")" "no_vgpu false fail"
is "GOVER_FPS=off" "$(examine off LD_PRELOAD="$library" GOVER_FPS=off "$@")" "off false fail"
is "an invalid address" "$(examine invalid_address LD_PRELOAD="$library" GOVER_FPS=unx:/x "$@")" "invalid_address false fail"
is "a socket that does not exist" "$(examine socket_missing LD_PRELOAD="$library" GOVER_FPS="unix:$dir/no.sock" "$@")" \
  "socket_missing false fail"
cp "$conf" "$dir/file" # not a socket
is "a socket without a daemon" "$(examine not_connected LD_PRELOAD="$library" GOVER_FPS="unix:$dir/file" "$@")" \
  "not_connected false fail"
is "a plug-in that is opened with RTLD_DEEPBIND" \
  "$(examine bypassed LD_PRELOAD="$library" "$B/tests/fps-draw" deepbind 100000 1000)" "bypassed false warn"
ok "the text names it as probable" sh -c "gojq -r '.checks[-1].text' '$dir/found' | grep -q 'probably .* RTLD_DEEPBIND'"
is "the same plug-in without it is counted" \
  "$(examine no_vgpu LD_PRELOAD="$library" "$B/tests/fps-draw" plugin 100000 1000)" "no_vgpu false fail"
is "a library before ours that presents itself" "$(examine earlier_library LD_PRELOAD="$B/tests/fps-take:$library" "$@")" \
  "earlier_library false warn"
is "the same library behind ours" "$(examine no_vgpu LD_PRELOAD="$library:$B/tests/fps-take" "$@")" "no_vgpu false fail"
is "a program that presents nothing" "$(examine no_gpu_library LD_PRELOAD="$library" sleep 1000)" "no_gpu_library false warn"
escape=$(printf '\033[2J')
is "control characters of the environment are not printed" \
  "$(examine invalid_address LD_PRELOAD="$library" GOVER_FPS="x$escape" "$@") $(gojq -r '.checks[-1].text' "$dir/found" | tail -c 6)" \
  "invalid_address false fail x?[2J"
unset GOVER_SANDBOX
if "$B/tests/fps-deny" errno:getrandom true; then
  is "a seccomp filter" "$(examine seccomp "$B/tests/fps-deny" errno:getrandom env LD_PRELOAD="$library" "$@")" "seccomp false fail"
fi
ctl doctor --pid 4194304 >"$dir/out" 2>&1
is "a process that does not exist" "$? $(cat "$dir/out")" "1 gover-ctl: doctor: process 4194304: does not exist"
env LD_LIBRARY_PATH="$gl" LD_PRELOAD="$library" GOVER_FPS="unix:$fps" "$@" &
program=$!
cleanup="kill $program 2>/dev/null"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  setpriv --reuid 4711 --regid 4711 --clear-groups "$B/gover-ctl" --socket "$dir/none" doctor --pid "$program" >"$dir/out" 2>&1
  ok "a process of another user" grep -q "doctor: process $program: cannot be examined by this user (run the command with sudo)" "$dir/out"
fi
ok "the output for people has the cure" sh -c "'$B/gover-ctl' --socket '$sock' doctor --pid $program | grep -q -- '-> '"
kill "$program"
finish
