#!/bin/sh
# `run` starts a program in its vGPU, with the preload library and a frame limit slightly above the target. After an
# error no vGPU is left behind.
# shellcheck disable=SC2016 # text in single quotes is for the program
. "$(dirname "$0")/../lib.sh"

start_sim
rejected() { # rejected "text" CODE PART argument...
  text=$1 code=$2 part=$3
  shift 3
  ctl run "$@" >"$dir/out" 2>&1
  is "$text" "$?" "$code"
  ok "$text: with a message" grep -q "^gover-ctl: run: .*$part" "$dir/out"
}
rejected "a simulated GPU runs no programs" 1 "vGPU 'a': the backend of GPU 'gpu0' cannot run programs" --vgpu a --cap 50 -- true
is "the new vGPU is removed" "$(get /v1/vgpus '.vgpus | length')" 0
rejected "a missing program has the exit code of a shell" 127 "nix: no such" --vgpu a --cap 50 -- nix
rejected "a file that is not executable, too" 126 "/etc/passwd" --vgpu a --cap 50 -- /etc/passwd
rejected "a new vGPU needs --cap" 1 "vGPU 'a' does not exist; use --cap" --vgpu a -- true
is "no vGPU was created" "$(get /v1/vgpus '.vgpus | length')" 0
stop

# The rest needs writable control groups.
. "$(dirname "$0")/../softgpu.sh"
root=gover-test-run-$$ cleanup=end_softgpu
cat >"$conf" <<EOF2
[daemon]
socket = $sock
state_dir = $dir/state
[gpu gpu0]
backend = softgpu
root = $root
capacity_cores = 1
sharing = hard
[fps]
socket = $dir/fps.sock
EOF2
if ! start >"$dir/start.out" 2>&1 || [ "$(get /v1/gpus '.gpus | length')" != 1 ]; then
  n=$((n + 1))
  echo "ok $n - a program runs in its vGPU # SKIP control groups are not writable"
  finish
fi

out=$(ctl run --vgpu a --cap 40 --target-fps 60 -- sh -c 'echo $GOVER_FPS_MAX $GOVER_FPS $LD_PRELOAD $GOVER_FPS_LAYER; cat /proc/self/cgroup; exit 7' 2>&1)
is "the exit status is that of the program" "$?" 7
is "its environment has the frame limit, the socket for reports, the library and the layer" \
  "$(echo "$out" | head -n 1)" "61 unix:$dir/fps.sock ${GOVER_FPS_LIB-$B/libgover-fps.so} 1"
ok "it ran in the control group of its vGPU" sh -c "echo '$out' | grep -q 'gover-test-run-$$.*/a\$'"
is "the contract has the options" "$(get /v1/vgpus/a '[.initial_cap_pct, .target_fps] | tostring')" '[40,60]'
is "an existing vGPU is used again, and --fps-max 0 sets no limit" \
  "$(ctl run --vgpu a --fps-max 0 -- sh -c 'echo "<$GOVER_FPS_MAX>"')" "<>"
is "--fps-max sets the limit" "$(ctl run --vgpu a --fps-max 30 -- sh -c 'echo $GOVER_FPS_MAX')" 30
mkdir "$dir/gl"
for library in libGL.so.1 libEGL.so.1 libfake-gl.so.1; do ln -s "$B/tests/fake-gl" "$dir/gl/$library"; done
ctl vgpu set a --fps-limit 62.5 >/dev/null
ok "a running program gets the limit of the contract" until_ok 30 sh -c "
  LD_LIBRARY_PATH=$dir/gl GOVER_FPS_DEBUG=1 '$B/gover-ctl' --socket '$sock' run --vgpu a --fps-max 0 -- \
    '$B/tests/fps-draw' direct-glx 500 10000 2>&1 | grep 'at least 16000000 ns'"
ok "a program in its vGPU prints that its frames are counted" until_ok 30 sh -c "
  LD_LIBRARY_PATH=$dir/gl GOVER_FPS_DEBUG=1 '$B/gover-ctl' --socket '$sock' run --vgpu a --fps-max 0 -- \
    '$B/tests/fps-draw' direct-glx 500 10000 2>&1 | grep 'this process is in a vGPU: its frames are counted'"
ctl vgpu set a --fps-limit 0 >/dev/null
is "an existing LD_PRELOAD is kept behind the library" "$(
  export LD_PRELOAD=libm.so.6
  exec "$B/gover-ctl" --socket "$sock" run --vgpu a -- sh -c 'echo $LD_PRELOAD'
)" \
  "${GOVER_FPS_LIB-$B/libgover-fps.so}:libm.so.6"
rejected "a different contract is rejected" 1 "--cap is 40, not 50" \
  --vgpu a --cap 50 -- true
ok "a vGPU without programs can be removed" ctl vgpu remove a
finish
