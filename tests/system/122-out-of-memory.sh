#!/bin/sh
# Tests exhausted memory with the figures of the installed unit: the daemon logs one line and ends, systemd starts it again,
# and an alert reports it. Six ends in a row at each first allocation do not reach the start limit. The caps have no lease, so
# that only gover-restore.service could change them.
. "$(dirname "$0")/../scenario/lib.sh"
GOVER_HOST=fuse speed=1
. "$(dirname "$0")/../scenario/host.sh"
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../scenario/faults.sh"

can_boot
gpu_lines='lease_ms = 0'
gvt_install gpu0
# The injector and its page belong to the machine; the daemon runs as user gover.
cp "$B/tests/fault-inject.so" "$root/usr/lib/fault-inject.so"
mkdir "$dir/page.dir" "$root/srv/faults"
binds="$binds --bind=$dir/page.dir:/srv/faults"
chmod 755 "$dir"
faults_page=$dir/page.dir/page
faults() { "$python" "$top/tests/faults/arm.py" "$faults_page" "$@"; }
faults new
chmod 666 "$faults_page"
printf '[Service]\nEnvironment=LD_PRELOAD=/usr/lib/fault-inject.so GOVER_FAULTS=/srv/faults/page\n' \
  >"$root/etc/systemd/system/gover-d.service.d/faults.conf"
gvt_boot

restarts() { show gover-d NRestarts; }
log() { inside journalctl -u gover-d -o cat "$@"; }
has_ended() { [ "$(restarts)" -ge "$1" ]; }

hold_a

began=$(date +%s)
faults memory # every allocation, also the first one of each start
ok "the daemon ends, and systemd starts it again" until_ok 20 has_ended 1
ok "it ends at each start, six times in a row" until_ok 150 has_ended 6
faults clear
ok "each start has waited" test $(($(date +%s) - began)) -ge 50
ok "the daemon is ready" until_ok 60 answers
is "the start limit was not reached" "$(show gover-d Result) $(show gover-d ActiveState)" "success active"
is "each end logs one line, as an error" "$(log -p err | grep -c '^out of memory: cannot allocate [0-9]* bytes$')" "$(restarts)"
is "no cap is changed" "$(host_cap a)" 30
ok "an alert reports it" until_ok 20 that /v1/alerts '[.alerts[] | select(.name == "out_of_memory")] | length == 1'
ok "an operator acknowledges it" inside gover-ctl ack "$(get /v1/alerts '.alerts[] | select(.name == "out_of_memory").id')"
ok "the alert ends" until_ok 20 alerts 0 out_of_memory
finish
