#!/bin/sh
# A freeze and a hold of more than a day are alerts for information. Their begins survive restarts, a crash and a clock
# that is set, and are read from a contracts file that has none.
. "$(dirname "$0")/../lib.sh"

day=86400
hour=3600
begins() { get /v1/host '"\(.gpus[0].frozen_since) \(.vgpus[] | select(.id == "a").held_since)"'; }
stored() { gojq -r '"\(.gpus[0].frozen_since_ms) \(.vgpus[] | select(.id == "a").held_since_ms)"' "$dir/state/contracts.json"; }
# prints the begins in seconds before the time of the host, which is shifted by SECONDS
ago() { # ago SECONDS
  get /v1/host "(now + $1) as \$now | [.gpus[0].frozen_since, (.vgpus[] | select(.id == \"a\").held_since)] |
    map(\$now - (sub(\"[.][0-9]+Z\$\"; \"Z\") | fromdate)) | \"\\(.[0]) \\(.[1])\""
}
since_hours() { # since_hours SECONDS HOURS: both begins are HOURS ago, up to five minutes more
  ago "$1" | awk -v s=$(($2 * 3600)) '{ exit !($1 >= s - 2 && $2 >= s - 2 && $1 < s + 300 && $2 < s + 300) }'
}
long() { # long NAMES: exactly these alerts of a long freeze or hold are active
  that /v1/alerts "[.alerts[].name | select(endswith(\"_long\"))] | sort == $1"
}
both='["frozen_long", "held_long"]'

shift_clock 0
start_sim
sell a 50
sell b 20
is "nothing is frozen or held" "$(begins)" 'null null'
api PATCH /v1/vgpus/a '{"held": true, "held_cap_pct": 40}' >/dev/null
api PATCH /v1/gpus/gpu0 '{"mode": "frozen"}' >/dev/null
ok "the answers have the begins" since_hours 0 0
before=$(begins)
restart KILL
is "the begins survive a crash right after the answers" "$(begins)" "$before"
api PATCH /v1/vgpus/a '{"held": true, "held_cap_pct": 30}' >/dev/null
api PATCH /v1/gpus/gpu0 '{"mode": "frozen"}' >/dev/null
is "a repeated freeze and hold keep the begins" "$(begins)" "$before"

at=$((-2 * day))
shift_clock $at
ok "the clock is set back by two days: the begins move" until_ok 20 since_hours $at 0
moved() { [ "$(stored | cut -d ' ' -f 1)" -lt $((($(date +%s) - day) * 1000)) ]; }
ok "the moved begins are stored" until_ok 20 moved
before=$(begins)
restart KILL
is "the moved begins survive a crash" "$(begins)" "$before"

# A suspend: both clocks advance.
at=$((at + 23 * hour))
shift_clock $at $((23 * hour))
ok "after 23 hours the begins have not moved" until_ok 20 since_hours $at 23
periods 5
ok "there is no alert yet" long '[]'
at=$((at + 2 * hour))
shift_clock $at $((25 * hour))
ok "after 25 hours both alerts are raised" until_ok 20 long "$both"
is "the alerts are information, and name the next command" \
  "$(get /v1/alerts '[.alerts[] | select(.name | endswith("_long")) | "\(.severity) \(.vgpu) \(.next)"] | sort | join(", ")')" \
  'info a gover-ctl vgpu release a, info null gover-ctl thaw gpu0'
is "gover-ctl prints the begin of the hold" "$(ctl vgpu show a | sed -n 's/^held since  *//p')" "$(begins | sed 's/.* //; s/[.].*/Z/')"
ok "gover-ctl prints the begin of the freeze" sh -c "'$B/gover-ctl' --socket '$sock' status | grep -q 'FROZEN SINCE'"
shift_clock $((at - 30 * day)) $((25 * hour))
periods 10
ok "a clock that is set back by a month does not end them" long "$both"
shift_clock $at $((25 * hour))
ok "the clock is corrected" until_ok 20 since_hours $at 25
ids=$(get /v1/alerts '[.alerts[] | select(.name | endswith("_long")) | .id] | join(" ")')
restart
periods 10
is "a restart continues the alerts" "$(get /v1/alerts '[.alerts[] | select(.name | endswith("_long")) | .id] | join(" ")')" "$ids"

api PATCH /v1/vgpus/a '{"held": false}' >/dev/null
api PATCH /v1/gpus/gpu0 '{"mode": "act"}' >/dev/null
is "their ends end the begins" "$(begins)" 'null null'
ok "both alerts are cleared" until_ok 20 long '[]'

api PATCH /v1/vgpus/a '{"held": true, "held_cap_pct": 40}' >/dev/null
api PATCH /v1/gpus/gpu0 '{"mode": "frozen"}' >/dev/null
stop
at=$((at + 30 * hour))
shift_clock $at
start || exit 1
ok "the host was off for 30 hours: both alerts are raised" until_ok 20 long "$both"
ok "the begins are 30 hours ago" since_hours $at 30
stop
at=$((at - 30 * day))
shift_clock $at
start || exit 1
periods 5
ok "the clock was set back while the host was off: the age counts from the start" long '[]'
shift_clock $((at + 25 * hour)) $((25 * hour))
ok "a day later both alerts are raised" until_ok 20 long "$both"

stop
at=$((at + 25 * hour))
shift_clock $at
gojq 'del(.gpus[].frozen_since_ms, .vgpus[].held_since_ms) | .revision += 1000000000000' "$dir/state/contracts.json" >"$dir/without"
cp "$dir/without" "$dir/state/contracts.json"
start || exit 1
ok "a file without begins is read: they are the start" since_hours $at 0
before=$(begins)
restart KILL
is "these begins are stored" "$(begins)" "$before"
stop
finish
