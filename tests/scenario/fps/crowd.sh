#!/bin/sh
# Neither a user nor a vGPU with thousands of connections keeps the programs of another vGPU from reporting. Refused
# connections are counted and raise an alert that names the user or the vGPU.
. "$(dirname "$0")/../softgpu.sh"
. "$(dirname "$0")/../fps/lib.sh"
files_max=$(awk '/^Max open files/ {print $5}' /proc/self/limits) # the hard limit
[ "$files_max" = unlimited ] || [ "$files_max" -ge 6000 ] || skip_all "the limit of open files is too low"

period_ms=200 max_vgpus=2
softgpu_conf
start || exit 1
ctl vgpu add a --cap 30 >/dev/null
ctl vgpu add b --cap 30 --vm vm-b >/dev/null
abuser='' drawer=''
# shellcheck disable=SC2016,SC2034 # run by lib.sh at the end
cleanup='kill $abuser $drawer 2>/dev/null; end_softgpu'

groups() { get "/v1/vgpus/$1" '.attach.cgroup_procs[]'; }
groups_of_a=$(groups a) groups_of_b=$(groups b)

joined() { # joined GROUPS COMMAND...: replaces this shell with a command in control groups
  groups=$1
  shift
  # shellcheck disable=SC2016 # words of the inner shell
  GROUPS_OF=$groups exec sh -c 'for procs in $GROUPS_OF; do echo 0 >"$procs"; done; exec "$@"' sh "$@"
}

draws() { # a program of b draws until it is counted
  # shellcheck disable=SC2086
  joined "$groups_of_b" env LD_LIBRARY_PATH="$gl" LD_PRELOAD="$preload" GOVER_FPS="unix:$fps" \
    "$B/tests/fps-draw" timed 1000000 5000 >"$dir/drawn" 2>&1 &
  drawer=$!
  until_ok 30 that /v1/vgpus/b '.fps != null and .fps > 20'
}

drawn() {
  kill "$drawer"
  wait "$drawer"
}

over() { that /v1/host ".fps.over_limit > $1"; }

"$B/tests/fps-abuse" "$fps" crowd 1100 &
abuser=$!
ok "a user opens 1,100 connections: most are refused" until_ok 30 over 1000
ok "the others are limited to 64" that /v1/host '.fps.open <= 64 and .fps.unmatched == .fps.open'
ok "an alert names the user" until_ok 20 that /v1/alerts \
  ".alerts | any(.name == \"fps_over_limit\" and (.text | contains(\"because user $(id -u) has 64 connections\")))"
ok "a metric counts them" sh -c "curl -s --unix-socket '$sock' http://gover/metrics |
  grep 'gover_fps_over_limit_total{holder=\"user\"} [1-9][0-9][0-9][0-9]'"
ok "the frames of a program of vGPU b count" draws
ok "it drew every frame" drawn
kill "$abuser"
wait "$abuser" 2>/dev/null
ok "the alert clears when the connections end" until_ok 60 alerts 0 fps_over_limit

seen=$(get /v1/host .fps.over_limit)
joined "$groups_of_a" "$B/tests/fps-abuse" "$fps" crowd 3000 &
abuser=$!
ok "a vGPU opens 3,000 connections: most are refused" until_ok 30 over $((seen + 2400))
ok "the others are limited to 512" that /v1/host '.fps.open <= 512 and .fps.unmatched == 0'
ok "an alert names the vGPU" until_ok 20 alerts 1 fps_over_limit a
ok "the frames of a program of vGPU b count" draws
ok "it drew every frame" drawn
is "b has no alert" "$(get /v1/alerts '[.alerts[] | select(.vgpu == "b" and .name == "fps_over_limit")] | length')" 0
kill "$abuser"
wait "$abuser" 2>/dev/null
ok "the alert clears when the connections end" until_ok 60 alerts 0 fps_over_limit
grep -c "fps_over_limit" "$dir/log" | sed 's/^/# lines of the log about the limit: /'
finish
