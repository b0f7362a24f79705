#!/bin/sh
# Programs that draw on the CPU cannot be seen by host truth: with llvmpipe (OpenGL) and lavapipe (Vulkan), no descriptor of
# the program has times of an engine. softgpu measures such programs by their CPU time instead.
. "$(dirname "$0")/../fps/lib.sh"
start_x 400x300
lavapipe=$(find /usr/share/vulkan/icd.d -name 'lvp_icd*.json' 2>/dev/null | head -n 1)

has_driver() { # has_driver PID: succeeds if the program has mapped Mesa's driver
  grep -qE '(swrast|llvmpipe|gallium|libvulkan_lvp)' "/proc/$1/maps"
}

engine_times() { # engine_times PID: prints the number of its descriptors with times of an engine
  cat "/proc/$1/fdinfo/"* 2>/dev/null | grep -cE '^drm-(engine|cycles)-'
}

try() { # try NAME COMMAND...: runs a program and looks at its descriptors
  name=$1
  shift
  command -v "$1" >/dev/null || {
    ok "$name # SKIP $1 is not installed" true
    return
  }
  "$@" >"$dir/$name.log" 2>&1 &
  pid=$!
  if until_ok 15 has_driver "$pid"; then
    sleep 1 # for a few frames
    ok "$name draws on the CPU" kill -0 "$pid"
    is "$name has no times of an engine" "$(engine_times "$pid")" 0
  else
    ok "$name # SKIP it does not run here: $(tail -n 1 "$dir/$name.log")" true
  fi
  kill "$pid" 2>/dev/null
}

try glxgears glxgears
if [ -n "$lavapipe" ]; then
  try vkcube env VK_ICD_FILENAMES="$lavapipe" vkcube --c 100000
else
  ok "vkcube # SKIP lavapipe is not installed (mesa-vulkan-drivers)" true
fi
finish
