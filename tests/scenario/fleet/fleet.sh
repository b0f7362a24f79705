#!/bin/sh
# gover-fleet with gover-d: the command line, following, claims by the hook, and each way of failing. No libvirt is needed.
. "$(dirname "$0")/../fleet/lib.sh"
set_timeout='hook_timeout_s = 2'
ask() { # ask NAME UUID FLAVOR: runs the hook for a domain
  domain_xml "$1" "$2" "$3" >"$dir/domain.xml"
  hook "$1" <"$dir/domain.xml"
}
sim_conf

# --- command line ---

fleet_conf
printf '[fleet]\non_failure = perhaps\n' >"$dir/wrong.conf"
while read -r wanted arguments; do
  # shellcheck disable=SC2086 # several arguments
  timeout 20 "$B/gover-fleet" $arguments >"$dir/out" 2>"$dir/err" </dev/null
  is "gover-fleet $(echo "$arguments" | sed "s|$dir|DIR|"): exit status" $? "$wanted"
done <<END
0 --help
0 --version
0 --config $fleet_conf_file --check-config
0 --config $fleet_conf_file --print-config
0 --config $fleet_conf_file --withdraw
1 --config $dir/wrong.conf --check-config
1 --config $dir/wrong.conf --hook d1 prepare begin -
1 --config $dir/missing.conf --check-config
2 --config $fleet_conf_file --hook
2 --config $fleet_conf_file --hook d1
2 --nothing
2 argument
END
"$B/gover-fleet" --config "$dir/wrong.conf" --check-config 2>"$dir/err"
ok "a wrong value is named with its line" grep -q 'wrong.conf:2: .*open or closed' "$dir/err"

# --- starts, in both orders ---

fleet_conf "$set_timeout"
start_fleet
ok "gover-fleet starts without gover-d" until_ok 10 fleet_is '.gover.connected == false and .cloud.problem != null'
ask early $uuid default
is "a claim without gover-d fails open" "$hook_status" 0
ok "and is counted" until_ok 10 fleet_is '.counts.hook_failed == 1'
start || exit 1
ok "it connects when gover-d starts" until_ok 20 fleet_is '.gover.connected'
ok "an offer becomes a class" until_ok 30 fleet_is '[.wanted[0].classes[] | "\(.name) \(.contracts)+\(.offers)"] ==
  ["CUSTOM_GOVER_SLOT 0+1", "CUSTOM_GOVER_SLOT_DEFAULT 0+1"]'
ok "gover-d has its report" until_ok 20 that /v1/fleet '.state == "withdrawn" and .cloud == "none" and .unverified == 0'
is "only its user can connect to the hook's socket" "$(stat -c %a "$fleet_hook")" 600

# --- claims ---

ask d1 $uuid default
is "a domain with an offer may start" "$hook_status" 0
ok "its contract is in force, with its domain" that "/v1/vgpus/$uuid" \
  ".vm == \"d1\" and .labels.domain == \"$uuid\" and .labels.fleet == \"libvirt\" and .found == false"
ok "the contract replaces the offer" until_ok 10 fleet_is '.wanted[0].classes[0] | .contracts == 1'
ask d1 $uuid default
is "a repeated claim finds its contract" "$hook_status $(get /v1/vgpus '.vgpus | length')" "0 1"
ask d2 22222222-2222-3333-4444-555555555555 unknown
is "a flavour without an offer is refused" "$hook_status" 1
is "with one line that says why" "$(cat "$dir/hook.err")" "gover-fleet: no open offer of CUSTOM_GOVER_SLOT_UNKNOWN"
ask d3 33333333-2222-3333-4444-555555555555 ''
is "a domain without a flavour may start" "$hook_status" 0
ok "and has none" unsold 33333333-2222-3333-4444-555555555555
hook d4 started <"$dir/domain.xml"
is "other operations of the hook do nothing" "$hook_status" 0
printf 'no xml' >"$dir/domain.xml"
hook d5 <"$dir/domain.xml"
is "XML that is not well-formed fails open" "$hook_status" 0

domain_xml d6 55555555-2222-3333-4444-555555555555 default >"$dir/d6.xml"
ok "there is a further offer" open_offer
hook d6 migrate <"$dir/d6.xml"
is "a migration to this host is announced" "$hook_status" 0
ok "which claims nothing" unsold 55555555-2222-3333-4444-555555555555
hook d6 <"$dir/d6.xml"
is "its domain may start" "$hook_status" 0
ok "and its contract says that it arrived" that /v1/vgpus/55555555-2222-3333-4444-555555555555 '.labels.migrated == "yes"'

# --- the size of the XML ---

ok "there is a further offer" open_offer
pad() { # pad SIZE: the XML of a domain with this many bytes
  domain_xml big 44444444-2222-3333-4444-555555555555 default >"$dir/big.xml"
  printf '%*s' $(($1 - $(wc -c <"$dir/big.xml"))) '' >>"$dir/big.xml"
}
pad 65536
hook big <"$dir/big.xml"
ok "XML of 64 KiB is accepted" test "$hook_status" -eq 0 -a ! -s "$dir/hook.err"
ok "and claims" sold 44444444-2222-3333-4444-555555555555
pad 65537
hook big <"$dir/big.xml"
ok "longer XML is not read, and fails open" grep -q 'cannot be read: Argument list too long' "$dir/hook.err"

# --- gover-d ends and returns ---

ok "there is a further offer" open_offer
stop KILL
ok "gover-fleet notices the end of gover-d" until_ok 20 fleet_is '.gover.connected == false'
ok "its contracts stay wanted" fleet_is '.wanted[0].classes[0].contracts == 3'
sed -i 's/^on_failure.*//; s/^\[fleet\]/[fleet]\non_failure = closed/' "$fleet_conf_file"
stop_fleet
is "gover-fleet ends with status 0" "$stopped" 0
ok "and removes its socket" test ! -e "$fleet_hook"
ask d6 66666666-2222-3333-4444-555555555555 default
is "without gover-fleet, on_failure = closed refuses" "$hook_status" 1
ok "and says why" grep -q 'no answer from gover-fleet.*(on_failure = closed)' "$dir/hook.err"
start_fleet
ask d6 66666666-2222-3333-4444-555555555555 default
is "without gover-d, on_failure = closed refuses" "$hook_status" 1
start || exit 1
ok "gover-fleet connects again" until_ok 20 fleet_is '.gover.connected and .wanted[0].classes[0].contracts == 3'

# --- a gover-d that does not answer ---

kill -STOP "$daemon_pid"
began=$(date +%s)
ask d7 77777777-2222-3333-4444-555555555555 default
is "a gover-d that does not answer is a failure" "$hook_status" 1
ok "within the time limit" test $(($(date +%s) - began)) -le 4
kill -CONT "$daemon_pid"

# --- a gover-fleet that does not answer ---

kill -STOP "$fleet_pid"
began=$(date +%s)
ask d8 88888888-2222-3333-4444-555555555555 default
is "a gover-fleet that does not answer is a failure" "$hook_status" 1
ok "within the time limit" test $(($(date +%s) - began)) -le 4
kill -CONT "$fleet_pid"
mkfifo "$dir/silent"
sleep 10 >"$dir/silent" &
silent=$!
hook d9 <"$dir/silent"
is "a libvirt that sends no XML is a failure" "$hook_status" 1
kill $silent

# --- killed between claim and answer ---

ok "there is an open offer" open_offer
before=$(get /v1/vgpus '.vgpus | length')
kill -STOP "$daemon_pid"
domain_xml d10 aaaaaaaa-2222-3333-4444-555555555555 default >"$dir/d10.xml"
"$B/gover-fleet" --config "$fleet_conf_file" --hook d10 prepare begin - <"$dir/d10.xml" 2>"$dir/hook.err" &
asking=$!
sleep 0.5
kill -CONT "$daemon_pid"
kill -KILL "$fleet_pid"
wait $asking
is "the hook of a killed gover-fleet refuses" $? 1
wait "$fleet_pid" 2>/dev/null
start_fleet
ok "the start can be repeated" until_ok 20 fleet_is '.gover.connected'
# Again until it may begin: a hook that was slow may not have claimed before the kill, and needs an offer now.
starts() { hook d10 <"$dir/d10.xml" && [ "$hook_status" -eq 0 ]; }
ok "the repeated start may begin" until_ok 60 starts
is "and there is one contract more" "$(get /v1/vgpus '.vgpus | length')" $((before + 1))

# --- signals ---

kill -HUP "$fleet_pid"
ok "SIGHUP is ignored, with a message" until_ok 10 logged "SIGHUP is ignored"
python3 "$top/tests/helper/notify-sink.py" "$dir/notify" >"$dir/notified" 2>&1 &
cleanup="kill $! 2>/dev/null; $cleanup"
until_ok 10 test -S "$dir/notify"
stop_fleet
fleet_env="NOTIFY_SOCKET=$dir/notify WATCHDOG_USEC=400000"
start_fleet
ok "READY=1 is sent" until_ok 10 grep -qx READY=1 "$dir/notified"
ok "the watchdog is fed" until_ok 10 sh -c "test \$(grep -cx WATCHDOG=1 '$dir/notified') -ge 3"
stop_fleet
is "SIGTERM ends it" "$stopped" 0
ok "STOPPING=1 is sent" until_ok 10 grep -qx STOPPING=1 "$dir/notified"
ok "the contracts stay" sold $uuid
finish
