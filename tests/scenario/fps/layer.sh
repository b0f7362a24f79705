#!/bin/sh
# The Vulkan layer counts each presented window once. This also applies to several threads, to a loaded preload library,
# and to OpenGL programs whose calls are translated to Vulkan.
. "$(dirname "$0")/../fps/lib.sh"
layer=$B/libgover-fps-layer.so
[ -e "$layer" ] || skip_all "the layer was not built: no Vulkan headers"

shown() { # shown HOW FRAMES [PRELOAD]: like counted
  "$B/tests/fps-sink" "$fps" env GOVER_FPS="unix:$fps" LD_PRELOAD="$first${3-}" "$B/tests/fps-vk" "$layer" "$1" "$2"
}

is "a window" "$(shown window 1234)" "frames 1234 programs 1 refused 0 exit 0"
is "three windows, one of them out of date: two frames" "$(shown windows 500)" "frames 1000 programs 1 refused 0 exit 0"
is "the same if the program requests each result" "$(shown windows-results 500)" \
  "frames 1000 programs 1 refused 0 exit 0"
is "a lost device presents nothing" "$(shown lost 100)" "frames 0 programs 0 refused 0 exit 0"
is "four threads, each with an instance and two devices" "$(shown threads 1000)" "frames 8000 programs 1 refused 0 exit 0"
is "a device without swapchains has no present" "$(shown no-swapchain 10)" "frames 0 programs 0 refused 0 exit 0"
is "an OpenGL translator without the preload: counted by the layer" "$(shown zink 100)" "frames 100 programs 1 refused 0 exit 0"
is "with the preload: not counted by the layer" "$(shown zink 100 "$B/libgover-fps.so")" \
  "frames 0 programs 0 refused 0 exit 0"
is "a Vulkan program with the preload: counted once" "$(shown window 100 "$B/libgover-fps.so")" \
  "frames 100 programs 1 refused 0 exit 0"
lines() { # lines GOVER_FPS: prints the number of debug lines of a program with the library and the layer
  env GOVER_FPS="$1" GOVER_FPS_DEBUG=1 LD_PRELOAD="$first$B/libgover-fps.so" "$B/tests/fps-vk" "$layer" window 1 2>&1 | grep -c gover-fps
}
is "the library and the layer print an invalid GOVER_FPS once" "$(lines tcp:none)" 1
is "they print once that they cannot connect" "$(lines "unix:$dir/none")" 1
ok "off: the layer intercepts no present" env GOVER_FPS=off LD_PRELOAD="$first" "$B/tests/fps-vk" "$layer" window 100
is "only one function is exported" "$(nm -D --defined-only "$layer" | sed -n 's/.* T //p')" vkNegotiateLoaderLayerInterfaceVersion

if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null && [ -z "${GOVER_ASAN-}" ]; then
  calls() { # calls FRAMES: prints the number of system calls of the whole program
    strace -f -o "$dir/trace" -E GOVER_FPS="unix:$fps" "$B/tests/fps-vk" "$layer" window "$1" || return 1
    wc -l <"$dir/trace"
  }
  few=$(calls 1000) many=$(calls 1000000)
  ok "a frame makes no system call: $few for 1,000, $many for 1,000,000" test "$((many - few))" -le 20
fi
finish
