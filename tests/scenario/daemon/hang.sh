#!/bin/sh
# A GPU whose files hang (gover-sim is stopped) delays nothing else: REST answers, the other GPU is steered, a new daemon
# starts, and a daemon ends. When the GPU answers again, its caps are as before, also if their lease has expired.
GOVER_HOST=fuse period_ms=200 speed=5 lease_ms=3000
. "$(dirname "$0")/../host.sh"

conf_extra="$unfunded
[gpu gpu1]
backend = sim
speed = 5
sharing = hard"
host_setup
loop_conf
hang() { fuse_hang "$mounted"; }
answer() { kill -CONT "$mounted"; }
cleanup="kill -CONT $mounted 2>/dev/null; $cleanup" # a stopped process ignores SIGTERM
alias_curl() { curl -sS -m 2 --unix-socket "$sock" "$@"; }
prompt() { alias_curl -f "http://gover$1"; }                                                       # prompt PATH: answers soon
promptly() { alias_curl -o "$dir/body" -w '%{http_code}' -H 'Content-Type: application/json' "$@"; } # prints the status
valid() { that /v1/gpus ".gpus[] | select(.name == \"gpu0\") | .telemetry_valid == $1"; }
stale() { that /v1/alerts '[.alerts[] | select(.name == "telemetry_stale" and .gpu == "gpu0" and (.text | contains("has not answered")))] | length == 1'; }
sell_on_gpu1() { # sell_on_gpu1 ID CAP: prints the status
  promptly -d "{\"id\": \"$1\", \"gpu\": \"gpu1\", \"initial_cap_pct\": $2}" http://gover/v1/vgpus
}
load_on_gpu1() { promptly -X PATCH -d "{\"labels\": {\"workload\": \"$2\"}}" "http://gover/v1/vgpus/$1" >/dev/null; }
steals_on_gpu1() { that '/v1/decisions?limit=1000' '[.decisions[] | select(.kind == "steal" and .gpu == "gpu1")] | length > 0'; }

# LeakSanitizer stops all threads at exit, and would wait for a thread that reads a file of the GPU that hangs.
[ -z "${GOVER_ASAN-}" ] || export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0"
start || exit 1
ok "a vGPU on the GPU that will hang" host_vgpu a 60
uuid=$(host_uuid a)
ok "its cap differs from its contract" sh -c "curl -sSf --unix-socket '$sock' -X PATCH -H 'Content-Type: application/json' \
  -d '{\"held\": true, \"held_cap_pct\": 35}' http://gover/v1/vgpus/$uuid"
is "the cap is in force" "$(host_cap a)" 35
is "a vGPU on the other GPU" "$(sell_on_gpu1 light 60)" 201
ok "readings are valid" until_ok 20 valid true

hang
ok "/healthz answers" prompt /healthz
ok "an alert names the GPU" until_ok 20 stale
ok "the age of its readings grows" until_ok 10 that /v1/gpus '.gpus[] | select(.name == "gpu0") | .telemetry_age_ms > 1000'
is "a vGPU is sold on the other GPU" "$(sell_on_gpu1 heavy 60)" 201
load_on_gpu1 light load:pct=5
load_on_gpu1 heavy busy
ok "the other GPU is steered" until_ok 20 steals_on_gpu1
is "a change of a cap on the GPU is rejected" "$(promptly -X PATCH -d '{"held_cap_pct": 40}' "http://gover/v1/vgpus/$uuid")" 503
ok "the message names the GPU" grep -q 'GPU gpu0 does not answer' "$dir/body"
is "nothing was changed" "$(get "/v1/vgpus/$uuid" .cap_pct)" 35
is "a change that needs no cap is accepted" "$(promptly -X PATCH -d '{"target_fps": 30}' "http://gover/v1/vgpus/$uuid")" 200
ok "the loop continues" periods 11

sleep 3 # longer than the lease
answer
ok "the alert is cleared when the GPU answers" until_ok 30 alerts 0 telemetry_stale
ok "readings are valid again" until_ok 20 valid true
ok "the cap is the last one, although its lease has expired" until_ok 20 cap_is a 35
is "no cap counts as changed externally" "$(decided foreign_write)" 0

hang
stop KILL
ok "a daemon starts while the GPU hangs" start
is "it knows the contract" "$(get "/v1/vgpus/$uuid" "\"\(.initial_cap_pct) \(.held)\"")" "60 true"
is "the vGPU cannot be removed" "$(promptly -X DELETE "http://gover/v1/vgpus/$uuid")" 503
ok "an alert names the GPU" until_ok 20 stale
ok "no alert says that the vGPU does not exist" alerts 0 vgpu_missing
is "the other GPU has its vGPUs" "$(get /v1/vgpus '[.vgpus[] | select(.gpu == "gpu1" and .state != "missing")] | length')" 2
sleep 3
answer
ok "the GPU is opened when it answers" until_ok 30 that "/v1/vgpus/$uuid" '.state == "active" and .load_pct != null'
ok "the cap is the last one" until_ok 20 cap_is a 35
ok "the alert is cleared" until_ok 30 alerts 0 telemetry_stale
is "no cap counts as changed externally" "$(decided foreign_write)" 0

hang
ok "an alert is raised again" until_ok 20 stale
stop
is "a daemon ends while the GPU hangs" "$stopped" 0
"$B/gover-d" --config "$conf" --restore 2>"$dir/restored"
is "--restore fails while the GPU hangs" "$?" 1
ok "its message names the GPU" grep -q 'GPU gpu0 cannot be opened: it does not answer' "$dir/restored"
answer
ok "--restore sets the contract when the GPU answers" "$B/gover-d" --config "$conf" --restore
is "the cap is that of the contract" "$(host_cap a)" 60
finish
