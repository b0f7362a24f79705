#!/bin/sh
# config check: all faults with file and line, drop-ins, exit codes and JSON. gover-d reads drop-ins in the same way.
# shellcheck disable=SC2317 # functions that "ok" calls
. "$(dirname "$0")/../lib.sh"

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
is "each file is named" "$code: $(tr '\n' ' ' <"$dir/output")" "0: gover.conf: valid gover.conf.d/10-sim.conf: valid gover.conf.d/20-more.conf: valid "
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
is "--json prints faults as JSON" "$code $(gojq -c '[.ok, (.files | length), .faults[0].line, (.faults[0].file | endswith("40-twice.conf"))]' <"$dir/output")" \
  "1 [false,4,2,true]"
rm "$conf.d/40-twice.conf"
check --json "$conf"
is "a valid file as JSON" "$code $(gojq -c '[.ok, .faults]' <"$dir/output")" '0 [true,[]]'
check "$dir/absent"
is "a missing file is a fault" "$code: $(cat "$dir/output")" "1: absent: cannot be read: No such file or directory"
check a b
is "two files are wrong usage" "$code" 2
if ! [ -e /etc/gover ] && ! [ -d /run/systemd/system ]; then
  check
  is "without a unit and a daemon the default file is checked" "$code: $(tail -n 1 "$dir/output")" \
    "0: /etc/gover/gover.conf: no such file, and no drop-ins: gover-d starts with its defaults"
  is "the source of the path is printed" "$(head -n 1 "$dir/output")" \
    "checking /etc/gover/gover.conf, the default: found neither gover-d.service nor a running gover-d"
fi
printf '[daemon]\nsocket = %s\nstate_dir = %s/state\n[fps]\nsocket = %s/fps.sock\n' "$sock" "$dir" "$dir" >"$conf"
start || exit 1
is "a daemon starts with drop-ins" "$(get /v1/gpus '[.gpus[].backend] | join(" ")')" "sim sim"

# --- without FILE: the files of the running daemon ---

running="checking gover.conf, the configuration of the running gover-d (pid $daemon_pid)"
files='gover.conf: valid|gover.conf.d/10-sim.conf: valid|gover.conf.d/20-more.conf: valid'
checks() { # checks TEXT CODE LAST_LINE
  check
  is "$1" "$code|$(paste -sd '|' "$dir/output")" "$2|$running|$files|$3"
}
checks "the files of the running daemon are checked" 0 "gover-d has read the last change of these files"
is "as JSON" "$(ctl --json config check | gojq -c '[.ok, .source, (.path | endswith("/gover.conf")), .restart_needed, (.files | length)]')" \
  '[true,"process",true,false,3]'
echo '# a comment' >>"$conf.d/20-more.conf"
checks "a changed drop-in needs a reload" 0 "gover-d has not read the last change of gover.conf.d/20-more.conf: reload it with SIGHUP"
is "as JSON too" "$(ctl --json config check | gojq -c '[.ok, .reload_needed, .restart_needed]')" '[true,true,true]'
said() { check && has "$1"; }
kill -HUP "$daemon_pid"
ok "a reload reads it" until_ok 20 said "gover-d has read the last change of these files"
printf '[alerts]\nupdate_s = 7\n' >>"$conf.d/20-more.conf"
kill -HUP "$daemon_pid"
later='[alerts] update_s has changed: gover-d uses it after a restart'
ok "a key that needs a restart is named after the reload" until_ok 20 said "$later"
is "as JSON too" "$(ctl --json config check | gojq -c '[.ok, .reload_needed, .restart_needed]')" '[true,false,true]'
is "a given file is not compared with the daemon" "$(ctl --json config check "$conf" | gojq -c '[.source, .restart_needed]')" '["argument",null]'
rm "$conf.d/20-more.conf"
files="gover.conf: valid|gover.conf.d/10-sim.conf: valid|$later"
checks "a removed drop-in needs a reload" 0 "gover-d has not read the last change of gover.conf.d: reload it with SIGHUP"
echo 'nonsense' >"$conf.d/30-bad.conf"
check
is "faults are printed before the advice" "$code $(tail -n 1 "$dir/output")" \
  "1 gover-d has not read the last change of gover.conf.d/30-bad.conf: a reload would fail with these faults"
rm "$conf.d/30-bad.conf"
cd "$dir" || exit 1
stop
conf=gover.conf
start || exit 1
ctl config check >"$dir/output"
ok "a relative path is resolved" grep -q "^checking $dir/gover.conf, the configuration of the running" "$dir/output"
finish
