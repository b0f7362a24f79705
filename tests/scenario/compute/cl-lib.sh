# Functions for the scenarios of compute tenants: an OpenCL device, and a cache of compiled kernels in the test's folder.
# CL_DEVICE selects another device (PLATFORM[:INDEX]) instead of PoCL.
# Sourced by a scenario, also instead of lib.sh.
# shellcheck shell=sh
command -v finish >/dev/null || . "$(dirname "$0")/../lib.sh"
export CL_DEVICE="${CL_DEVICE:-Portable Computing Language}"
export POCL_CACHE_DIR="${dir:?}/pocl"
unset OPENCL_LAYERS CL_LAYER_MISTAKE CL_PATIENCE_MS
mkdir -p "$POCL_CACHE_DIR"
# Leaks of PoCL and LLVM are not gover's.
[ -z "${GOVER_ASAN-}" ] || ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0

need_device() { # skips the scenario if the programs or the device are missing
  [ -x "$B/gover-kernels" ] || skip_all "gover-kernels was not built: no OpenCL headers"
  "$B/gover-kernels" --list >"$dir/devices" 2>&1
  case $CL_DEVICE in
  [0-9]*) grep -q . "$dir/devices" ;;
  *) grep -qF "${CL_DEVICE%%:*}" "$dir/devices" ;;
  esac || skip_all "no OpenCL device '$CL_DEVICE' (pocl-opencl-icd)"
}
