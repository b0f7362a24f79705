#!/bin/sh
# config check: all faults with file and line, drop-ins, exit codes and JSON. gover-d reads drop-ins in the same way.
# shellcheck disable=SC2317 # functions that "ok" calls
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

check() { # check [OPTION]: writes the output without the test's folder to $dir/output, and the exit status to $code
  ctl config check "$@" >"$dir/output" 2>&1
  code=$?
  sed -i "s|$dir/||g; s|^gover-ctl: ||" "$dir/output"
}

has() { grep -qF -- "$1" "$dir/output"; }
printed() { "$B/gover-d" --config "$conf" --print-config | sed -n "/^\[$1\]/,/^\$/s/^$2 = //p"; }

cat >"$conf" <<'EOF'
[daemon]
period_ms = 20000
perid_ms = 1
no line at all

[deamon]
this = is ignored

[policy]
overload_pct = 900
overload_pct = 90
steal_fraction = x
[gpu gpu0]
backend = simm
[gpu gpu0]
[broken
EOF
check "$conf"
is "a file with faults is rejected" "$code" 1
is "all faults have their lines" "$(sed 's/: .*//' "$dir/output" | tr '\n' ' ')" \
  "gover.conf:2 gover.conf:3 gover.conf:4 gover.conf:6 gover.conf:10 gover.conf:11 gover.conf:12 gover.conf:14 gover.conf:15 gover.conf:16 "
ok "a bad value has the allowed ones" has 'gover.conf:2: [daemon] period_ms = "20000" is not allowed (allowed: 1..10000 ms)'
ok "an unknown key has a suggestion" has 'gover.conf:3: [daemon] has no key "perid_ms" (did you mean "period_ms"?'
ok "a line without a key is a fault" has 'gover.conf:4: not a line of an INI file'
"$B/gover-d" --config "$conf" --check-config >"$dir/output" 2>&1
is "gover-d reports the first fault" "$? $(grep -c . "$dir/output")" "1 1"

printf '[daemon]\nperiod_ms = 50\nsocket = /x\n[fps]\nsocket = /x\n[offer]\nflavor_cap_pct = 5\n' >"$conf"
check "$conf"
is "conflicts between keys are faults" "$(cut -d ' ' -f 1-4 "$dir/output" | tr '\n' ' ')" \
  "gover.conf:2: [daemon] period_ms = gover.conf:5: [fps] socket = [policy] min_newcomer_pct = 10: "
printf '[gpu gpu0]\nbackend = simm\nspeed = 10\n' >"$conf"
check "$conf"
is "conflicts are not reported in a section with another fault" "$(wc -l <"$dir/output")" 1

# --- drop-ins ---

mkdir "$conf.d"
printf '[daemon]\nperiod_ms = 500\n[gpu gpu0]\nbackend = softgpu\ncapacity_cores = 2\n[flavor small]\ncap_pct = 20\n' >"$conf"
printf '[gpu gpu0]\nbackend = sim\nspeed = 10\n[flavor small]\ncap_pct = 25\n' >"$conf.d/10-sim.conf"
printf '[daemon]\nperiod_ms = 100\n[gpu gpu1]\nbackend = sim\nspeed = 10\n' >"$conf.d/20-more.conf"
printf 'not read\n' >"$conf.d/30-not.conf~"
printf 'not read\n' >"$conf.d/.hidden.conf"
check "$conf"
is "drop-ins are read" "$code: $(cat "$dir/output")" "0: gover.conf: valid, with the drop-ins in gover.conf.d"
is "a later file changes a key" "$(printed daemon period_ms)" 100
is "a later file changes a key of a GPU" "$(printed 'gpu gpu0' backend)" sim
is "a later file does not change other keys of the GPU" "$(printed 'gpu gpu0' capacity_cores)" 2
is "a later file adds a GPU" "$(printed 'gpu gpu1' backend)" sim
is "a later file changes a key of a flavour" "$(printed 'flavor small' cap_pct)" 25
printf '[gpu gpu1]\n[gpu gpu1]\n' >"$conf.d/40-twice.conf"
printf '[policy]\noverload_pct = no\n' >"$conf.d/50-bad.conf"
check "$conf"
is "faults in drop-ins have their file" "$code $(sed 's/: .*//' "$dir/output" | tr '\n' ' ')" \
  "1 gover.conf.d/40-twice.conf:2 gover.conf.d/50-bad.conf:2 "
"$B/gover-d" --config "$conf" --check-config >"$dir/output" 2>&1
is "gover-d rejects them" "$? $(grep -c '40-twice.conf:2: \[gpu gpu1\] is given twice' "$dir/output")" "1 1"
printf '[gpu gpu1]\nspeed = 5\n' >"$conf.d/40-twice.conf"
rm "$conf.d/50-bad.conf"
check "$conf"
is "a conflict is reported where the key was set last" "$(cut -d ' ' -f 1-4 "$dir/output")" "gover.conf.d/40-twice.conf:2: [gpu gpu1] speed"

check --json "$conf"
is "--json prints faults as JSON" "$code $(jq -c '[.ok, (.files | length), .faults[0].line, (.faults[0].file | endswith("40-twice.conf"))]' <"$dir/output")" \
  "1 [false,4,2,true]"
rm "$conf.d/40-twice.conf"
check --json "$conf"
is "a valid file as JSON" "$code $(jq -c '[.ok, .faults]' <"$dir/output")" '0 [true,[]]'
check "$dir/absent"
is "a missing file is a fault" "$code: $(cat "$dir/output")" "1: absent: cannot be read: No such file or directory"
check a b
is "two files are wrong usage" "$code" 2
[ -e /etc/gover ] || check
[ -e /etc/gover ] || ok "without a file the defaults are valid" test "$code" = 0
printf '[daemon]\nsocket = %s\nstate_dir = %s/state\n[fps]\nsocket = %s/fps.sock\n' "$sock" "$dir" "$dir" >"$conf"
start || exit 1
is "a daemon starts with drop-ins" "$(get /v1/gpus '[.gpus[].backend] | join(" ")')" "sim sim"
stop
finish
