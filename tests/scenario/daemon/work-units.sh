#!/bin/sh
# On a GPU that counts units of work, contracts promise a rate of units and every interface shows rates instead of frame
# rates. A broken promise gets help. A promise in the unit of another GPU is rejected.
. "$(dirname "$0")/../lib.sh"

conf_extra="ports = $dir/ports
[gpu work0]
backend = sim
speed = 10
unit = work
sharing = hard
$unfunded
[offer]
flavor_cap_pct = 20
flavor_target_fps = 30
flavor_target_rate = 7.5
max_vgpus = 4
[flavor batch]
cap_pct = 10
target_fps = 25
target_rate = 2.5"
start_sim
on_work='"gpu": "work0"'
body() { gojq -r "$1" "$dir/body"; }

# --- the contract ---

is "each GPU has a unit" "$(get /v1/gpus '[.gpus[] | "\(.name) \(.unit)"] | join(", ")')" "gpu0 frames, work0 work"
api POST /v1/vgpus '{"id": "g", "gpu": "work0", "flavor": "batch", "labels": {"workload": "idle"}}' >/dev/null
is "a flavour promises a rate" "$(status) $(body '"\(.target_rate) \(.target_fps) \(.initial_cap_pct)"')" "201 2.5 null 10"
api POST /v1/vgpus '{"id": "h", "gpu": "gpu0", "flavor": "batch", "vm": "vm-h", "labels": {"workload": "idle"}}' >/dev/null
is "on the other GPU, it promises a frame rate" "$(status) $(body '"\(.target_rate) \(.target_fps) \(.initial_cap_pct)"')" "201 null 25 10"
sell b 60 idle "$on_work, \"target_rate\": 0, \"vm\": \"vm-b\""
sell a 80 frame:gpu_ms=10,cpu_ms=0 "$on_work, \"target_rate\": 60.5"
is "a contract with a rate is created" "$(status)" 201
is "the answer has the rate, and no frame rate" "$(body '"\(.target_rate) \(.target_fps)"')" "60.5 null"
is "the vGPU begins with the free cap" "$(body .cap_pct)" 30
sell x 1 idle "$on_work, \"target_fps\": 30"
is "a frame rate is rejected where units of work count" "$(status) $(body .detail)" \
  "422 target_fps: 30 is not allowed for vGPU x (allowed: 0, or target_rate, because GPU work0 counts units of work)"
api PATCH /v1/vgpus/a '{"target_fps": 30}' >/dev/null
is "also in a change" "$(status) $(body .detail | cut -d ' ' -f -8)" "422 target_fps: 30 is not allowed for vGPU a"
api PATCH /v1/vgpus/a '{"target_fps": 0}' >/dev/null
is "no frame rate is no promise" "$(status) $(body '"\(.target_rate) \(.target_fps)"')" "200 60.5 null"
api PATCH /v1/vgpus/a '{"fps_limit": 30}' >/dev/null
is "a limit of the frame rate is rejected, too" "$(status) $(body .detail)" \
  "422 fps_limit: 30 is not allowed for vGPU a (allowed: 0, because GPU work0 counts units of work)"
sell x 1 idle "$on_work, \"fps_limit\": 30"
is "also in a new contract" "$(status) $(body .detail | cut -d ' ' -f -8)" "422 fps_limit: 30 is not allowed for vGPU x"
sell f 40 frame:gpu_ms=2,cpu_ms=4,fps_max=31 '"gpu": "gpu0", "target_fps": 30'
is "other GPUs have frame rates" "$(status) $(body '"\(.target_rate) \(.target_fps)"')" "201 null 30"
api PATCH /v1/vgpus/f '{"target_rate": 5}' >/dev/null
is "a rate of units is rejected where frames count" "$(status) $(body .detail)" \
  "422 target_rate: 5 is not allowed for vGPU f (allowed: 0, or target_fps, because GPU gpu0 counts frames)"
api PATCH /v1/vgpus/a '{"target_rate": 1000001}' >/dev/null
is "a rate has an upper bound" "$(status)" 422

# --- a broken promise ---

ok "the promise is broken" until_ok 20 that /v1/vgpus/a '.broken_s > 0 and .rate > 20 and .fps == null'
ok "the policy helps" until_ok 60 that /v1/vgpus/a '.rate > 58 and .cap_pct > 55 and (.broken | not)'
steal=$(get '/v1/decisions?vgpu=a&limit=1000' '[.decisions[] | select(.kind == "steal")][0]')
is "the lightest vGPU gives" "$(echo "$steal" | gojq -r .donor)" b
ok "the reason is in units of work" sh -c "echo '$steal' | gojq -e '.why | test(\"of its target of 60.5 units/s while\")'"
is "so are its numbers" "$(echo "$steal" | gojq -r '.numbers | "\(.target_rate) \(.rate > 0) \(.fps)"')" "60.5 true null"
ok "gover-ctl why shows both" sh -c "'$B/gover-ctl' --socket '$sock' why a | grep -q 'of 60.5 units/s'"

# --- units of seconds ---

api PATCH /v1/vgpus/a '{"target_rate": 0.5, "labels": {"workload": "frame:gpu_ms=1200,cpu_ms=0"}}' >/dev/null
ok "a promise of 0.5 units/s is kept" until_ok 30 that /v1/vgpus/a '.short == false and .mean_rate > 0'
api PATCH /v1/vgpus/a '{"held": true, "held_cap_pct": 20}' >/dev/null
ok "it is broken by one unit in six seconds" until_ok 30 that /v1/vgpus/a '.short and .broken and .e > 0.5'
api PATCH /v1/vgpus/a '{"held": false}' >/dev/null
ok "the policy helps slow units" until_ok 60 that /v1/vgpus/a '.cap_pct > 55 and .short == false'
ok "the reason has two decimals" that '/v1/decisions?vgpu=a&limit=1000' \
  '[.decisions[].why | select(test("reaches 0[.][0-9][0-9] of its target of 0.5 units/s"))] | length > 0'
api PATCH /v1/vgpus/a '{"target_rate": 60.5}' >/dev/null

api PATCH /v1/vgpus/a '{"labels": {"workload": "frame:gpu_ms=1,cpu_ms=50"}}' >/dev/null
ok "a program that does not use its cap raises qos_not_gpu_bound" until_ok 20 alerts 1 qos_not_gpu_bound a
ok "its text is in units of work" that /v1/alerts \
  '[.alerts[] | select(.name == "qos_not_gpu_bound")][0].text | test("^vGPU a reaches [0-9.]+ of 60.5 units/s and uses only")'
api PATCH /v1/vgpus/b '{"target_rate": 12}' >/dev/null
ok "a promise without reported work raises fps_missing" until_ok 20 alerts 1 fps_missing b
is "its text is in units of work" "$(get /v1/alerts '[.alerts[] | select(.name == "fps_missing" and .vgpu == "b")][0].text')" \
  "vGPU b has a target of 12.0 units/s and reports none"

mkdir -p "$dir/ports"
"$B/tests/fps-report" "$dir/ports/vm-b" 20 &
cleanup="kill $! 2>/dev/null"
"$B/tests/fps-report" "$dir/ports/vm-h" 20 &
cleanup="$cleanup; kill $! 2>/dev/null"
ok "programs report frames" until_ok 30 that /v1/vgpus/h '.fps > 15'
periods 10
is "frames are no units of work" "$(get /v1/vgpus/b '"\(.rate) \(.units) \(.fps)"')" "null 0 null"

# --- what clients see ---

counted() { get /v1/vgpus/a '"\(.units > 0) \(.mean_rate > 0) \(.frames) \(.mean_fps) \(.fps_age_s) \(.frame_p99_ms)"'; }
is "counters are units of work" "$(counted)" "true true null null null null"
ok "the history has rates" until_ok 20 that '/v1/vgpus/a/history?step=1' \
  '.points[-1] | .target_rate == 60.5 and .rate > 0 and .fps == null and .target_fps == null and .valid.rate > 0 and .valid.fps == 0'
ok "that of the other GPU has frame rates" until_ok 20 that '/v1/vgpus/f/history?step=1' \
  '.points[-1] | .target_fps == 30 and .fps > 0 and .rate == null and .target_rate == null'
row='[.columns, .rows[-1]] | transpose | map({(.[0]): .[1]}) | add'
ok "rows of the GPU have rates" that /v1/gpus/work0/history "$row | .target_rate > 0 and .target_fps == null"
ok "rows of the other GPU have frame rates" that /v1/gpus/gpu0/history "$row | .target_rate == null and .target_fps > 0"
api GET /metrics >"$dir/metrics"
metrics() { grep -oE "^gover_vgpu_(fps|target_fps|rate|target_rate|frames_total|work_units_total)\{.*vgpu=\"$1\"" "$dir/metrics" | cut -d '{' -f 1 | sort | paste -sd ' '; }
is "the metrics of a vGPU are in its unit" "$(metrics a)" "gover_vgpu_rate gover_vgpu_target_rate gover_vgpu_work_units_total"
is "also those of the other GPU" "$(metrics f)" "gover_vgpu_fps gover_vgpu_frames_total gover_vgpu_target_fps"

COLUMNS=160
export COLUMNS
ctl vgpu list >"$dir/list"
ok "a list with units of work has the column RATE" grep -qE 'LOAD% +RATE TARGET' "$dir/list"
ok "its cells have the rate and the target" grep -qE '^a .* [0-9]+\.[0-9] +60\.5 ' "$dir/list"
ctl vgpu show a >"$dir/show"
ok "the vGPU is shown in units of work" grep -qE '^target rate, units/s +60\.5$' "$dir/show"
ok "without frame rates" sh -c "! grep -qE '^(target fps|fps|mean fps|frames)  ' '$dir/show'"
ok "the history has the column RATE" sh -c "'$B/gover-ctl' --socket '$sock' history a --from -1m | grep -qE 'RATE +TARGET'"
ok "top has the column RATE" sh -c "'$B/gover-ctl' --socket '$sock' top --once | grep -qE 'LOAD% +RATE TARGET'"
ok "a simulation replays rates" sh -c "'$B/gover-ctl' --socket '$sock' --json simulate --gpu work0 --from -1m --no-newcomers >'$dir/simulated'"
ok "gover-ctl changes the promise" ctl vgpu set a --target-rate 19.5
is "the daemon has it" "$(get /v1/vgpus/a .target_rate)" 19.5
ok "the decision names the unit" that '/v1/decisions?vgpu=a&limit=1000' \
  '[.decisions[] | select(.kind == "set")][-1].why | contains("target 19.5 units/s")'
ok "gover-ctl rejects a frame rate" sh -c "! '$B/gover-ctl' --socket '$sock' vgpu set a --target-fps 19 2>'$dir/err'"
ok "with the daemon's reason" grep -q -e '--target-fps: 19 is not allowed for vGPU a' "$dir/err"

# --- offers, and a restart ---

api PATCH /v1/vgpus/b '{"initial_cap_pct": 20, "target_rate": 0}' >/dev/null
api PATCH /v1/vgpus/a '{"initial_cap_pct": 40, "target_rate": 19.5}' >/dev/null
offered='[.offers[] | select(.gpu == "work0" and .state == "open")]'
ok "an offer is opened" until_ok 60 that /v1/offers "$offered | length == 1"
is "it promises a rate" "$(get /v1/offers "${offered}[0] | \"\(.target_rate) \(.target_fps)\"")" "7.5 null"
claim "$(get /v1/offers "${offered}[0].id")" '' n '"labels": {"workload": "idle"}'
is "its contract has this rate" "$(status) $(get /v1/vgpus/n '"\(.target_rate) \(.target_fps) \(.initial_cap_pct)"')" "200 7.5 null 20"
restart
is "the promise survives a restart" "$(get /v1/vgpus/n '"\(.target_rate) \(.target_fps)"')" "7.5 null"
is "so does the unit of the sale" "$(get '/v1/offers?all=true' '[.offers[] | select(.vgpu == "n")][0] | "\(.target_rate) \(.target_fps)"')" "7.5 null"
stop
# A daemon before this rule accepted a limit of the frame rate.
gojq '(.vgpus[] | select(.id == "n")).fps_limit = 62.5' "$dir/state/contracts.json" >"$dir/limited" &&
  cp "$dir/limited" "$dir/state/contracts.json"
start || exit 1
api PATCH /v1/vgpus/n '{"weight": 2}' >/dev/null
is "a contract with a limit of the frame rate is loaded, and can change" "$(status) $(body '"\(.fps_limit) \(.weight)"')" "200 62.5 2"
api PATCH /v1/vgpus/n '{"fps_limit": 0}' >/dev/null
is "its limit can be removed" "$(status) $(body .fps_limit)" "200 0"
stop

printf '[gpu gpu0]\nbackend = softgpu\nunit = work\n' >"$dir/bad.conf"
"$B/gover-d" --check-config --config "$dir/bad.conf" >"$dir/bad" 2>&1
is "only the backend sim has a configurable unit" "$(grep -c 'unit = work: only allowed with backend = sim' "$dir/bad")" 1
finish
