#!/bin/sh
# Follows docs/runbook/held_overloaded.md: from the message of a webhook to cause, graph and fix in three commands.
. "$(dirname "$0")/../lib.sh"

receive_webhook
start_sim
received() { # received FILTER: succeeds if the filter is true for a received message
  gojq -es "[.[] | select($1)] | length > 0" "$dir/bodies"
}
show() { # show COMMAND...: runs a command as on the host, with its output in $dir/said
  echo "\$ $*"
  shift
  ctl "$@" >"$dir/said" 2>&1
  rc=$?
  cat "$dir/said"
  return "$rc"
}

# An operator holds a cap for a test and forgets it. Later the vGPU needs more.
sell cad-7 60 'frame:gpu_ms=8,cpu_ms=2' '"vm": "win-cad-7", "target_fps": 50'
sell office-3 40 'frame:gpu_ms=3,cpu_ms=2,fps_max=20' '"vm": "win-office-3"'
ok "both vGPUs have contracts" that /v1/vgpus '.vgpus | length == 2'
periods 20
ctl vgpu hold cad-7 --cap 25 >/dev/null
ok "the webhook receives the alert" until_ok 20 received '.event == "raised" and .alert.name == "held_overloaded"'
message=$(gojq -cs '[.[] | select(.alert.name == "held_overloaded")][0]' "$dir/bodies")
echo "$message" | gojq . | sed 's/^/# /'
is "the text states host, VM and cause" "$(echo "$message" | gojq -r '"\(.host) \(.text)"' | grep -c "$(uname -n), warning, VM win-cad-7: vGPU cad-7 uses .* held at 25 % - .*an operator holds its cap")" 1
next=$(echo "$message" | gojq -r .next)
is "the message contains the next command" "$next" "gover-ctl why cad-7"
page=$top/docs/runbook/$(echo "$message" | gojq -r .alert.name).md
is "the page of the alert contains the three commands" "$(grep -cE '^    \$ gover-ctl (why cad-7|history cad-7|vgpu release cad-7)' "$page")" 3
periods 50

# shellcheck disable=SC2086 # words
show $next | sed 's/^/# /'
ok "1: gover-ctl why prints the hold" grep -q "hold.*25 %" "$dir/said"
show gover-ctl history cad-7 --from -10s --step 1s | sed 's/^/# /'
ok "2: gover-ctl history prints the measurements" grep -qE '^ *20[0-9-]+T.*[0-9]' "$dir/said"
show gover-ctl vgpu release cad-7 | sed 's/^/# /'
ok "3: gover-ctl vgpu release ends the hold" grep -q "cad-7" "$dir/said"
ok "the webhook receives the end of the alert" until_ok 20 received '.event == "cleared" and .alert.name == "held_overloaded"'
gojq -cs '[.[] | select(.event == "cleared")][0]' "$dir/bodies" | gojq . | sed 's/^/# /'
ok "the vGPU reaches its target" until_ok 20 that /v1/vgpus/cad-7 '.fps >= 49'
show gover-ctl vgpu list | sed 's/^/# /'
finish
