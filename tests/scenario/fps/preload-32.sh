#!/bin/sh
# 32-bit programs with the 32-bit libraries. A 64-bit daemon reads their shared pages.
. "$(dirname "$0")/../fps/lib.sh"
[ -n "${GOVER_ASAN-}" ] && skip_all "the 32-bit libraries have no sanitizer"
[ -e "$B/32/libgover-fps.so" ] || skip_all "no 32-bit library was built: the compiler has no -m32 (gcc-multilib)"
for library in libGL.so.1 libEGL.so.1 libfake-gl.so.1; do ln -sf "$B/tests/32/fake-gl" "$gl/$library"; done
cp "$B/tests/32/fake-gl" "$gl/libfake-copy.so.1"
env LD_LIBRARY_PATH="$gl" "$B/tests/32/fps-draw" 2>"$dir/none"
grep -q usage "$dir/none" || skip_all "32-bit programs do not run here"

counted32() { # counted32 PROGRAM ARGUMENT...: prints "frames N programs N refused N exit N"
  program=$1
  shift
  "$B/tests/fps-sink" "$fps" env LD_LIBRARY_PATH="$gl" LD_PRELOAD="${with-$B/32/libgover-fps.so}" GOVER_FPS="unix:$fps" \
    "$B/tests/32/$program" "$@" 2>&1 | grep -v "wrong ELF class"
}

for function in glXSwapBuffers glXSwapBuffersMscOML eglSwapBuffers eglSwapBuffersWithDamageKHR \
  eglSwapBuffersWithDamageEXT; do
  for way in direct dlsym RTLD_DEFAULT RTLD_NEXT dlopen-NULL dlvsym proc proc-arb proc-of-proc; do
    is "$function by $way" "$(counted32 fps-ways $function $way 1234)" "frames 1234 programs 1 refused 0 exit 0"
  done
done
is "16 threads, including the shared lane" "$(counted32 fps-draw threads 1000)" "frames 16000 programs 1 refused 0 exit 0"
is "parent and child" "$(counted32 fps-draw fork 1000)" "frames 3000 programs 2 refused 0 exit 0"
is "a killed program" "$(counted32 fps-draw killed 1000)" "frames 1000 programs 1 refused 0 exit 137"
is "one library presenting through another" "$(counted32 fps-draw translated 500)" \
  "frames 1000 programs 1 refused 0 exit 0"
is "errno is kept" "$(counted32 fps-draw errno 100)" "frames 100 programs 1 refused 0 exit 0"
with=
if [ -e "$B/32/libgover-fps-layer.so" ]; then
  is "the 32-bit layer" "$(counted32 fps-vk "$B/32/libgover-fps-layer.so" windows 500)" \
    "frames 1000 programs 1 refused 0 exit 0"
fi
finish
