#!/bin/sh
# fps_source = bpf: the kernel counts the frames of programs with an unchanged environment for the vGPU of their control
# group. Each drawn frame is counted exactly once, however it is presented.
. "$(dirname "$0")/../softgpu.sh"

# shellcheck disable=SC2034 # read by softgpu.sh
period_ms=300
softgpu_conf
[ -n "${GOVER_EMULATED-}" ] || start_x
sed -i 's/^root = .*/&\nfps_source = bpf/' "$conf"
start || exit 1
why=$(get /v1/host '.fps.bpf_error // empty')
if [ -n "$why" ]; then
  ok "if the kernel cannot count, the log contains the reason" grep -qF "fps_source = bpf: $why" "$dir/log"
  ctl doctor >"$dir/doctor" 2>&1
  ok "doctor reports the reason too" grep -qF "$why" "$dir/doctor"
  stop
  n=$((n + 1))
  echo "ok $n - frames # SKIP $why"
  finish
fi
ctl vgpu add a --cap 40 >/dev/null
ctl vgpu add b --cap 40 >/dev/null
procs() { get "/v1/vgpus/$1" '.attach.cgroup_procs | join(" ")'; }
procs_a=$(procs a) procs_b=$(procs b)

joined() { # joined PROCS COMMAND...: runs the command in the vGPU of these files with an unchanged environment
  sh -c 'for procs in $0; do echo $$ >"$procs" || exit 99; done; exec "$@"' "$@"
}

# Private libraries, as in a container, outside the search path of the host.
gl=$dir/gl
mkdir -p "$gl"
cp "$B/tests/frame-gl" "$gl/libGL.so.1"
cp "$B/tests/fake-gl" "$gl/libEGL.so.1"
ln -s libGL.so.1 "$gl/libfake-gl.so.1"
ln -s libEGL.so.1 "$gl/libfake-copy.so.1"
draw() { # draw PROCS HOW FRAMES [PAUSE_US]: HOW is an argument of fps-draw, or FUNCTION:WAY of fps-ways
  in=$1 how=$2
  shift 2
  case $how in
    *:*) joined "$in" env LD_LIBRARY_PATH="$gl" "$B/tests/fps-ways" "${how%:*}" "${how#*:}" "$@" ;;
    *) joined "$in" env LD_LIBRARY_PATH="$gl" "$B/tests/fps-draw" "$how" "$@" ;;
  esac
}
frames() { get "/v1/vgpus/$1" .frames; }
files() { get /v1/host .fps.bpf_files; }

known=$(files)
draw "$procs_a" direct-glx 4 1000000 &
warm=$!
ok "private libraries of a running program are found" until_ok 10 that /v1/host ".fps.bpf_files == $known + 2"
wait "$warm"
ok "none is rejected" that /v1/host '.fps.bpf_refused == 0'

drawn() { # drawn TEXT TIMES HOW FRAMES...: exactly TIMES x FRAMES are counted for a
  text=$1 times=$2
  shift 2
  before=$(frames a)
  draw "$procs_a" "$@" >/dev/null 2>&1
  is "$text: the program succeeds" $? "${rc:-0}"
  wanted=$((before + times * $2))
  until_ok 5 that /v1/vgpus/a ".frames >= $wanted"
  periods 1
  is "$text: counted = drawn" "$(($(frames a) - before))" $((wanted - before))
}
drawn "GLX" 1 direct-glx 1000
if [ -z "${GOVER_EMULATED-}" ]; then
  drawn "EGL" 1 direct-egl 1000
  drawn "found by dlsym" 1 glXSwapBuffers:dlsym 1000
  drawn "found by glXGetProcAddress" 1 glXSwapBuffers:proc 1000
  drawn "a function that calls another one and fails every second time" 2 eglSwapBuffersWithDamageKHR:dlsym 1000
  drawn "by a child that the C library does not know" 3 clone 500
  drawn "over exec" 2 exec 500
fi
drawn "presented through another library" 2 translated 1000
mkdir "$dir/jump" # with exchanged libraries: the optimised library jumps to the other one instead of calling it
ln -s "$gl/libEGL.so.1" "$dir/jump/libGL.so.1"
ln -s "$gl/libGL.so.1" "$dir/jump/libEGL.so.1"
ln -s "$gl/libGL.so.1" "$dir/jump/libfake-copy.so.1"
gl=$dir/jump
drawn "presented by a jump to another library" 2 translated 1000
gl=$dir/gl
drawn "16 threads" 16 threads 500
drawn "over fork" 3 fork 500
rc=137
drawn "with a kill" 1 killed 1000

# Two programs in parallel with different frame rates.
before_a=$(frames a) before_b=$(frames b)
draw "$procs_a" direct-glx 800 5000 &
one=$!
draw "$procs_b" direct-egl 400 10000 &
two=$!
ok "two vGPUs in parallel: each has its own FPS" until_ok 20 that /v1/vgpus \
  '[.vgpus[] | {(.id): .fps}] | add | .a > 60 and .b > 30 and .a > .b * 1.3'
ok "the frame time is at least 10 ms" that /v1/vgpus/b '.frame_p99_ms > 9'
wait "$one" "$two"
periods 1
is "800 frames of a" "$(($(frames a) - before_a))" 800
is "400 frames of b" "$(($(frames b) - before_b))" 400
ok "without a program fps is null" until_ok 5 that /v1/vgpus/a '.fps == null'
draw "$procs_a" direct-glx 2 6000000 &
still=$!
ok "a program that draws nothing has 0 FPS" until_ok 10 that /v1/vgpus/a '.fps == 0'
kill "$still" 2>/dev/null
xargs -r kill <"${procs_a%% *}" 2>/dev/null

# A program also reports frames through the preload library: only the configured source is counted.
before=$(frames a)
[ -n "${GOVER_ASAN-}" ] ||
  joined "$procs_a" env LD_LIBRARY_PATH="$gl" LD_PRELOAD="$B/libgover-fps.so" GOVER_FPS="unix:$dir/fps.sock" \
    "$B/tests/fps-draw" direct-glx 500 2000
periods 1
is "with the library preloaded no frame counts twice" "$(($(frames a) - before))" "$([ -n "${GOVER_ASAN-}" ] && echo 0 || echo 500)"

# A group below the group of the vGPU, as a container runtime creates it.
below=''
for p in $procs_a; do
  mkdir "${p%/*}/below" 2>/dev/null
  [ ! -f "${p%/*}/below/cpuset.cpus" ] || {
    cat "${p%/*}/cpuset.cpus" >"${p%/*}/below/cpuset.cpus"
    cat "${p%/*}/cpuset.mems" >"${p%/*}/below/cpuset.mems"
  } 2>/dev/null
  below="$below ${p%/*}/below/cgroup.procs"
done
before=$(frames a)
draw "$below" direct-glx 300 >/dev/null
periods 1
is "a group below that of the vGPU belongs to the vGPU" "$(($(frames a) - before))" 300
for p in $below; do rmdir "${p%/*}"; done

# Libraries on a file system in a private mount namespace.
cat >"$dir/private" <<EOF2
mount -t tmpfs private "$dir/mnt" && cp "$gl/libGL.so.1" "$gl/libEGL.so.1" "$dir/mnt" &&
  ln -s libGL.so.1 "$dir/mnt/libfake-gl.so.1" &&
  for procs in $procs_b; do echo \$\$ >"\$procs"; done &&
  LD_LIBRARY_PATH="$dir/mnt" exec "$B/tests/fps-draw" direct-glx 1500 4000
EOF2
mkdir "$dir/mnt"
if unshare -m true 2>/dev/null; then
  before=$(frames b)
  unshare -m sh "$dir/private" &
  private=$!
  ok "libraries in a private mount namespace are found" until_ok 10 that /v1/vgpus/b ".frames > $before + 100"
  wait "$private"
  periods 1
  seen=$(($(frames b) - before))
  ok "the later ones of 1500 frames are counted ($seen)" test "$seen" -ge 500 -a "$seen" -le 1500
fi

# Real OpenGL programs with the libraries of the host, which the daemon finds before a program uses them.
if [ -n "${DISPLAY-}" ]; then
  before=$(frames a)
  # Ignore leaks of Mesa.
  joined "$procs_a" env ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" "$B/gover-terrain" --quiet --frames 40 --size 320x240
  periods 1
  is "gover-terrain: counted = drawn" "$(($(frames a) - before))" 40
  for mark in glmark2 glmark2-es2; do # these programs use dlsym
    command -v $mark >/dev/null || continue
    before=$(frames a)
    joined "$procs_a" $mark --size 320x240 -b build:duration=60.0:nframes=150 >/dev/null 2>&1
    periods 1
    is "$mark: counted = drawn" "$(($(frames a) - before))" 150
  done
fi
if [ -n "${DISPLAY-}" ] && [ -z "${GOVER_ASAN-}" ]; then
  before=$(frames a)
  reported=$(joined "$procs_a" "$B/tests/fps-sink" "$dir/sink.sock" env LD_PRELOAD="$B/libgover-fps.so" \
    GOVER_FPS="unix:$dir/sink.sock" timeout 3 glxgears 2>/dev/null | sed -n 's/^frames \([0-9]*\) .*/\1/p' | tail -n 1)
  periods 1
  counted=$(($(frames a) - before))
  # The kernel counts a frame when it begins, the preload library when it ends. At most one frame has begun but not ended.
  ok "glxgears: as many as the library reports ($counted, $reported)" test "$reported" -gt 20 -a \
    "$counted" -ge "$reported" -a "$counted" -le "$((reported + 1))"
fi

# Remove a vGPU with libraries that no other vGPU uses. Then create a vGPU with the same name.
draw "$procs_b" direct-glx 4 400000 >/dev/null
xargs -r kill -KILL <"${procs_b%% *}" 2>/dev/null
ok "a vGPU can be removed" until_ok 5 ctl vgpu remove b
ok "libraries that it alone used are released" until_ok 10 that /v1/host ".fps.bpf_files == $known + 2"
before=$(frames a)
draw "$procs_a" direct-glx 200 >/dev/null
periods 1
is "the other vGPU is still counted" "$(($(frames a) - before))" 200
ctl vgpu add b --cap 40 >/dev/null
periods 1
is "a new vGPU with the same name has no frames" "$(frames b)" 0
procs_b=$(procs b)
draw "$procs_b" direct-glx 250 >/dev/null
periods 1
is "its own frames are counted" "$(frames b)" 250

# A kill of the daemon does not affect programs. The next daemon counts their frames.
draw "$procs_a" direct-glx 6000 2000 &
one=$!
restart KILL
until_ok 10 that /v1/vgpus/a '.fps > 50'
ok "after a kill and a restart frames are counted" that /v1/vgpus/a '.fps > 50'
wait "$one"
is "the program is not affected" $? 0

# Prints the cost of counting a frame for each source. The presenting function itself does nothing. The cost is not
# tested, because the machine may be busy.
cost() { # cost LABEL FRAMES COMMAND...: prints the shortest of three measurements
  label=$1 times=$2 best=''
  shift 2
  for _ in 1 2 3; do
    from=$(date +%s%N)
    "$@" direct-glx "$times" || echo "# $label: failed with $?"
    ns=$((($(date +%s%N) - from) / times))
    if [ -z "$best" ] || [ "$ns" -lt "$best" ]; then best=$ns; fi
  done
  echo "# cost of a frame, $label: $best ns"
}
frames=2000000
[ -z "${GOVER_EMULATED-}" ] || frames=200000
if [ -z "${GOVER_ASAN-}" ]; then
  api PATCH /v1/vgpus/a '{"held_cap_pct": 100}' >/dev/null
  mkdir "$dir/other"
  cp "$B/tests/frame-gl" "$dir/other/libGL.so.1"
  cp "$B/tests/fake-gl" "$dir/other/libEGL.so.1"
  ln -s libGL.so.1 "$dir/other/libfake-gl.so.1"
  cost "not counted" $frames env LD_LIBRARY_PATH="$dir/other" "$B/tests/fps-draw"
  cost "counted by the preloaded library" $frames env LD_LIBRARY_PATH="$dir/other" LD_PRELOAD="$B/libgover-fps.so" \
    GOVER_FPS="unix:$dir/fps.sock" "$B/tests/fps-draw"
  cost "seen by the kernel outside of vGPUs" $((frames / 40)) env LD_LIBRARY_PATH="$gl" "$B/tests/fps-draw"
  cost "counted by the kernel" $((frames / 40)) draw "$procs_a"
fi
xargs -r kill -KILL <"${procs_a%% *}" 2>/dev/null
until_ok 5 ctl vgpu remove a
ctl vgpu remove b >/dev/null
stop

# Without permission to use BPF, the daemon runs, counts no frames and reports the reason.
setpriv --bounding-set -sys_admin,-bpf,-perfmon "$B/gover-d" --config "$conf" >"$dir/log" 2>&1 &
daemon_pid=$!
ok "without permission the daemon runs" until_ok 20 that /v1/host '.ready'
ok "the log contains the required capability" grep -q 'fps_source = bpf: .*not permitted.*CAP_BPF' "$dir/log"
ctl doctor >"$dir/doctor" 2>&1
ok "doctor reports the reason too" grep -q 'fps-bpf.*not permitted.*CAP_BPF' "$dir/doctor"
finish
