# Functions for 1,000 vGPUs on the 20 GPUs of a mounted gover-sim, shared by a scenario test and a benchmark. Source
# this file after lib.sh and host.sh.
# shellcheck shell=sh disable=SC2154

# Creates 50 vGPUs with a cap of 2 % on each GPU. 40 vGPUs demand half of their cap, 9 are idle, and 1 demands the whole
# GPU.
thousand_make() { # thousand_make DIR
  for parent in "$1"/class/mdev_bus/*; do
    i=0
    while [ "$i" -lt 50 ]; do
      uuid=$(printf '%08x-0000-4000-8000-%012d' "$((thousand_gpu + 1))" "$i")
      echo "$uuid" >"$parent/mdev_supported_types/i915-GVTg_V5_8/create"
      echo 2 >"$parent/$uuid/intel_vgpu/initial_cap"
      case $i in
      0) echo 100 >"$parent/$uuid/load" ;;
      [1-9]) echo 0 >"$parent/$uuid/load" ;;
      *) echo 1 >"$parent/$uuid/load" ;;
      esac
      i=$((i + 1))
    done
    thousand_gpu=$((thousand_gpu + 1))
  done
}
thousand_gpu=0

thousand_sell() { # gives a contract of 6 % to the vGPUs that demand the whole GPU
  for gpu in $(seq "$thousand_gpu"); do
    api POST /v1/vgpus "{\"id\": \"$(printf '%08x-0000-4000-8000-%012d' "$gpu" 0)\", \"initial_cap_pct\": 6}" >/dev/null
    [ "$(status)" = 201 ] || return 1
  done
}

thousand_conf() { # prints the configuration of the daemon
  cat <<EOF
[daemon]
socket = $sock
state_dir = $dir/state
period_ms = 1000
[fps]
socket = $dir/fps.sock
[offer]
max_vgpus = 50
EOF
  for parent in "$dir"/sys/class/mdev_bus/*; do
    printf '[gpu %s]\nbackend = gvt\nroot = %s\nparent = %s\nsharing = hard\n' "$(basename "$parent" | tr ':' '-')" "$dir/sys" "$(basename "$parent")"
  done
}
