#!/bin/sh
# The preload never ends or blocks its host program, prints nothing, and keeps errno, environment and fds.
. "$(dirname "$0")/../fps/lib.sh"

silent() { # silent command...: succeeds and prints nothing
  "$@" >"$dir/said" 2>&1 && ! grep . "$dir/said"
}

ok "no daemon: the program continues and prints nothing" silent drawing direct-glx 1000
ok "errno is kept, also during connection attempts" silent drawing errno 1100 1000
ok "the environment is kept" silent drawing environment 10
ok "an fd number that the program reuses is left alone" silent drawing close-fds 240 5000
ok "with a daemon the program runs too, and the library reconnects" sh -c "echo '$(counted close-fds 240 5000)' |
  grep '^frames [2-4][0-9][0-9] programs 1 refused 0 exit 0'"
for where in vsock:1:7007 vsock:2:7007 vsock:99:7007 port:org.gover.none; do
  ok "GOVER_FPS=$where without a daemon: the program continues and prints nothing" silent drawing direct-glx 1100 1000
  ok "errno is kept" drawing errno 100
done
"$B/tests/fps-deny" errno:socket true
if [ $? -eq 77 ]; then
  ok "sockets refused by seccomp # SKIP no seccomp here" true
else
  for where in "unix:$fps" vsock:2:7007; do
    ok "GOVER_FPS=$(echo "$where" | cut -c 1-5)..., sockets refused by seccomp: the program continues and prints nothing" \
      silent "$B/tests/fps-deny" errno:socket env LD_LIBRARY_PATH="$gl" LD_PRELOAD="$preload" GOVER_FPS="$where" \
      "$B/tests/fps-draw" direct-glx 1100 1000
  done
fi
for where in off '' vsock:2 vsock:x:1 port:a/b unix: /tmp/fps.sock udp:1.2.3.4 OFF "unix:$(printf %0200d 0)"; do
  ok "GOVER_FPS='$(echo "$where" | cut -c 1-20)' turns counting off silently" silent drawing direct-glx 100
done
unset where
for fps_max in '' 0 -1 nan 60fps 1000.5 1e3; do
  ok "GOVER_FPS_MAX='$fps_max' is ignored silently" silent env GOVER_FPS_MAX="$fps_max" \
    LD_LIBRARY_PATH="$gl" LD_PRELOAD="$preload" GOVER_FPS=off "$B/tests/fps-draw" direct-glx 100
done
ok "a program without GL still finds no GL functions" silent env LD_PRELOAD="$preload" "$B/tests/fps-plain"
ok "a shell and its children are not affected" \
  test "$(env LD_PRELOAD="$preload" sh -c 'echo a | tr a b; ls / >/dev/null && echo c')" = "b
c"
is "only the hooks and the interface of the layer are exported" \
  "$(nm -D --defined-only "$B/libgover-fps.so" | sed -n 's/.* [TWVi] //p' | sort | tr '\n' ' ')" \
  "dlsym dlvsym eglGetProcAddress eglSwapBuffers eglSwapBuffersWithDamageEXT eglSwapBuffersWithDamageKHR $(:
  )glXGetProcAddress glXGetProcAddressARB glXSwapBuffers glXSwapBuffersMscOML gover_fps_frame_begin gover_fps_frame_end "
GOVER_FPS_DEBUG=1 drawing direct-glx 10 2>"$dir/debug"
where=unx:/run/x.sock GOVER_FPS_MAX=60fps GOVER_FPS_DEBUG=1 drawing direct-glx 10 2>"$dir/typo"
ok "GOVER_FPS_DEBUG=1 names an invalid GOVER_FPS" grep -q "GOVER_FPS: invalid value 'unx:/run/x.sock', no frame" "$dir/typo"
ok "GOVER_FPS_DEBUG=1 names an invalid GOVER_FPS_MAX" grep -q "GOVER_FPS_MAX: invalid value '60fps', ignored" "$dir/typo"
where=off GOVER_FPS_DEBUG=1 drawing direct-glx 10 2>"$dir/off"
ok "GOVER_FPS=off is valid" test ! -s "$dir/off"
ok "GOVER_FPS_DEBUG=1 prints debug lines" grep -q "gover-fps\[[0-9]*\]: cannot connect to $fps" "$dir/debug"
finish
