#!/bin/sh
# `run` places a program in its vGPU with the library preloaded and paced a little above its target, or refuses and
# leaves nothing behind.
# shellcheck source=tests/scenario/lib.sh
# shellcheck disable=SC2016 # what stands in single quotes is for the program that is run
. "$(dirname "$0")/lib.sh"

sim_conf
start || exit 1
refused() { # refused "text" CODE PART argument...
  text=$1 code=$2 part=$3
  shift 3
  ctl run "$@" >"$dir/out" 2>&1
  is "$text" "$?" "$code"
  ok "$text: in a sentence" grep -q "^gover-ctl: run: .*$part" "$dir/out"
}
refused "a simulated GPU runs no programs" 1 "vGPU 'a' on GPU 'gpu0' has no place" --vgpu a --cap 50 -- true
is "and the vGPU made for it is gone again" "$(get /v1/vgpus '.vgpus | length')" 0
refused "a program that is not there is as in a shell" 127 "nix: no such" --vgpu a --cap 50 -- nix
refused "one that is no program too" 126 "/etc/passwd" --vgpu a --cap 50 -- /etc/passwd
refused "a vGPU that is not there needs its cap" 1 "no vGPU 'a' yet: --cap" --vgpu a -- true
is "nothing was made" "$(get /v1/vgpus '.vgpus | length')" 0
stop

# From here on with real control groups.
# shellcheck source=tests/scenario/softgpu.sh
. "$(dirname "$0")/softgpu.sh"
root=gover-test-run-$$ cleanup=end_softgpu
cat >"$conf" <<EOF2
[daemon]
socket = $sock
state_dir = $dir/state
[gpu gpu0]
backend = softgpu
root = $root
capacity_cores = 1
[fps]
socket = $dir/fps.sock
EOF2
if ! start >"$dir/start.out" 2>&1 || [ "$(get /v1/gpus '.gpus | length')" != 1 ]; then
  n=$((n + 1))
  echo "ok $n - a program runs in its vGPU # SKIP no control group can be written here"
  finish
fi

out=$(ctl run --vgpu a --cap 40 --target-fps 60 -- sh -c 'echo $GOVER_FPS_MAX $GOVER_FPS $LD_PRELOAD $GOVER_FPS_LAYER; cat /proc/self/cgroup; exit 7' 2>&1)
is "the program's own exit status comes back" "$?" 7
is "it is paced a little above its target, reports to the daemon, and has library and layer" \
  "$(echo "$out" | head -n 1)" "61 unix:$dir/fps.sock ${GOVER_FPS_LIB-$B/libgover-fps.so} 1"
ok "it was in the control group of its vGPU" sh -c "echo '$out' | grep -q 'gover-test-run-$$.*/a\$'"
is "the contract it asked for stands" "$(get /v1/vgpus/a '[.initial_cap_pct, .target_fps] | tostring')" '[40,60]'
is "a vGPU that stands is used again, unpaced where told" \
  "$(ctl run --vgpu a --fps-max 0 -- sh -c 'echo "<$GOVER_FPS_MAX>"')" "<>"
is "a pace of one's own" "$(ctl run --vgpu a --fps-max 30 -- sh -c 'echo $GOVER_FPS_MAX')" 30
mkdir "$dir/gl"
for library in libGL.so.1 libEGL.so.1 libfake-gl.so.1; do ln -s "$B/tests/fake-gl" "$dir/gl/$library"; done
ctl vgpu set a --fps-limit 62.5 >/dev/null
# A sanitizer insists on being loaded first; neither of the two libraries hides anything from it.
link_order="${ASAN_OPTIONS-}:verify_asan_link_order=0"
ok "the limit of a contract is ordered of a program that runs" until_ok 30 sh -c "
  ASAN_OPTIONS=$link_order LD_LIBRARY_PATH=$dir/gl GOVER_FPS_DEBUG=1 '$B/gover-ctl' --socket '$sock' run --vgpu a --fps-max 0 -- \
    '$B/tests/fps-draw' direct-glx 500 10000 2>&1 | grep 'at least 16000000 ns'"
ctl vgpu set a --fps-limit 0 >/dev/null
is "what was preloaded before stays, after ours" "$(
  export ASAN_OPTIONS="$link_order" LD_PRELOAD=libm.so.6
  exec "$B/gover-ctl" --socket "$sock" run --vgpu a -- sh -c 'echo $LD_PRELOAD'
)" \
  "${GOVER_FPS_LIB-$B/libgover-fps.so}:libm.so.6"
refused "another contract is refused with what differs" 1 "initial_cap_pct is 40, --cap says 50" \
  --vgpu a --cap 50 -- true
ok "an empty vGPU can be removed" ctl vgpu remove a
stop
is "a clean stop" "$stopped" 0
finish
