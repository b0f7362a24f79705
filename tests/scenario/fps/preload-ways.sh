#!/bin/sh
# For each presenting function and each way to find this function: frames counted = frames drawn.
. "$(dirname "$0")/../fps/lib.sh"

ways="direct dlsym RTLD_DEFAULT RTLD_NEXT dlopen-NULL dlvsym proc proc-arb proc-of-proc"

through() { # through FUNCTION WAY FRAMES: like counted
  "$B/tests/fps-sink" "$fps" env LD_LIBRARY_PATH="$gl" GOVER_FPS="unix:$fps" LD_PRELOAD="$preload" \
    "$B/tests/fps-ways" "$@"
}

for function in glXSwapBuffers glXSwapBuffersMscOML eglSwapBuffers eglSwapBuffersWithDamageKHR \
  eglSwapBuffersWithDamageEXT; do
  for way in $ways; do
    is "$function by $way" "$(through $function "$way" 1234)" "frames 1234 programs 1 refused 0 exit 0"
  done
done
for way in $ways; do
  is "all functions at once by $way, each in its own thread" "$(through all "$way" 1000)" \
    "frames 5000 programs 1 refused 0 exit 0"
done
for way in direct-glx direct-egl dlsym-proc; do
  is "$way" "$(counted $way 1234)" "frames 1234 programs 1 refused 0 exit 0"
done
is "one library presenting through another counts once" "$(counted translated 500)" \
  "frames 1000 programs 1 refused 0 exit 0"
is "a failed eglSwapBuffers is not counted" "$(counted failed-swap 500)" "frames 0 programs 0 refused 0 exit 0"
is "a single frame is counted" "$(counted direct-glx 1)" "frames 1 programs 1 refused 0 exit 0"
is "no frame, no report" "$(counted direct-glx 0)" "frames 0 programs 0 refused 0 exit 0"
behind=$B/tests/fps-next
is "the preload calls the next preloaded library" "$(counted beside 300)" "frames 300 programs 1 refused 0 exit 0"
unset behind
before=$B/tests/fps-next
is "an earlier preloaded library calls the preload" "$(counted beside 300)" "frames 300 programs 1 refused 0 exit 0"
finish
