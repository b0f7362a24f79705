#!/bin/sh
# A broken promise is never silent: each cause is brought about on purpose, and raises exactly one alert promise_broken
# with this cause, its text and its next command. The webhook receives it, and the diagnosis in REST has the same text.
# Three vGPUs that want 108 % of the GPU come first.
. "$(dirname "$0")/../lib.sh"

receive_webhook
conf_extra="$daemon_extra
promise_fast_window_s = 20" daemon_extra=''
start_sim

frames='frame:gpu_ms=8,cpu_ms=1' # needs 48 % of the GPU for 60 FPS

broken() { # broken VGPU CAUSE: succeeds if the alert is active with this cause
  that /v1/alerts "[.alerts[] | select(.name == \"promise_broken\" and .vgpu == \"$1\" and .cause == \"$2\")] | length == 1"
}

raised() { # raised CAUSE SEVERITY PATTERN COMMAND_PATTERN: tests the alert of vGPU c, the diagnosis and the message
  ok "$1: the alert is raised" until_ok 30 broken c "$1"
  is "$1: its severity" "$(get /v1/alerts '.alerts[] | select(.name == "promise_broken" and .vgpu == "c") | .severity')" "$2"
  ok "$1: its text names the cause" that /v1/alerts ".alerts[] | select(.name == \"promise_broken\" and .vgpu == \"c\") | .text | test(\"$3\")"
  ok "$1: its next command" that /v1/alerts ".alerts[] | select(.name == \"promise_broken\" and .vgpu == \"c\") | .next | test(\"^$4\$\")"
  ok "$1: the diagnosis has the same cause, text and command" that /v1/vgpus/c/diagnosis \
    ".cause == \"$1\" and (.text | test(\"$3\")) and (.command | test(\"^$4\$\")) and .fix != null and .alert_id != null"
  echo "# $(get /v1/alerts '.alerts[] | select(.name == "promise_broken" and .vgpu == "c") | .text')"
  echo "# fix: $(get /v1/vgpus/c/diagnosis .fix)"
}

sent() { # sent N: succeeds if the receiver has N messages "raised" about the promise of vGPU c
  [ "$(grep -c '"event":"raised".*"name":"promise_broken".*"vgpu":"c"' "$dir/bodies")" -eq "$1" ]
}

clear_all() { # removes all vGPUs, which ends their alerts
  for v in $(get /v1/vgpus '.vgpus[].id'); do api DELETE "/v1/vgpus/$v" >/dev/null; done
  until_ok 20 alerts 0 promise_broken
  : >"$dir/bodies"
}

fault() { # fault VGPU KIND: a fault of the simulated vGPU
  echo "$2" >"$dir/poke/$1.fault"
  until_ok 10 test ! -e "$dir/poke/$1.fault"
}

# --- more is wanted than there is ---

sell a 50 load:pct=30
sell b 50 load:pct=30
periods 35 # the use of a and b is known, so that c is funded
sell c 50 "$frames" '"target_fps": 60'
# On a busy machine, readings of a and b are now and then above their caps, and then count as up to their contracts.
raised gpu_overcommitted critical 'c gets 4[0-9]\\.[0-9] of 60 FPS: the GPU is overcommitted, (up to )?1[0-3][0-9] % wanted \\(c 4[789] %, [ab] [34][0-9] %, [ab] 3[0-9] %\\)' \
  "gover-ctl drain gpu0"
ok "the receiver gets one message" until_ok 10 sent 1
is "the message names the host, the severity and the next command" \
  "$(gojq -r 'select(.alert.name == "promise_broken") | [.event, .alert.severity, .alert.cause, .next] | join(" ")' "$dir/bodies" | head -n 1)" \
  "raised critical gpu_overcommitted gover-ctl drain gpu0"
ok "the diagnosis lists the demands" that /v1/vgpus/c/diagnosis '.gpu_wanted_pct > 106 and .gpu_wanted_pct < 140 and .wants[0].vgpu == "c" and (.wants | length == 3)'
ok "the vGPU shows the state" that /v1/vgpus/c '.promise == "broken" and .cause == "gpu_overcommitted"'
periods 60
ok "the alert is raised once" sent 1
api DELETE /v1/vgpus/a >/dev/null # the move that the fix names
ok "the alert ends after the move" until_ok 30 alerts 0 promise_broken
ok "the promise is kept" until_ok 20 that /v1/vgpus/c/diagnosis '.state == "kept" and .cause == null and .since == null and .alert_id == null'
ok "a removed vGPU has a diagnosis" that /v1/vgpus/a/diagnosis '.state == "removed" and (.text | test("a does not exist any more; the last record of it is of 20.*removed"))'
api GET /v1/vgpus/never/diagnosis >/dev/null
is "an id that never existed is unknown" "$(status)" 404
clear_all

# --- the other causes: a new vGPU gets only free cap, so that its first cap is known ---
ctl policy set fund_fraction=0 >/dev/null

sell c 30 "$frames" '"target_fps": 60'
raised contract_too_small critical 'its contract of 30 % of the GPU is too small for the target, which needs about 4[789] %' \
  "gover-ctl vgpu set c --cap 5[0-3]"
ctl vgpu set c --cap 51 >/dev/null
ok "contract_too_small: the command ends the alert" until_ok 30 alerts 0 promise_broken
clear_all

# A program that the CPU limits as well does not use its whole cap: a larger one is not advised.
sell c 30 frame:gpu_ms=3,cpu_ms=13 '"target_fps": 90'
ok "contract_too_small: beside a limit of the guest" until_ok 30 broken c contract_too_small
ok "contract_too_small: the command lowers the target" that /v1/vgpus/c/diagnosis \
  '(.text | test("the guest limits it too")) and (.command | test("^gover-ctl vgpu set c --target-fps 7[0-9]$"))'
clear_all

sell c 60 "$frames" '"target_fps": 60'
api PATCH /v1/vgpus/c '{"held": true, "held_cap_pct": 20}' >/dev/null
raised held critical 'an operator holds its cap at 20 %' "gover-ctl vgpu release c"
ctl vgpu release c >/dev/null
ok "held: the command ends the alert" until_ok 30 alerts 0 promise_broken
clear_all

sell c 60 "$frames" '"target_fps": 60'
echo 20 >"$dir/poke/c.cap"
raised foreign_cap critical 'another program set the cap to 20 %, and gover-d does not overwrite it' "gover-ctl vgpu release c"
ctl vgpu release c >/dev/null
ok "foreign_cap: the command ends the alert" until_ok 30 alerts 0 promise_broken
clear_all

sell c 60 frame:gpu_ms=4,cpu_ms=40 '"target_fps": 60'
raised guest_limit info 'the guest is the limit, because it uses only [0-9.]+ % of the GPU with a cap of 60 %' "gover-ctl history c --from -10m"
periods 5
ok "guest_limit: nothing is sent" sent 0
clear_all

sell a 60 load:pct=5
sell c 50 "$frames" '"target_fps": 60'
api PATCH /v1/vgpus/a '{"held": true, "held_cap_pct": 60}' >/dev/null
raised donors_at_floor critical 'no other vGPU can give a step of its cap: a is held at 60 %' "gover-ctl vgpu release a"
ctl vgpu release a >/dev/null
ok "donors_at_floor: the command ends the alert" until_ok 30 alerts 0 promise_broken
clear_all

sell a 60 load:pct=5 '"min_cap_pct": 60'
sell c 50 "$frames" '"target_fps": 60'
raised donors_at_floor critical 'a is at its floor of 60 %' "gover-ctl vgpu set a --min-cap 0"
clear_all

sell a 60 load:pct=5
api PATCH /v1/gpus/gpu0 '{"mode": "frozen"}' >/dev/null # before c is rescued
sell c 50 "$frames" '"target_fps": 60'
raised not_acting critical 'GPU gpu0 is in mode frozen, in which gover-d changes no cap' "gover-ctl thaw gpu0"
ctl thaw gpu0 >/dev/null
ok "not_acting: the command ends the alert" until_ok 30 alerts 0 promise_broken
clear_all

sell a 60 load:pct=5
sell c 50 "$frames" '"target_fps": 60'
fault c write
raised cap_write_failed critical 'a cap could not be written, so its cap stays at 40 %' "journalctl -u gover-d GOVER_VGPU=c"
fault c none
ok "cap_write_failed: the alert ends when the cap can be written" until_ok 30 alerts 0 promise_broken
clear_all

sell a 20 load:pct=5
sell c 60 "$frames" '"target_fps": 60'
fault a cap
load a load:pct=80
raised caps_not_enforced critical 'the scheduler of GPU gpu0 does not enforce the caps \\(vGPU a uses [0-9]+ % of the GPU with a cap of 20 %\\)' "gover-ctl doctor"
fault a none
ok "caps_not_enforced: the alert ends when the cap is enforced" until_ok 30 alerts 0 promise_broken
clear_all

sell c 30 "$frames" '"target_fps": 60'
fault c read
raised telemetry_stale critical 'the busy time on GPU gpu0 cannot be read' "gover-ctl doctor"
clear_all

ctl policy set name=none >/dev/null
sell a 60 load:pct=5
sell b 60 load:pct=5
sell c 60 "$frames" '"target_fps": 60'
raised policy_idle critical 'policy none moves no capacity to it, although [0-9]+ % of the GPU is spare' "gover-ctl policy set name=qos"
ctl policy set name=qos >/dev/null
ok "policy_idle: the command ends the alert" until_ok 30 alerts 0 promise_broken
ctl policy set name=gover >/dev/null
clear_all

# A donor that gives one step in each period needs longer than the fast window allows.
ctl policy set steal_fraction=0.01 >/dev/null
sell a 90 load:pct=2
sell c 90 'frame:gpu_ms=14,cpu_ms=1' '"target_fps": 60'
raised adjusting warning 'gover-d is raising its cap \\([0-9]+ % now\\)' "gover-ctl why c"
ok "adjusting: the daemon ends the alert" until_ok 60 alerts 0 promise_broken
clear_all

sell c 50 load:pct=30 '"target_fps": 60'
ok "frames_missing: the promise is unknown" until_ok 20 that /v1/vgpus/c/diagnosis '.state == "unknown" and .cause == "frames_missing" and .command == "gover-ctl vgpu show c"'
echo "# $(get /v1/vgpus/c/diagnosis .text)"
ok "frames_missing: fps_missing is raised" until_ok 20 alerts 1 fps_missing c
ok "frames_missing: no alert promise_broken" alerts 0 promise_broken

finish
