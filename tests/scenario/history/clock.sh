#!/bin/sh
# A wall clock that jumps loses no row of the history: it jumps ahead by 800 days for a few seconds, back by a day and to
# 1970, and the daemon starts with a clock that is ahead. Afterwards, queries and sums are right. A suspend of an hour is
# no jump.
. "$(dirname "$0")/../lib.sh"

day=86400
tables='audit decision alert offer silence cap_write sample gpu_sample ledger price'
counts() { # prints the number of rows of each table that existed before the jumps
  for t in $tables; do
    case $t in
    ledger) what="ts_ms BETWEEN $first_ms AND $minute_ms" ;;
    sample | gpu_sample | price) what="ts_ms BETWEEN $first_ms AND $before_ms" ;;
    *) what="id <= $(eval "echo \$last_$t")" ;;
    esac
    printf '%s %s, ' "$t" "$(history "SELECT count(*) FROM $t WHERE $what")"
  done
}
at() { # at SECONDS: shifts the clock, and waits until the newest row has the shifted time
  shift_clock "$@"
  from_ms=$((($(date +%s) + $1 - 60) * 1000))
  until_ok 60 recorded "SELECT 1 FROM progress WHERE abs(open_minute_ms - $from_ms) < 300000"
}

shift_clock 0
start_sim
api POST /v1/silences "{\"alert\": \"fps_missing\", \"until\": \"$(date -u -d '+300 days' +%FT%TZ)\", \"reason\": \"test\"}" >/dev/null
sell a 50
sell b 20
for i in 1 2 3 4 5 6 7 8; do api PATCH /v1/vgpus/a "{\"target_fps\": $i}" >/dev/null; done
in_ledger() { # succeeds if the open minute is stored: a minute, an hour and a day of each vGPU
  api GET /v1/economics >/dev/null
  recorded 'SELECT 1 FROM (SELECT count(*) AS n FROM ledger) WHERE n >= 6'
}
until_ok 30 in_ledger
api PATCH /v1/vgpus/b '{"held": true, "held_cap_pct": 15}' >/dev/null
until_ok 30 that /v1/offers '.offers | length > 0'
api DELETE "/v1/offers/$(get '/v1/offers?all=true' '.offers[0].id')" >/dev/null
until_ok 30 alerts 1 fps_missing a
api PATCH /v1/vgpus/a '{"target_fps": 0}' >/dev/null
until_ok 60 alerts 0 fps_missing a
until_ok 30 recorded 'SELECT 1 FROM alert WHERE cleared_ms NOTNULL'
until_ok 30 recorded 'SELECT 1 FROM sample'
before_ms=$(history 'SELECT max(ts_ms) FROM sample')
first_ms=$(history 'SELECT min(ts_ms) FROM ledger')
minute_ms=$(history 'SELECT min(ts_ms) FROM ledger WHERE step_s = 60') # no row of this minute is added later
for t in $tables; do
  case $t in sample | gpu_sample | ledger | price) ;; *) eval "last_$t=$(history "SELECT max(id) FROM $t")" ;; esac
done
kept=$(counts)
echo "# $kept"
ok "each table has rows" sh -c "! echo '$kept' | grep -q ' 0,'"

ok "the clock jumps ahead by 800 days" at $((800 * day))
ok "the daemon continues for twelve seconds" periods 120
ok "the jump is logged" grep -q 'the clock was set forward by 691200[0-9][0-9] s' "$dir/log"
ok "the host reports the clock" until_ok 20 that /v1/host '.history.clock_ahead_s > 69000000'
ok "the clock is corrected" at 0
ok "the host reports the correction" until_ok 20 that /v1/host '.history.clock_ahead_s | fabs < 5'
is "no row is lost" "$(counts)" "$kept"
ok "the clock jumps back by a day" at $((-day))
ok "the clock jumps back to 1970" at $((-$(date +%s) + 5000))
ok "the clock is corrected" at 0
is "no row is lost" "$(counts)" "$kept"
# The jumps into the past have left rows of other days. Later rows may be in the same step as the last counted one.
samples=$(history "SELECT count(*) FROM sample JOIN vgpu ON num = vgpu WHERE id = 'a' AND ts_ms BETWEEN $first_ms AND $before_ms")
to_s=$((before_ms / 1000 + 1))
is "the history of a vGPU has all its samples" \
  "$(get "/v1/vgpus/a/history?from=$((to_s - 3600))&to=$to_s&step=60" "[.points[].samples] | add >= $samples")" true
stop
shift_clock $((800 * day))
start || exit 1
ok "the daemon starts with a clock that is ahead" at $((800 * day))
ok "the clock is corrected" at 0
is "no row is lost" "$(counts)" "$kept"
ok "the host is suspended for an hour" at 3600 3600
stop
is "the history is intact" "$(history 'PRAGMA integrity_check')" ok
finish
