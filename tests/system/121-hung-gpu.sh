#!/bin/sh
# Tests the installed units with two GPUs, one of which hangs (its gover-sim is stopped). The daemon stays active and
# serves the other GPU. A restart and a stop end in time. The restore after a stop, and after a hang of the daemon itself,
# sets the contracts of the other GPU and names the GPU that hangs. The caps have no lease, so that only the restore can
# change them.
. "$(dirname "$0")/../scenario/lib.sh"
GOVER_HOST=fuse speed=1
. "$(dirname "$0")/../scenario/host.sh"
. "$(dirname "$0")/lib.sh"

can_boot
gpu_lines='lease_ms = 0'
gvt_install good bad
sim=$mounted # of the GPU bad
hang() { fuse_hang "$sim"; }
answer() { kill -CONT "$sim"; }
cleanup="kill -CONT $sim 2>/dev/null; $cleanup" # a stopped process ignores SIGTERM
gvt_boot

prompt() { curl -sSf -m 2 -o /dev/null --unix-socket "$sock" "http://gover$1"; } # prompt PATH: is answered at once
hold() { inside gover-ctl vgpu hold "$(host_uuid "$1")" --cap "$2"; }            # hold NAME PCT
valid() { that /v1/gpus ".gpus[] | select(.name == \"$1\") | .telemetry_valid == $2"; }
silent_ms() { that /v1/gpus ".gpus[] | select(.name == \"bad\") | .telemetry_age_ms > $1"; }
stale() { alerts "$1" telemetry_stale; }
restarts() { show gover-d NRestarts; }
restored() { # restored TEXT: the last run of gover-restore has logged TEXT
  inside journalctl --no-pager -o cat "_SYSTEMD_INVOCATION_ID=$(show gover-restore InvocationID)" >"$dir/restored"
  grep -qF "$1" "$dir/restored"
}
restored_good_only() { # the tests after each restore while the GPU bad hangs
  ok "$1: gover-restore ends" until_ok 60 is_inactive gover-restore
  ok "$1: gover-restore has failed, and has not been killed" result_is gover-restore exit-code
  ok "$1: the contract on the other GPU is restored" cap_is good 80
  ok "$1: the log names the GPU that hangs" restored 'GPU bad cannot be opened: it does not answer'
  ok "$1: the log names its vGPU" restored "vGPU $(host_uuid bad): the initial cap of 60 % cannot be set: GPU bad does not answer"
  ok "$1: the log has the totals" restored '1 vGPUs could not be restored, 1 GPUs could not be opened'
}
is_inactive() { ! is_active "$1" && [ "$(show "$1" SubState)" != stop ]; }

ok "the socket is created" inside systemctl start gover.socket
ok "the daemon is ready" until_ok 20 prompt /readyz
gvt_gpu good
ok "a vGPU on the GPU that answers" host_vgpu good 80
gvt_gpu bad
ok "a vGPU on the GPU that will hang" host_vgpu bad 60
ok "its cap differs from the contract" hold bad 35
ok "the cap is written" until_ok 20 cap_is bad 35

# --- the daemon goes on ---

before=$(main_pid)
hang
ok "an alert is raised" until_ok 20 stale 1
watchdog_s=$(inside systemctl show -P WatchdogUSec gover-d | sed 's/s$//')
ok "the GPU hangs for longer than two watchdog intervals" until_ok 60 silent_ms "$((watchdog_s * 2000))"
is "the daemon is the same" "$(main_pid) $(restarts)" "$before 0"
for path in /healthz /v1/gpus /metrics; do
  ok "$path is answered" prompt $path
done
ok "the readings of the other GPU are valid" until_ok 20 valid good true
gvt_gpu good
ok "the other GPU has a new cap" hold good 30
ok "the cap is written" until_ok 20 cap_is good 30

# --- a restart ---

ok "the daemon is restarted while the GPU hangs" inside timeout 30 systemctl restart gover-d
ok "the new daemon is ready" until_ok 20 prompt /readyz
ok "the new daemon is another process" test "$(main_pid)" != "$before"
is "systemd has killed nothing" "$(show gover-d Result) $(restarts)" "success 0"
ok "an alert is raised" until_ok 20 stale 1
ok "the readings of the other GPU are valid" until_ok 20 valid good true
ok "the restart has changed no cap" cap_is good 30
is "the contract on the GPU that hangs is known" "$(vgpu bad '"\(.initial_cap_pct) \(.held)"')" "60 true"

# --- a stop ---

ok "an administrator stops the daemon while the GPU hangs" inside timeout 60 systemctl stop gover-d
is "systemd has not killed the daemon" "$(show gover-d Result)" success
restored_good_only "stop"

# --- the daemon hangs too ---

ok "the daemon starts while the GPU hangs" inside timeout 30 systemctl start gover-d
ok "the daemon writes the last cap of the other GPU again" until_ok 20 cap_is good 30
inside systemctl reset-failed gover-d
ok "systemd gives up a daemon that hangs" until_ok 150 hangs_running
ok "the watchdog has ended the last process" result_is gover-d watchdog
restored_good_only "hang"

# --- the GPU answers again ---

answer
gvt_gpu bad
is "its cap is unchanged" "$(host_cap bad)" 35
inside systemctl reset-failed gover-d gover.socket gover-restore
ok "the daemon starts" inside systemctl start gover-d
ok "its readings are valid" until_ok 30 valid bad true
ok "no alert remains" until_ok 30 stale 0
ok "its vGPU gets a new cap" hold bad 25
ok "the cap is written" until_ok 20 cap_is bad 25
is "no cap counts as changed externally" "$(decided foreign_write)" 0
ok "an administrator stops the daemon" inside systemctl stop gover-d
ok "gover-restore sets its contract" until_ok 30 cap_is bad 60
ok "gover-restore ends" until_ok 20 is_inactive gover-restore
is "gover-restore succeeds" "$(show gover-restore Result)" success
finish
