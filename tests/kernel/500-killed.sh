#!/bin/sh
# gover-d is killed and not restarted: within 100 ms after the lease of a vGPU has expired, the kernel restores the
# initial cap of the vGPU, with hard caps and with guarantees.
. "$(dirname "$0")/lib.sh"
gpu 7
lease_ms=2000

configure() { # configure SHARING
  cat >"$conf" <<EOT
[daemon]
socket = $sock
state_dir = $dir/state-$1
period_ms = 500
[gpu gpu0]
backend = gvt
parent = gover_gvt.7
lease_ms = $lease_ms
sharing = $1
[fps]
socket = $dir/fps.sock
EOT
}

# Three vGPUs have the initial cap 40 %. The daemon limits the sum to 100, so every cap differs from the initial cap.
create_all() {
  folders=''
  for _ in 1 2 3; do
    create 8
    echo 40 >"$q/initial_cap"
    folders="$folders $q"
  done
}
differ() {
  for q in $folders; do
    value "$q/cap"
    [ "$value" -lt 40 ] || return 1
  done
}

# Waits until all vGPUs have their initial cap. The kernel has restored the last one between the times $still and $back.
all_back() {
  still=$killed back=$killed
  while [ $((back - killed)) -lt 1000 ]; do
    back_now=0
    now
    before=$now
    for q in $folders; do
      value "$q/cap"
      [ "$value" -ne 40 ] || back_now=$((back_now + 1))
    done
    now
    back=$now
    [ "$back_now" -lt 3 ] || return 0
    still=$before
  done
  return 1
}

for sharing in hard guarantee; do
  create_all
  configure "$sharing"
  start || exit 1
  ok "$sharing: the daemon changes all three caps" until_ok 30 differ
  is "$sharing: the GPU has the discipline" "$(cat "$parent/gover_sharing")" "$sharing"
  for q in $folders; do
    value "$q/cap_lease_ms"
    is "$sharing: each has a lease" "$value" "$lease_ms"
  done
  sleep 3
  ok "$sharing: the daemon renews the leases" differ
  stop KILL
  now
  killed=$now
  ok "$sharing: after the kill all three return to the initial cap" all_back
  ok "$sharing: within the lease and 100 ms" test $(((still - killed - 1) * 10)) -le $((lease_ms + 100))
  echo "# after $(((still - killed) * 10)) to $(((back - killed) * 10)) ms of a lease of $lease_ms ms"
  is "$sharing: the discipline stays" "$(cat "$parent/gover_sharing")" "$sharing"
  remove_all
done
finish
