#!/bin/sh
# A tenant that wakes at its floor is served in the tick that sees it above the line, not in the third: from the free
# pool where there is one, else from the lightest. In paper mode it waits.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

period_ms=250 speed=4
conf_extra="$unfunded
overload_pct = 80
[offer]
max_vgpus = 2"
sim_conf
start || exit 1
decided() { # decided KIND: how many times for b
  get '/v1/decisions?limit=1000' "[.decisions[] | select(.kind == \"$1\" and .vgpu == \"b\")] | length"
}
woken() { test "$(decided wake)" -gt "$1"; }
breaches() { # breaches KIND: samples of b above the line up to and with that of its first such decision
  history "
    SELECT count(*) FROM sample s JOIN vgpu v ON v.num = s.vgpu WHERE v.id = 'b' AND s.util_pct > 80
    AND s.ts_ms <= (SELECT min(ts_ms) FROM decision WHERE kind = '$1' AND vgpu = 'b')"
}
rest() { # rest CAP: b sleeps at its floor and a has CAP
  load b idle
  until_ok 10 that /v1/vgpus/b '.util_pct < 50'
  ctl freeze >/dev/null
  ctl vgpu hold b --cap 20 >/dev/null
  ctl vgpu hold a --cap "$1" >/dev/null
  ctl vgpu release a >/dev/null
  ctl vgpu release b >/dev/null
  ctl thaw >/dev/null
}
sell a 80 load:pct=10
sell b 50 idle '"min_cap_pct": 20'
is "b sleeps at its floor" "$(get /v1/vgpus/b .cap_pct)" 20
load b busy
ok "it wakes and is served" until_ok 20 woken 0
is "from the lightest" "$(get '/v1/decisions?limit=1000' '[.decisions[] | select(.kind == "wake")][0] | "\(.donor) \(.result)"')" "a written"
ok "as everybody is: what one gives the other gets" that '/v1/decisions?limit=1000' \
  '[.decisions[] | select(.kind == "wake")][0] | [.moves[] | .to_pct - .from_pct] | add == 0 and (map(fabs) | max) > 5'
ok "above its floor it waits like everybody" until_ok 20 that /v1/vgpus/b '.cap_pct == 50'
ok "the history is written" until_ok 10 recorded "SELECT * FROM decision WHERE kind = 'steal'"
is "it was woken by its first breach" "$(breaches wake)" 1
ok "the next step took three and more" test "$(breaches steal)" -ge 3

rest 30
is "asleep again, half of the GPU in no cap" "$(get /v1/gpus '.gpus[0] | "\(.sum_cap_pct) \(.free_pct)"')" "50 50"
before=$(decided wake)
load b busy
ok "it wakes anew" until_ok 20 woken "$before"
is "and gets all it lacks from the pool, nothing from a" "$(get '/v1/decisions?limit=1000' \
  '[.decisions[] | select(.kind == "wake")][-1] | "\(.donor) \(.moves | map("\(.vgpu) \(.from_pct) \(.to_pct)") | join(", "))"')" \
  "null b 20 50"

rest 80
ctl policy set paper_mode=on >/dev/null
before=$(decided wake) steals=$(decided steal)
load b busy
ok "in paper mode it is served too" until_ok 20 sh -c "test \$(curl -sS --unix-socket '$sock' 'http://gover/v1/decisions?limit=1000' |
  jq '[.decisions[] | select(.kind == \"steal\" and .vgpu == \"b\")] | length') -gt $steals"
is "by an ordinary steal, after its three periods" "$(decided wake)" "$before"
stop
finish
