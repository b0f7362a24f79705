#!/bin/sh
# The configuration in gover-d and gover-ctl: printed text loads again, errors contain the line number, the command
# line overrides the file, and a check starts no daemon and writes no file.
# shellcheck disable=SC2317 # functions that "ok" calls
. "$(dirname "$0")/../lib.sh"

unset JOURNAL_STREAM # messages go to stderr

d() { # d OPTION...: gover-d; its output in $dir/said, its exit status in $code
  "$B/gover-d" "$@" >"$dir/said" 2>&1
  code=$?
}

says() { grep -qF -- "$1" "$dir/said"; }

has_line() { grep -qxF -- "$1" "$dir/said"; }

refused() { # refused "text" FILE_TEXT WANTED: gover-d and gover-ctl reject the file with the same message WANTED
  printf '%b' "$2" >"$conf"
  d --config "$conf" --check-config
  is "$1" "$code: $(sed 's/^gover-d: //' "$dir/said")" "1: $conf:$3"
  is "... by gover-ctl too" "$(ctl config check "$conf" 2>&1; echo $?)" "gover-ctl: $conf:$3
1"
}

# --- valid files ---

d --config "$top/dist/gover.conf.example" --check-config
is "the example file is valid" "$code" 0
d --config /dev/null --print-config
cp "$dir/said" "$dir/defaults"
ok "an empty file gives the defaults" has_line "period_ms = 1000"
d --config "$dir/defaults" --print-config
ok "printed text loads to the same values" cmp "$dir/said" "$dir/defaults"

cat >"$conf" <<'EOF'
# Set values that differ from the defaults.
[daemon]
period_ms = 250
[gpu one]
backend = softgpu
capacity_cores = 1.5
[gpu two]
backend = sim
[policy]
overload_pct = 91.25
paper_mode = on
[offer]
flavor_target_fps = 30
[flavor small]
cap_pct = 20
[flavor large]
price_per_cap_hour = 0.9
EOF
d --config "$conf" --print-config
cp "$dir/said" "$dir/first"
is "the values of a file are used" "$(grep -cxE 'period_ms = 250|\[gpu (one|two)\]|capacity_cores = 1.5|overload_pct = 91.25|paper_mode = on|flavor_target_fps = 30|\[flavor (small|large)\]|cap_pct = 20|price_per_cap_hour = 0.9' "$dir/first")" 11
d --config "$dir/first" --print-config
ok "settings are the same after printing and loading" cmp "$dir/said" "$dir/first"
d --config "$conf" --check-config
is "--check-config accepts it" "$code" 0
is "gover-ctl config check accepts it" "$(ctl config check "$conf")" "$conf: valid"

d --config "$conf" --socket s.sock --state-dir "$dir/nowhere" --listen 127.0.0.1:9788 --print-config
ok "the command line overrides the file" has_line "socket = s.sock"
ok "for each of its options" has_line "listen = 127.0.0.1:9788"
ok "checking creates no state directory" test ! -e "$dir/nowhere"

# --- invalid files ---

# The message lists all keys; the list of [policy] is the longest.
policy_keys=$("$B/gover-d" --config /dev/null --print-config | sed -n '/^\[policy\]/,/^$/s/ =.*//p' | paste -sd, | sed 's/,/, /g')
refused "an unknown key" '[policy]\n\noverlod_pct = 95\n' \
  "3: [policy] has no key \"overlod_pct\" (did you mean \"overload_pct\"? allowed: $policy_keys)"
refused "an unknown section" '[deamon]\n' \
  '1: unknown section [deamon] (did you mean "daemon"? allowed: daemon, access, alerts, gpu NAME, policy, offer, flavor NAME, client NAME, fps, history)'
refused "a secret is not printed" '[alerts]\nwebhook = htps://u:SECRET@x/y\n' \
  '2: [alerts] webhook: the value is not allowed (allowed: nothing, or a URL of http or https (0..160 characters, no '"'"';'"'"'))'
refused "a key given twice" '[daemon]\nperiod_ms = 500\nperiod_ms = 500\n' \
  '3: [daemon] period_ms is given twice'
refused "a section given twice" '[offer]\n[fps]\n[offer]\n' \
  '3: [offer] is given twice'
refused "a GPU given twice" '[gpu]\n[gpu gpu0]\n' \
  '2: [gpu gpu0] is given twice'
for value in ten 101 0 -1 nan 5e; do
  refused "a cap of $value" "[offer]\nflavor_cap_pct = $value\n" \
    "2: [offer] flavor_cap_pct = \"$value\" is not allowed (allowed: 1..100 percent)"
done

d --config "$dir/absent" --check-config
is "a missing file" "$code: $(cat "$dir/said")" \
  "1: gover-d: $dir/absent: cannot be read: No such file or directory"
printf '[daemon]\nperiod_ms = 50\n' >"$conf"
d --config "$conf" --check-config
is "a period too short for a real GPU" "$code: $(cat "$dir/said")" \
  "1: gover-d: [daemon] period_ms = 50: too short (allowed: 100..10000 ms; 1..10000 ms if the speed of every GPU is above 1)"
d --config /dev/null --listen everywhere --check-config
ok "an invalid value on the command line" says '[daemon] listen = "everywhere" is not allowed'
is "is rejected" "$code" 1
d --config "$conf"
is "gover-d does not start with an invalid file" "$code" 1

# --- usage ---

d --help
is "--help ends with 0" "$code" 0
d --version
ok "--version prints the version" grep -qE '^gover-d [0-9]+\.[0-9]+\.[0-9]+$' "$dir/said"
d --no-such-option
is "an unknown option is a usage error" "$code" 2
d please
is "an argument is a usage error" "$code" 2
finish
