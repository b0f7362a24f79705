#!/bin/sh
# Tests the units on a booted systemd, with a simulated GVT-g host that keeps running when the daemon ends. The socket
# starts the daemon. A restart, a crash and a hanging daemon change no cap. A stop, and more failures than the start
# limit allows, restore the contracts.
. "$(dirname "$0")/../scenario/lib.sh"
GOVER_HOST=fuse speed=1
. "$(dirname "$0")/../scenario/host.sh"
. "$(dirname "$0")/lib.sh"

can_boot
gvt_install gpu0
printf '[Service]\nWatchdogSec=2\n' >"$root/etc/systemd/system/gover-d.service.d/watchdog.conf"
gvt_boot

# --- the socket ---

is_down() { ! is_active "$1"; }
ok "the socket unit starts" inside systemctl start gover.socket
ok "the socket unit does not start the daemon" is_down gover-d
ok "the first request starts the daemon and is answered" curl -sSf --unix-socket "$sock" http://gover/healthz
ok "the daemon is active" is_active gover-d
ok "the daemon is ready" until_ok 20 curl -sSf --unix-socket "$sock" http://gover/readyz

# --- user and privileges ---

about() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$leader/root/proc/$(main_pid)/status"; }
none=0000000000000000
is "the daemon runs as user gover" "$(about Uid | cut -f 1)" "$(inside id -u gover)"
is "the daemon has no capabilities" "$(about CapEff) $(about CapBnd) $(about CapAmb)" "$none $none $none"
is "the daemon cannot gain privileges" "$(about NoNewPrivs)" 1
is "the daemon has a system call filter" "$(about Seccomp)" 2
for unit in gover-d gover-restore; do
  ok "$unit has an exposure of at most 1.5" inside systemd-analyze security --no-pager --threshold=15 "$unit.service"
  grep '^→' "$dir/ok.out" | sed 's/^→/#/'
done
is "the state directory is private" "$(stat -c %a "/proc/$leader/root/var/lib/gover")" 750

# --- events that change no cap ---

lease() { cat "$host_parent/$uuid_a/intel_vgpu/cap_lease_ms"; }
leased() { [ "$(lease)" -gt 0 ]; }
ok "a vGPU has a contract of 80 %" host_vgpu a 80
host_load a 10
ok "an operator holds its cap at 30 %" inside gover-ctl vgpu hold "$uuid_a" --cap 30
ok "the held cap is written" until_ok 20 cap_is a 30
ok "the held cap has a lease" until_ok 20 leased

watch_cap() { # writes each new value of the cap to $dir/seen
  while [ ! -e "$dir/enough" ]; do
    host_cap a
    sleep 0.02
  done | sort -u | tr '\n' ' ' >"$dir/seen"
}
begin_watch() {
  rm -f "$dir/enough"
  watch_cap &
  watcher=$!
  before=$(main_pid)
}
end_watch() { # puts all recorded values into $seen
  : >"$dir/enough"
  wait "$watcher"
  seen=$(cat "$dir/seen")
}
answers() { curl -sSf -m 20 -o /dev/null --unix-socket "$sock" http://gover/v1/host; }
another() { pid=$(main_pid) && [ "$pid" != "$before" ] && answers; }
logged() { inside journalctl --no-pager -o cat -u gover-d "$2" | grep -q "$1"; }
adopted() { logged 'was adopted with its cap of 30 %' "_PID=$(main_pid)"; }

begin_watch
inside systemctl restart gover-d &
restart=$!
sleep 0.1
ok "a request during a restart is answered" answers
wait "$restart"
ok "the restart starts a new daemon" until_ok 20 another
ok "the new daemon adopts the vGPU" until_ok 20 adopted
end_watch
is "a restart changes no cap" "$seen" "30 "
ok "gover-restore stays active" is_active gover-restore

begin_watch
ok "the daemon crashes" hit SEGV
ok "systemd starts a new daemon" until_ok 30 another
ok "the new daemon adopts the vGPU after the crash" until_ok 20 adopted
end_watch
is "a crash changes no cap" "$seen" "30 "

begin_watch
pid=$(main_pid)
inside sh -c 'mkdir -p /etc/gover/gover.conf.d && printf "[policy]\nlowload_pct = 41\n" >/etc/gover/gover.conf.d/50-reload.conf'
ok "systemctl reload succeeds" inside systemctl reload gover-d
ok "a changed key takes effect" until_ok 20 sh -c "curl -s --unix-socket '$sock' http://gover/v1/policy | grep -q '\"lowload_pct\":41'"
inside rm /etc/gover/gover.conf.d/50-reload.conf
ok "SIGHUP is sent by another program" inside systemctl kill -s HUP --kill-who=main gover-d
ok "the configuration is reloaded" until_ok 20 sh -c "curl -s --unix-socket '$sock' http://gover/v1/policy | grep -q '\"lowload_pct\":60'"
is "the process is the same" "$(main_pid)" "$pid"
inside sh -c 'echo "[nope" >/etc/gover/gover.conf.d/99-bad.conf'
reload_fails() { ! inside systemctl reload gover-d; }
ok "an invalid configuration is not reloaded" reload_fails
inside rm /etc/gover/gover.conf.d/99-bad.conf
is "and the process is the same" "$(main_pid)" "$pid"
ok "SIGTERM that systemctl did not send ends the daemon" hit TERM
ok "systemd starts a new daemon" until_ok 30 another
end_watch
is "no cap has changed" "$seen" "30 "

begin_watch
restarts=$(show gover-d NRestarts)
ok "the daemon hangs" hit STOP
ok "the watchdog ends the daemon" until_ok 60 another
is "the watchdog ends it once" "$(show gover-d NRestarts)" "$((restarts + 1))"
ok "systemd logs the watchdog" until_ok 20 logged "Failed with result 'watchdog'" _PID=1
ok "the next daemon adopts the vGPU" until_ok 20 adopted
end_watch
is "the watchdog changes no cap" "$seen" "30 "

# --- events that restore the contracts ---

restored() { cap_is a 80 && [ "$(lease)" = 0 ]; }
ok "an administrator stops the daemon" inside systemctl stop gover-d
ok "the stop restores the contract and ends the lease" until_ok 20 restored
ok "gover-restore ends" until_ok 20 is_down gover-restore
is "gover-restore succeeds" "$(show gover-restore Result)" success
ok "the next request starts the daemon" answers
ok "the daemon writes the last cap again" until_ok 20 cap_is a 30

given_up() { # kills the daemon until systemd no longer restarts it
  [ "$(show gover-d ActiveState)" = failed ] || { hit KILL && false; }
}
ok "systemd gives up after repeated failures" until_ok 60 given_up
ok "the failure restores the contract" until_ok 20 restored
inside systemctl reset-failed gover-d gover.socket
ok "the daemon can be started again" inside systemctl start gover-d
ok "the daemon writes its last cap" until_ok 20 cap_is a 30
ok "an administrator stops gover-restore" inside systemctl stop gover-restore
ok "the stop of gover-restore returns after the restore" restored
ok "the daemon is stopped" is_down gover-d

# --- TCP ---

tcp() { nsenter -t "$leader" -m -n -- curl -sSf -o /dev/null http://127.0.0.1:9788/healthz; }
no_tcp() { ! tcp; }
ok "TCP is disabled by default" no_tcp
inside systemctl start gover-d
ok "gover-tcp.socket is enabled" inside systemctl enable -q gover-tcp.socket
ok "the daemon is restarted" inside systemctl restart gover-d
ok "the daemon listens on loopback" until_ok 20 tcp
finish
