#!/bin/sh
# Signals: SIGHUP reads the configuration again, SIGTERM and SIGINT stop the daemon, and no other signal that programs send
# for their own purposes ends it.
. "$(dirname "$0")/../lib.sh"

conf_extra='[policy]
lowload_pct = 55
steal_fraction = 0.3
[flavor small]
cap_pct = 10'
start_sim
param() { that /v1/policy ".params.$1 == $2"; }
logged() { grep -qF -- "$1" "$dir/log"; }

# --- reload ---

api PATCH /v1/policy '{"steal_fraction": 0.4}' >/dev/null
is "a client changes a key" "$(status)" 200
sed -i 's/^lowload_pct.*/lowload_pct = 44/; s/^steal_fraction.*/steal_fraction = 0.5/; s/^cap_pct = 10/cap_pct = 12/' "$conf"
printf '[alerts]\nupdate_s = 7\n[flavor large]\ncap_pct = 70\n' >>"$conf"
kill -HUP "$daemon_pid"
ok "SIGHUP reloads the configuration" until_ok 20 param lowload_pct 44
ok "a decision records it" that /v1/decisions '[.decisions[].why | select(startswith("the configuration was reloaded: "))] ==
  ["the configuration was reloaded: lowload_pct 55 -> 44"]'
ok "a key that a client has changed stays" param steal_fraction 0.4
ok "and is named" logged "steal_fraction stays 0.4"
for key in '[alerts] update_s' '[flavor small] cap_pct' '[flavor large]'; do
  ok "$key needs a restart and is named" logged "$key has changed in the configuration"
done
is "other keys are not named" "$(grep -c 'has changed in the configuration' "$dir/log")" 3
api PATCH /v1/policy '{"steal_fraction": null}' >/dev/null
ok "null restores the value of the new file" param steal_fraction 0.5

cp "$conf" "$dir/good.conf"
echo '[nope' >>"$conf"
kill -HUP "$daemon_pid"
ok "an invalid configuration is not reloaded" until_ok 20 logged 'the configuration was not reloaded'
ok "the message names the line" grep -q "not reloaded: $conf:[0-9]*: .*nope" "$dir/log"
rm "$conf"
mkfifo "$conf"
kill -HUP "$daemon_pid"
ok "a FIFO is no configuration" until_ok 20 logged "$conf: cannot be read: not a regular file"
mv "$dir/good.conf" "$conf"
sed -i 's/^lowload_pct.*/lowload_pct = 33/' "$conf"
for _ in 1 2 3 4 5 6 7 8; do kill -HUP "$daemon_pid"; done
ok "many signals reload the newest file" until_ok 20 param lowload_pct 33

for ttl in $(seq 101 130); do # a reload meets a change of the policy
  kill -HUP "$daemon_pid"
  api PATCH /v1/policy "{\"ttl_s\": $ttl}" >/dev/null
  is "a change of the policy that meets a reload is made" "$(status)" 200
done
ok "and a reload that meets a change waits for it" eval '! logged "a change of the policy is in progress"'

# --- other signals ---

for signal in USR1 USR2 ALRM PIPE XFSZ; do
  kill -"$signal" "$daemon_pid"
  ok "SIG$signal does not end the daemon" periods 1
done
for signal in TERM INT; do
  stop "$signal"
  is "SIG$signal stops the daemon" "$stopped" 0
  start || exit 1
done
finish
