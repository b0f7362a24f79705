#!/bin/sh
# The daemon is killed before and after a changed contract is stored: no cap is above its stored contract, also after the
# restart, and the contract is the old or the new one.
. "$(dirname "$0")/../host.sh"
. "$(dirname "$0")/../faults.sh"

host_vfs='a:5'
start_loop
ok "a has 5 %" host_vgpu a 5
host_load a 100 # a vGPU that needs its cap
ended() { ! kill -0 "$daemon_pid" 2>/dev/null; }

# change_and_kill CAP CALL PATTERN ACTION: changes the contract to CAP; the daemon is killed at the first such call
change_and_kill() {
  wanted=$1
  shift
  fault "$@"
  api PATCH "/v1/vgpus/$(host_uuid a)" "{\"initial_cap_pct\": $wanted}" >/dev/null
  ok "a change to $wanted %: the daemon is killed ($*)" until_ok 20 ended
  stop KILL
  fault clear
}

# in_bounds CONTRACT: after the restart, this contract is in force, and the cap is within it
in_bounds() {
  [ "$(vgpu a .initial_cap_pct)" = "$1" ] && [ "$(host_cap a)" -ge 1 ] && [ "$(host_cap a)" -le "$1" ]
}

# The call at which the daemon is killed, and the contracts that a raise and a reduction then leave.
for step in "rename */contracts.json kill-before 5 40" "sync */state kill-before 40 5"; do
  set -f
  # shellcheck disable=SC2086 # words
  set -- $step
  set +f
  change_and_kill 40 "$1" "$2" "$3"
  host_ok "killed at $1: a raise is not applied before it is stored" test "$(host_outlives && host_cap a)" = 5
  start || exit 1
  ok "killed at $1: a raise to 40 % leaves a contract of $4 % and a cap within it" in_bounds "$4"
  [ "$4" = 40 ] || api PATCH "/v1/vgpus/$(host_uuid a)" '{"initial_cap_pct": 40}' >/dev/null
  ok "the cap grows with the contract" until_ok 20 cap_is a 40
  change_and_kill 5 "$1" "$2" "$3"
  start || exit 1
  ok "killed at $1: a reduction to 5 % leaves a contract of $5 % and a cap within it" in_bounds "$5"
  if [ "$5" = 5 ]; then
    ok "the start records the correction" recorded "SELECT 1 FROM decision WHERE kind = 'adopt' AND why LIKE '%stored contract allows _ to 5 %'"
  else
    api PATCH "/v1/vgpus/$(host_uuid a)" '{"initial_cap_pct": 5}' >/dev/null
  fi
  ok "the cap is 5 %" until_ok 20 cap_is a 5
done
finish
