#!/bin/sh
# A change while the clock is before 1970: the next start reads each file that was written, and everything is there.
. "$(dirname "$0")/../lib.sh"

day=86400
rows() { get '/v1/audit?limit=1000' '[.audit[] | "\(.id) \(.path)"] | join(", ")'; }

start_sim
api PATCH /v1/policy '{"steal_fraction": 0.3}' >/dev/null
is "a change is made at the right time" "$(status)" 200
stop
shift_clock $((-$(date +%s) - 200 * day))
start || exit 1
sell a 50
sell b 20
api PATCH /v1/vgpus/b '{"held": true, "held_cap_pct": 15}' >/dev/null
api POST /v1/silences '{"alert": "fps_missing", "until": "1970-02-01T00:00:00Z", "reason": "test"}' >/dev/null
is "a silence is made" "$(status)" 201
api POST /v1/tokens '{"name": "t", "scope": "read", "ttl_s": 3600}' >/dev/null
is "a token is made" "$(status)" 201
api PATCH /v1/policy '{"steal_fraction": 0.1}' >/dev/null
is "the policy is changed" "$(status)" 200
api PATCH /v1/vgpus/a '{"target_fps": 60}' >/dev/null
ok "an alert is raised" until_ok 60 alerts 1 fps_missing a
api POST "/v1/alerts/$(get /v1/alerts '[.alerts[] | select(.name == "fps_missing")][0].id')/ack" >/dev/null
is "an alert is acknowledged" "$(status)" 200
ok "an offer opens" until_ok 60 that /v1/offers '.offers | length > 0'
claim "$(get /v1/offers '.offers[0].id')" key-1 c >/dev/null
is "an offer is claimed with a key" "$(status)" 200
ok "periods pass" periods 20
audit=$(rows)
before=$(get /v1/vgpus '[.vgpus[] | [.id, .initial_cap_pct, .held, .target_fps]]')
for signal in TERM KILL; do
  stop $signal
  for file in contracts.json tokens.json; do
    is "no time is before 1970 in $file" "$(grep -cE '_ms": -[0-9]' "$dir/state/$file")" 0
  done
  ok "the next start reads its files after SIG$signal" start
  is "all contracts are there" "$(get /v1/vgpus '[.vgpus[] | [.id, .initial_cap_pct, .held, .target_fps]]')" "$before"
  is "the token is there" "$(get /v1/tokens '.tokens[0].name')" t
  is "the silence is there" "$(get /v1/silences '.silences | length')" 1
  is "no file was set aside" "$(find "$dir/state" -name '*damaged*' | wc -l)" 0
done
is "the audit log has each change" "$(rows)" "$audit"
ok "the clock is corrected" shift_clock 0
ok "periods continue" periods 20
restart
is "the audit log still has each change" "$(rows)" "$audit"
is "all contracts are there after the correction" "$(get /v1/vgpus '[.vgpus[] | [.id, .initial_cap_pct, .held, .target_fps]]')" "$before"
stop
is "the history is intact" "$(history 'PRAGMA integrity_check')" ok
finish
