#!/bin/sh
# A vGPU at its minimum cap that becomes active gets cap in its first tick above the threshold: from the free pool, or
# from the lightest donor if the pool is empty. In paper mode it gets cap after three periods.
. "$(dirname "$0")/../lib.sh"

period_ms=250 speed=4
conf_extra="$unfunded
overload_pct = 80
[offer]
max_vgpus = 2"
start_sim
decided() { # decided KIND: prints the number of decisions of this kind for b
  get '/v1/decisions?limit=1000' "[.decisions[] | select(.kind == \"$1\" and .vgpu == \"b\")] | length"
}
woken() { test "$(decided wake)" -gt "$1"; }
breaches() { # breaches KIND: prints the number of consecutive samples of b above the threshold up to the first such decision
  history "
    SELECT count(*) FROM sample s JOIN vgpu v ON v.num = s.vgpu WHERE v.id = 'b' AND s.util_pct > 80
    AND s.ts_ms <= (SELECT min(ts_ms) FROM decision WHERE kind = '$1' AND vgpu = 'b')"
}
rest() { # rest CAP: makes b idle at its minimum cap and gives CAP to a
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
is "an idle vGPU is at its floor" "$(get /v1/vgpus/b .cap_pct)" 20
load b busy
ok "an active vGPU is served" until_ok 20 woken 0
is "the lightest donor gives cap" "$(get '/v1/decisions?limit=1000' '[.decisions[] | select(.kind == "wake")][0] | "\(.donor) \(.result)"')" "a written"
ok "donor and receiver change by the same amount" that '/v1/decisions?limit=1000' \
  '[.decisions[] | select(.kind == "wake")][0] | [.moves[] | .to_pct - .from_pct] | add == 0 and (map(fabs) | max) > 5'
ok "above its floor the vGPU receives cap by steals" until_ok 20 that /v1/vgpus/b '.cap_pct == 50'
ok "the history contains the steal" until_ok 10 recorded "SELECT * FROM decision WHERE kind = 'steal'"
is "the vGPU was served after its first breach" "$(breaches wake)" 1
ok "the next step took three breaches or more" test "$(breaches steal)" -ge 3

rest 30
is "the vGPU is idle again, and half of the GPU is free" "$(get /v1/gpus '.gpus[0] | "\(.sum_cap_pct) \(.free_pct)"')" "50 50"
before=$(decided wake)
load b busy
ok "the vGPU becomes active again" until_ok 20 woken "$before"
is "the free pool gives the whole missing cap" "$(get '/v1/decisions?limit=1000' \
  '[.decisions[] | select(.kind == "wake")][-1] | "\(.donor) \(.moves | map("\(.vgpu) \(.from_pct) \(.to_pct)") | join(", "))"')" \
  "null b 20 50"

rest 80
ctl policy set paper_mode=on >/dev/null
before=$(decided wake) steals=$(decided steal)
load b busy
ok "in paper mode the vGPU is served" until_ok 20 sh -c "test \$(curl -sS --unix-socket '$sock' 'http://gover/v1/decisions?limit=1000' |
  gojq '[.decisions[] | select(.kind == \"steal\" and .vgpu == \"b\")] | length') -gt $steals"
is "in paper mode the vGPU is served by a steal after three periods" "$(decided wake)" "$before"
finish
