#!/bin/sh
# Backend drm observes control groups that share a GPU: use, contracts, alerts, history and advice, and no caps. The host is a
# folder (tests/truth/drm-host.py).
. "$(dirname "$0")/../fps/lib.sh"

host=$dir/host
mkdir -p "$host"
programs() { # programs LINE...: sets the programs on the GPU
  printf '%s\n' "$@" >"$host/programs.new" && mv "$host/programs.new" "$host/programs"
}
a='100 system.slice/a.service 1 0.3 0'
b='200 system.slice/b.service/below 2 0.1 0.2'
outside='300 user.slice/desktop 3 0.1 0'
programs "$a" "$b" "$outside"
"$top/tests/truth/drm-host.py" "$host" >"$dir/host.log" 2>&1 &
cleanup="kill $! \$drawing 2>/dev/null" drawing=''
ok "the host exists" until_ok 10 test -d "$host/proc/300/fd"

truth=fdinfo
configure() {
  cat >"$conf" <<END
[daemon]
socket = $sock
state_dir = $dir/state
period_ms = 500
[gpu gpu0]
backend = drm
parent = ${parent-0000:03:00.0}
truth = $truth
proc = $host/proc
[policy]
overload_periods = 2
[fps]
socket = $dir/fps.sock
END
}
configure
start || exit 1

near() { # near FILTER LOW HIGH: succeeds if a number of vGPU a or of the GPU is in the range
  that "$1" "$2 >= $3 and $2 <= $4"
}
is "the GPU is only observed" "$(get /v1/gpus '.gpus[0] | "\(.backend) \(.mode) \(.steers) \(.truth)"')" "drm observe false fdinfo"
ok "groups with the GPU open are vGPUs" until_ok 10 that /v1/vgpus '[.vgpus[].id] == ["a", "b"]'
ok "the use of a is that of its programs" until_ok 10 near /v1/vgpus/a .load_pct 28 32
ok "the use of b is that of its busiest engines" until_ok 10 near /v1/vgpus/b .load_pct 18 22
ok "the use of the GPU includes other programs" until_ok 10 near /v1/gpus '.gpus[0].util_pct' 47 53
is "memory is reported" "$(get /v1/vgpus/a .memory_used_mib)" 2
echo 'drm/0000:03:00.0/vram0 33554432' >"$host/cgroup/system.slice/a.service/dmem.max"
ok "the limit of the host is reported" until_ok 10 that /v1/vgpus '[.vgpus[].memory_max_mib] == [32, null]'
is "each vGPU has an equal part as a measure" "$(get /v1/vgpus '[.vgpus[].cap_pct] | @csv')" "50,50"

programs '100 system.slice/a.service 1 0.5 0' '200 system.slice/b.service/below 2 0.5 0'
ok "groups without a contract use all of the GPU" until_ok 20 that /v1/vgpus '[.vgpus[].overloaded] == [true, true]'
sleep 3 # six periods; an alert needs three
is "nothing was sold" "$(get /v1/gpus '.gpus[0].sum_initial_cap_pct')" 0
is "so nothing was promised to them" "$(get /v1/alerts '[.alerts[].name] | @csv') $(get /v1/vgpus '[.vgpus[].broken] | @csv')" " false,false"
programs "$a" "$b" "$outside"

api PATCH /v1/gpus/gpu0 '{"mode": "act"}' >/dev/null
is "mode act is refused" "$(status)" 409
ok "the refusal names the reason" grep -q 'backend drm cannot set caps' "$dir/body"
api PATCH /v1/gpus/gpu0 '{"selling": "on"}' >/dev/null
is "selling can be set" "$(status)" 200
api PATCH /v1/vgpus/a '{"held": true, "held_cap_pct": 20}' >/dev/null
is "a hold is refused" "$(status)" 409

sell a 20 '' '"target_fps": 60'
is "a group gets a contract" "$(status) $(get /v1/vgpus/a '"\(.initial_cap_pct) \(.target_fps) \(.cap_writes)"')" "201 20 60 0"
sell c 20
is "a vGPU that does not exist cannot be created" "$(status)" 409
ok "an overload is reported" until_ok 20 that /v1/vgpus/a .overloaded
offers='[.decisions[] | select(.kind == "offer" and .result == "observed")]'
programs '100 system.slice/a.service 1 0.05 0' "$b" "$outside"
ok "an offer is advice" until_ok 30 that '/v1/decisions?limit=1000' "$offers | length > 0"
is "no offer is opened" "$(get /v1/offers '.offers | length')" 0
is "no decision has written a cap" "$(get '/v1/decisions?limit=1000' '[.decisions[] | select(.result == "written" or .result == "failed")] | length')" 0
# The program runs on this host, and is a process of the group in the folder.
# shellcheck disable=SC2016 # for the other shell
env LD_LIBRARY_PATH="$gl" GOVER_FPS="unix:$fps" sh -c 'mkdir "$1/proc/$$" && echo 0::/system.slice/a.service >"$1/proc/$$/cgroup" &&
  export LD_PRELOAD="$2" && exec "$3" direct-glx 100000 20000' sh "$host" "$preload" "$B/tests/fps-draw" &
drawing=$!
ok "the frames of its programs are counted" until_ok 20 that /v1/vgpus/a '.fps > 20 and .fps < 60'
ok "a promise that is not kept is seen" until_ok 20 that /v1/vgpus/a .short
programs '100 system.slice/a.service 1 0.3 0' '200 system.slice/b.service/below 2 0.69 0' "$outside"
api PATCH /v1/vgpus/a '{"initial_cap_pct": 50}' >/dev/null
ok "the cause is that no cap can be set" until_ok 30 that /v1/vgpus/a '.cause == "not_acting"'
ok "the diagnosis says so" until_ok 5 sh -c '"$@" | grep -q "GPU gpu0 is only observed, because backend drm cannot set caps"' sh "$B/gover-ctl" --socket "$sock" why a
api PATCH /v1/vgpus/a '{"initial_cap_pct": 20}' >/dev/null
ok "a vGPU that uses what was sold needs a larger contract" until_ok 30 that /v1/vgpus/a '.cause == "contract_too_small"'
kill "$drawing"
ok "the history has the use" until_ok 10 recorded "select 1 from sample where load_pct > 4"

programs '100 system.slice/a.service 1 0.3 0' "$b" "$outside" '400 system.slice/new.service 4 0.2 0'
ok "a new group appears" until_ok 20 that /v1/vgpus '[.vgpus[].id] == ["a", "b", "new"]'
ok "its use is known" until_ok 20 near /v1/vgpus/new .load_pct 18 22
is "the equal parts follow, and nothing is held" "$(get /v1/vgpus '[.vgpus[] | .cap_pct, .held] | @csv')" "33,false,33,false,33,false"
programs '100 system.slice/a.service 1 0.3 0' 'end system.slice/b.service' "$outside"
ok "a vGPU without a contract ends with its group" until_ok 20 that /v1/vgpus '[.vgpus[].id] == ["a", "new"]'

stop
programs "$a" "$outside"
start || exit 1
is "the contract is known after a restart" "$(get /v1/vgpus/a '"\(.initial_cap_pct) \(.held)"')" "20 false"
ok "and its use" until_ok 20 near /v1/vgpus/a .load_pct 28 32
programs 'end system.slice/a.service' "$outside"
ok "the end of a group with a contract is an alert" until_ok 20 alerts 1 vgpu_missing a
programs "$a" "$outside"
ok "the contract is for the next group of this name" until_ok 20 that /v1/vgpus/a '.state == "active"'
programs "times off" "$a" "$outside"
ok "use without times is unknown" until_ok 30 that /v1/gpus '.gpus[0].telemetry_valid == false'
programs "times on" "$a" "$outside"
ok "and known again" until_ok 30 that /v1/gpus '.gpus[0].telemetry_valid'
stop
parent=0000:04:00.0
configure
: >"$dir/log"
start || exit 1
ok "a GPU of another address is unknown, with the reason" until_ok 10 that /v1/gpus '.gpus[0] | .telemetry_valid == false and .util_pct == null and (.problem | test("no GPU 0000:04:00.0"))'
ok "status prints the reason" sh -c '"$@" status | tr -s " \n" " " | grep -q "busy time on GPU gpu0 cannot be read: no GPU 0000:04:00.0"' sh "$B/gover-ctl" --socket "$sock"
ok "the alert has the reason" until_ok 10 that /v1/alerts '.alerts | any(.name == "telemetry_stale" and (.text | test("no GPU 0000:04:00.0")))'
is "no sale is advised" "$(grep -c 'can be sold' "$dir/log")" 0
stop
parent=03:00.0
configure
start || exit 1
ok "the notation of lspci names the GPU" until_ok 20 that /v1/gpus '.gpus[0] | .telemetry_valid and .source.last.clients == 2 and .source.last.outside == 1'
stop
parent=0000:03:00.0
configure
is "a restore has nothing to do" "$("$B/gover-d" --config "$conf" --restore >"$dir/out" 2>&1; echo $?)" 0

# --- NVML ---

# The name of the library is that of NVIDIA's driver.
mkdir -p "$dir/nvml"
ln -s "$B/tests/fake-nvml.so" "$dir/nvml/libnvidia-ml.so.1"
printf 'busy 45\nuse 100 45 0 0\nmemory 100 3145728\n' >"$dir/nvml.script"
daemon_env="LD_LIBRARY_PATH=$dir/nvml FAKE_NVML=$dir/nvml.script"
truth=auto parent=0000:65:00.0
configure
start || exit 1
is "auto selects NVML if it has the GPU" "$(get /v1/gpus '.gpus[0].truth')" nvml
ok "NVML gives the use of the group" until_ok 20 near /v1/vgpus/a .load_pct 44 46
ok "and its memory" until_ok 20 that /v1/vgpus/a '.memory_used_mib == 3'
stop
daemon_env=''

# --- what the daemon refuses, and what it waits for ---

truth=nvml
configure
is "truth = nvml without the library" "$(timeout 8 "$B/gover-d" --config "$conf" 2>&1 | grep -c "NVML: libnvidia-ml.so.1.*NVIDIA's driver")" 1
truth=none
configure
is "truth = none" "$("$B/gover-d" --config "$conf" 2>&1 | grep -c 'truth = none: backend drm has no other source')" 1
truth=fdinfo parent=
configure
if [ ! -d /sys/class/drm ]; then
  is "a host without a GPU" "$(timeout 8 "$B/gover-d" --config "$conf" 2>&1 | grep -c 'this host has no GPU with a render node')" 1
fi
finish
