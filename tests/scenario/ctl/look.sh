#!/bin/sh
# Tests the verbs history, top, doctor, config check and help.
. "$(dirname "$0")/../lib.sh"

start_sim
ctl vgpu add web1 --cap 50 --target-fps 60 --label workload=glxgears >/dev/null

points() { ctl --json history web1 --from -10m --step 1s | gojq -e '.points | length > 0'; }
ok "the history has points" until_ok 30 points
ok "history prints a table" sh -c "'$B/gover-ctl' --socket '$sock' history web1 | grep -q '^20.*Z .* [0-9]'"
is "the step is that of the option" "$(ctl --json history web1 --from -1h --step 1m | gojq .step_s)" 60
ok "a range without data prints one line" \
  sh -c "'$B/gover-ctl' --socket '$sock' history web1 --from 2001-01-01T00:00:00Z --to 2001-01-02T00:00:00Z | grep -q 'No history'"

ctl top --once >"$dir/top"
ok "top --once prints the lists without a terminal" grep -q '^web1 ' "$dir/top"
ok "the output has no escape sequences" sh -c "! grep -q '$(printf '\033')' '$dir/top'"
{ until_ok 20 grep -aq web1 "$dir/screen" && printf q; } | TERM=xterm script -qfec "'$B/gover-ctl' --socket '$sock' top" "$dir/screen" >/dev/null 2>&1
is "on a terminal q ends it" "$?" 0
ok "top used the alternate screen and left it" sh -c "grep -q '1049h' '$dir/screen' && grep -q '1049l' '$dir/screen'"
ok "top showed the vGPU" grep -q web1 "$dir/screen"
TERM=xterm script -qec "'$B/gover-ctl' --socket '$sock' vgpu list" "$dir/tty" >/dev/null </dev/null
TERM=xterm NO_COLOR=1 script -qec "'$B/gover-ctl' --socket '$sock' vgpu list" "$dir/nocolor" >/dev/null </dev/null
ok "NO_COLOR is honoured" sh -c "! grep -q '$(printf '\033')' '$dir/nocolor'"

ctl --json doctor >"$dir/doctor"
is "doctor finds the daemon" "$(gojq -r '.checks[] | select(.check == "daemon") | .state' <"$dir/doctor")" ok
is "doctor checks the history" "$(gojq -r '.checks[] | select(.check == "history") | .state' <"$dir/doctor")" ok
is "doctor fails if a check fails" "$(ctl doctor >/dev/null; echo $?)" \
  "$(gojq -r 'if .ok then 0 else 1 end' <"$dir/doctor")"

is "the configuration in use is valid" "$(ctl config check "$conf")" "$conf: valid"
printf '[policy]\noverload_pct = 900\n' >"$dir/bad.conf"
ctl config check "$dir/bad.conf" >"$dir/out" 2>&1
is "a bad one is rejected" "$?" 1
ok "the error has file and line" grep -q "$dir/bad.conf:2: .*overload_pct" "$dir/out"

for verb in status 'vgpu add' run 'policy set' top; do
  # shellcheck disable=SC2086 # a verb may be two words
  ok "help $verb shows its synopsis" sh -c "'$B/gover-ctl' help $verb | grep -q '^gover-ctl $verb'"
done
ok "--help of a verb prints it, too" sh -c "'$B/gover-ctl' vgpu add --help | grep -q 'gover-ctl vgpu add ID '"
for word in vgpu silence token policy config contracts selling; do
  ok "$word --help lists its verbs" sh -c "'$B/gover-ctl' $word --help | grep -q '^  [a-z]'"
  ok "help $word does so, too" sh -c "'$B/gover-ctl' help $word | grep -q '^  [a-z]'"
done
ok "help watch shows the verb and the group" sh -c "'$B/gover-ctl' help watch | grep -q -e --kinds && '$B/gover-ctl' help watch | grep -q '^  why'"
ok "--help fits a screen" sh -c "[ \$('$B/gover-ctl' --help | wc -l) -lt 24 ] && [ \$('$B/gover-ctl' --help | wc -L) -le 80 ]"

# --- lists ---

ctl vgpu add web2 --cap 20 --label tenant=blue >/dev/null
is "-o name prints ids" "$(ctl vgpu list -o name --sort -vgpu | tr '\n' ' ')" "web2 web1 "
is "labels select vGPUs" "$(ctl vgpu list -o name -l tenant=blue,workload!=glxgears)" web2
is "also in JSON" "$(ctl vgpu list -o json --selector workload | gojq -c '[.vgpus[].id]')" '["web1"]'
is "without headings there is a line per vGPU" "$(ctl vgpu list --no-headers | wc -l)" 2
is "and none without vGPUs" "$(ctl vgpu list --no-headers -l none | wc -c)" 0
ok "the age of a vGPU is relative" sh -c "'$B/gover-ctl' --socket '$sock' vgpu list -l tenant --no-headers | grep -qE ' [0-9]+s '"
ok "-o wide has the VM and the labels" sh -c "'$B/gover-ctl' --socket '$sock' vgpu list -o wide | grep -q ' VM .* LABELS'"
is "history is sorted by a column" "$(ctl history web1 --from -10m --step 1s --sort -time -o name | sort -rc; echo $?)" 0
ctl vgpu remove web2

ok "--version prints the version" sh -c "'$B/gover-ctl' --version | grep -q '^gover-ctl [0-9]'"
stop
is "without a daemon doctor still checks the host" "$(ctl --json doctor | gojq -r '.checks[0].state')" fail
finish
