#!/bin/sh
# The Vulkan layer in real programs, with the real loader and Mesa's software driver: frames counted = frames drawn.
. "$(dirname "$0")/../fps/lib.sh"
[ -e "$B/libgover-fps-layer.so" ] || skip_all "the layer was not built: no Vulkan headers"
command -v vkcube >/dev/null || skip_all "vkcube is not installed"
start_x 640x480
export XDG_RUNTIME_DIR="$dir" XDG_DATA_HOME="$dir/share"
mkdir -p "$dir/share/vulkan/implicit_layer.d"
manifest() { # manifest BITS LIBRARY
  sed "s|@LIBRARY@|$2|; s|@BITS@|$1|" "$top/fps-preload/layer/gover_fps.json.in" \
    >"$dir/share/vulkan/implicit_layer.d/gover_fps$1.json"
}
manifest 64 "$B/libgover-fps-layer.so"
manifest 32 "$B/32/libgover-fps-layer.so"
vkcube --c 1 >"$dir/none" 2>&1 || skip_all "vkcube does not run here: $(tail -n 1 "$dir/none")"

real() { # real COMMAND...: print the counters
  "$B/tests/fps-sink" "$fps" env GOVER_FPS="unix:$fps" "$@" 2>"$dir/err" | tail -n 1
}

is "not enabled: not loaded" "$(real vkcube --c 10)" "frames 0 programs 0 refused 0 exit 0"
export GOVER_FPS_LAYER=1
is "vkcube" "$(real vkcube --c 100)" "frames 100 programs 1 refused 0 exit 0"
is "vkcube, paced" "$(GOVER_FPS_MAX=50 real vkcube --c 25)" "frames 25 programs 1 refused 0 exit 0"
is "vkcube with the preload" "$(real LD_PRELOAD="$preload" vkcube --c 50)" "frames 50 programs 1 refused 0 exit 0"
is "GOVER_FPS_LAYER_DISABLE has precedence" "$(GOVER_FPS_LAYER_DISABLE=1 real vkcube --c 10)" "frames 0 programs 0 refused 0 exit 0"

terrain() { # terrain [NAME=VALUE...]: runs an OpenGL program, which Mesa translates to Vulkan
  real MESA_LOADER_DRIVER_OVERRIDE=zink "$@" "$B/gover-terrain" --quiet --frames 20 --detail 1 --size 160x120
}
if terrain GOVER_FPS_DEBUG=1 >"$dir/zink" && grep -q "frames of an OpenGL translator" "$dir/err"; then
  is "OpenGL by zink without the preload: counted by the layer" "$(terrain)" "frames 20 programs 1 refused 0 exit 0"
  is "with the preload: counted once" "$(terrain LD_PRELOAD="$preload")" "frames 20 programs 1 refused 0 exit 0"
else
  n=$((n + 1))
  echo "ok $n - OpenGL by zink # SKIP Mesa has no zink here"
fi
finish
