#!/bin/sh
# Tests the way from a hang to the restore, with the figures of the installed units: a daemon that hangs while it runs,
# and a daemon that hangs at each start, reach the start limit, and gover-restore.service sets the contracts. Restarts of
# a healthy daemon do not reach the limit. The caps have no lease, so that only the restore can change them.
. "$(dirname "$0")/../scenario/lib.sh"
GOVER_HOST=fuse speed=1
. "$(dirname "$0")/../scenario/host.sh"
. "$(dirname "$0")/lib.sh"

can_boot
gpu_lines='lease_ms = 0'
gvt_install gpu0
gvt_boot

start_again() { inside systemctl reset-failed gover-d gover.socket && inside systemctl start gover-d && until_ok 20 answers; }

hold_a

# --- restarts of a healthy daemon ---

restart_five_times() { for _ in 1 2 3 4 5; do inside systemctl restart gover-d && until_ok 20 answers || return; done; }
ok "the daemon can be restarted five times in a row" restart_five_times
is "the restarts change no cap" "$(host_cap a)" 30

# --- the daemon hangs while it runs ---

ok "the daemon can be started without waiting for the start limit" start_again
ok "systemd gives up a daemon that hangs while it runs" until_ok 150 hangs_running
ok "the watchdog has ended the last process" result_is gover-d watchdog
ok "gover-restore sets the contract" until_ok 20 cap_is a 80
is "gover-restore succeeds" "$(show gover-restore Result)" success

# --- the daemon hangs when it starts ---

ok "the daemon starts again" start_again
ok "the daemon writes the held cap again" until_ok 20 cap_is a 30
# shellcheck disable=SC2016 # the words of sh and of systemd
printf '[Service]\nExecStart=\nExecStart=/bin/sh -c "kill -STOP $$$$; exec /usr/sbin/gover-d"\n' \
  >"$root/etc/systemd/system/gover-d.service.d/hang.conf"
inside systemctl daemon-reload
ok "the daemon crashes and hangs at each start" hit KILL
ok "systemd gives up a daemon that hangs when it starts" until_ok 150 has_failed
ok "the last start has timed out" result_is gover-d timeout
ok "gover-restore sets the contract after the last start" until_ok 20 cap_is a 80
finish
