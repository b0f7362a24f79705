#!/bin/sh
# A connection that outlives its process counts for no other vGPU, even if a process of another vGPU gets the same pid.
. "$(dirname "$0")/../softgpu.sh"

period_ms=200 max_vgpus=2
softgpu_conf
start || exit 1
ctl vgpu add a --cap 30 >/dev/null
ctl vgpu add b --cap 30 --vm vm-b >/dev/null

procs() { get "/v1/vgpus/$1" '.attach.cgroup_procs[0]'; }

for try in 1 2; do
  mkfifo "$dir/go$try"
  before=$(get /v1/vgpus/a .frames)
  "$B/tests/fps-abuse" "$dir/fps.sock" outlive "$(procs a)" "$(procs b)" <"$dir/go$try" >"$dir/abuse$try" 2>"$dir/abuse$try.err" &
  abuser=$!
  # shellcheck disable=SC2034 # read by lib.sh
  cleanup="kill $abuser 2>/dev/null; end_softgpu"
  exec 4>"$dir/go$try"
  ok "try $try: the frames of a process of a count for a" until_ok 20 that /v1/vgpus/a ".frames == $before + 100"
  echo >&4
  exec 4>&-
  until_ok 20 grep -q . "$dir/abuse$try.err" "$dir/abuse$try" && until_ok 2 grep -q reused "$dir/abuse$try"
  if ! grep -q reused "$dir/abuse$try"; then
    ok "a chosen pid # SKIP $(tail -n 1 "$dir/abuse$try.err")" true
    break
  fi
  ok "try $try: the process ends: its connection ends, though another process holds it" \
    until_ok 10 that /v1/host '.fps.open == 0'
  is "try $try: frames written later count for no stranger with its pid" "$(get /v1/vgpus/b '"\(.frames) \(.fps)"')" "0 null"
  kill "$abuser"
  wait "$abuser" 2>/dev/null
done
finish
