#!/bin/sh
# A promise of work units on the backend lib: a program gets too little device time for its promise, and the policy moves
# unused cap from another vGPU to it until the promise is kept.
. "$(dirname "$0")/../libgpu.sh"

conf_extra=$unfunded
start_lib
# Two contracts of 70 % on one GPU: the second vGPU gets what is free.
sell light 70
run light 70 --us 1000 --think-us 20000
sell heavy 70 '' '"target_rate": 450'
is "the second vGPU begins with the free cap" "$(get /v1/vgpus/heavy .cap_pct)" 30
run heavy 70 --us 1000 --depth 4
ok "its promise is broken" until_ok 60 that /v1/vgpus/heavy '.broken and .rate > 50 and .rate < 450'
ok "the policy helps" until_ok 60 that /v1/vgpus/heavy '.cap_pct >= 43'
steal=$(get '/v1/decisions?vgpu=heavy&limit=1000' '[.decisions[] | select(.kind == "steal")][0]')
is "the light vGPU gives" "$(echo "$steal" | gojq -r .donor)" light
ok "the reason is in units of work" sh -c "echo '$steal' | gojq -e '.why | test(\"of its target of 450 units/s while\")'"
kept() { until_ok 40 that /v1/vgpus/heavy '.broken == false and .rate > 440'; }
if kept || ! busy_machine; then ok "the promise is kept" kept; else skip_busy "the promise is kept"; fi
finish
