#!/bin/sh
# Compares --json with gover-ctl(1): the verbs that support it, the route whose reply each verb prints unchanged, and
# for verbs with their own format every field. The fixed replies of the golden tests contain only fields of the
# daemon's replies.
# shellcheck disable=SC2317 # functions that "ok" calls
. "$(dirname "$0")/../lib.sh"

answers=$top/tests/golden/daemon
page=$top/man/gover-ctl.1
python3 "$top/tests/helper/fake-daemon.py" "$sock" "$answers" "$dir/asked" &
fake=$!
cleanup="kill $fake 2>/dev/null"
until_ok 20 test -S "$sock"

# The documented verbs, one per line: "VERB: METHOD ROUTE" if the verb prints the reply of this route, else "VERB: own".
sed -n '/^\.Sh JSON/,/^\.Sh ENV/p' "$page" | awk '
  /^\.It Ic / { verb = substr($0, 8); next }
  verb { print verb ": " (/^\.Li [A-Z]+ \// ? $2 " " $3 : "own"); verb = "" }' >"$dir/documented"

"$B/gover-ctl" help all | sed '/^Options of every verb/q' | sed -n 's/^  \([a-z][a-z ]\{13\}\) .*/\1/p' | sed 's/ *$//' >"$dir/verbs"
cd "$dir" || exit 1 # support writes a file here
while read -r verb; do
  # shellcheck disable=SC2086 # a verb may be two words
  "$B/gover-ctl" --socket "$dir/missing.sock" $verb --json >"$dir/out" 2>&1 </dev/null
  grep -qe '--json is not supported' "$dir/out" || echo "$verb"
done <"$dir/verbs" | sort >"$dir/has"
cut -d : -f 1 "$dir/documented" | sort >"$dir/described"
ok "gover-ctl(1) describes every verb with --json" diff "$dir/has" "$dir/described"
sed -n 's/.*: \([A-Z]* \/.*\)/\1/p' "$dir/documented" | sort -u | while read -r route; do
  grep -qxF ".It Cm $route" "$B/man/gover-api.7" || echo "$route"
done >"$dir/unknown"
ok "each of its routes is in gover-api(7)" test ! -s "$dir/unknown"

args_of() { # args_of VERB: prints the arguments for the test
  case $1 in
  'vgpu add') echo new1 --cap 25 ;;
  'vgpu set') echo web1 --cap 40 ;;
  vgpu\ list | status | alerts | decisions | offers | economics | 'policy show') ;;
  vgpu\ * | history) echo web1 ;;
  freeze | thaw | drain) echo gpu0 ;;
  ack) echo 3 ;;
  claim) echo 2 --id new1 ;;
  'policy set') echo overload_pct=90 ;;
  *) echo untested ;;
  esac
}

prints_reply() { # prints_reply VERB ROUTE: tests that the last request was to this route, and that its reply was printed
  : >"$dir/asked"
  # shellcheck disable=SC2046,SC2086 # words
  ctl --json $1 $(args_of "$1") >"$dir/printed" || return 1
  asked=$(tail -n 1 "$dir/asked" | cut -d ' ' -f 1,2 | sed 's/?.*//')
  echo "$asked" | grep -qxE "$(echo "$2" | sed 's/{[a-z]*}/[^\/]+/g')" || return 1
  cmp "$dir/printed" "$answers/$(echo "$asked" | tr -d ' ' | tr / _)"
}

while IFS=: read -r verb route; do
  if [ "$route" = " own" ] || [ "$(args_of "$verb")" = untested ]; then continue; fi
  ok "$verb prints the reply of${route}" prints_reply "$verb" "${route# }"
done <"$dir/documented"
ctl freeze --json >"$dir/printed"
ok "freeze prints a reply per GPU" sh -c "cat '$answers/PATCH_v1_gpus_gpu0' '$answers/PATCH_v1_gpus_soft0' | cmp - '$dir/printed'"

ctl why web1 --json >"$dir/why"
ok "why prints the diagnosis" sh -c "gojq 'del(.decisions)' '$dir/why' >'$dir/a' && gojq . '$answers/GET_v1_vgpus_web1_diagnosis' | cmp - '$dir/a'"
ok "and the decisions" sh -c "gojq .decisions '$dir/why' >'$dir/a' && gojq .decisions '$answers/GET_v1_decisions' | cmp - '$dir/a'"

# --- errors ---

error() { # error FIELD ARG...: prints a field of the error, which is the only line of output
  field=$1
  shift
  ctl "$@" >"$dir/out" 2>"$dir/err"
  code=$?
  if [ -s "$dir/out" ] || [ "$(wc -l <"$dir/err")" -ne 1 ]; then echo "$*: not one line"; fi
  gojq -r ".error.exit_code as \$code | if \$code == $code then .error.$field else \"exit code \(\$code), not $code\" end" <"$dir/err"
}
is "an error of the daemon has its status" "$(error status vgpu show missing --json)" 404
is "its problem document" "$(error title vgpu show missing -o json)" "Not Found"
is "and the message" "$(error message --json vgpu show missing)" "the fake daemon has no such reply"
is "a wrong value is an error, too" "$(error message vgpu add a --cap 0 --json)" \
  "vgpu add: --cap '0': not allowed (allowed: a whole number from 1 to 100)"
is "without a status" "$(error status vgpu add a --cap 0 --output=json)" null
is "a wrong option prints no usage" "$(error message status --jason --json)" "status: --jason: unknown option (did you mean --json?)"
is "two formats exclude each other" "$(error message vgpu list --json -o wide)" "--json and --output wide are mutually exclusive"
is "a missing word is an error" "$(error exit_code vgpu --json)" 2
"$B/gover-ctl" --socket "$dir/none" status --json >"$dir/out" 2>"$dir/err"
is "an unreachable daemon is an error" "$? $(gojq .error.exit_code <"$dir/err")" "3 3"

# --- own formats: the documented fields are the printed ones ---

fields() { # fields FILE...: prints the names of all fields
  gojq -r '[.. | objects | keys[]] | unique | .[]' "$@" | sort -u
}
documented_fields() { # documented_fields VERB
  sed -n '/^\.Sh JSON/,/^\.Sh ENV/p' "$page" | awk -v "verb=$1" '
    /^\.It Ic / { ours = substr($0, 8) == verb }
    ours && /^\.Va / { gsub(/,/, ""); for (i = 2; i <= NF; i++) if ($i ~ /^[a-z]/) print $i }' | sort -u
}
summary_fields() {
  awk '/^The numbers of a summary/ { on = 1 } /^\.Sh FILES/ { on = 0 } on && /^\.It Va/ { gsub(/,/, ""); for (i = 3; i <= NF; i++) print $i }' \
    "$top/man/gover-sim.1" | grep -vx vgpus
  printf '%s\n' under_5_pct from_5_to_10_pct from_10_to_20_pct from_20_to_50_pct over_50_pct
}
compare() { # compare VERB FILE...
  verb=$1
  shift
  fields "$@" >"$dir/fields"
  documented_fields "$verb" >"$dir/named"
  ok "$verb prints the documented fields" diff "$dir/named" "$dir/fields"
}

ctl doctor --json >"$dir/doctor"
ctl doctor --pid $$ --json >"$dir/doctor-pid"
compare doctor "$dir/doctor" "$dir/doctor-pid"
printf '[daemon]\nx = 1\n' >"$dir/bad.conf"
ctl config check "$dir/bad.conf" --json >"$dir/check"
compare "config check" "$dir/check"
rm "$dir/bad.conf"
ctl simulate --from 2026-11-20T18:49:40Z --to 2026-11-20T18:50:40Z --gpu gpu0 --set overload_pct=80 --json >"$dir/simulate"
summary_fields | sort -u >"$dir/summary"
fields "$dir/simulate" | grep -vxFf "$dir/summary" >"$dir/fields"
{
  documented_fields simulate | grep -vx not_played # simulate prints this field only for a GPU with too little history
  grep -xE 'seconds' "$dir/summary"
} | grep -vxFf "$dir/summary" | sort -u >"$dir/named"
ok "simulate prints the documented fields" diff "$dir/named" "$dir/fields"
kill "$fake"
wait "$fake" 2>/dev/null
rm -f "$sock"

# --- the fixed replies have the fields of real ones ---

start_sim
sell web1 50 glxgears '"target_fps": 60'
sell web2 20 idle '"target_fps": 30'
ok "an alert is raised" until_ok 30 alerts 1 fps_missing
ctl vgpu hold web2 --cap 5 >/dev/null
ctl policy set overload_pct=90 >/dev/null
ok "a decision with a move is made" until_ok 30 that /v1/decisions '[.decisions[].moves[]] | length > 0'
recorded_points() { ctl --json history web1 --from -10m --step 1s | gojq -e '.points | length > 0'; }
ok "the history has points" until_ok 30 recorded_points
ok "an offer is made" until_ok 30 that /v1/offers '.offers | length > 0'

paths() { # prints the paths of all fields, except below labels and numbers
  gojq -r '[paths | map(if type == "number" then "[]" else . end) | join(".")] | unique | .[]' |
    grep -vE '(^|\.)(labels|numbers)\.' | sort -u
}
like() { # like ROUTE FIXED
  api GET "$1" | paths >"$dir/real"
  paths <"$answers/$2" >"$dir/fixed"
  comm -13 "$dir/real" "$dir/fixed" | sed "s/^/not in the daemon: /" >"$dir/invented"
  ok "GET ${1%%\?*} has every field of the fixed reply" test ! -s "$dir/invented"
  sed 's/^/# /' "$dir/invented"
}
now=$(date +%s)
like /v1/host GET_v1_host
like /v1/gpus GET_v1_gpus
like /v1/vgpus GET_v1_vgpus
like /v1/vgpus/web1 GET_v1_vgpus_web1
like "/v1/vgpus/web1/history?from=$((now - 600))&to=$((now + 60))&step=1" GET_v1_vgpus_web1_history
like "/v1/alerts?all=true" GET_v1_alerts
like /v1/decisions GET_v1_decisions
like "/v1/offers?all=true" GET_v1_offers
like /v1/economics GET_v1_economics
like /v1/policy GET_v1_policy
api PUT /v1/fleet '{"state": "unreachable", "cloud": "c", "problem": "p", "unverified": 0, "leaks": [],
  "migrations": {"requested": 0, "completed": 0, "failed": 0}, "ttl_s": 60}' >/dev/null
# one migration has ended, and one is in progress
for state in requested failed requested; do
  api POST /v1/vgpus/web1/migration "{\"state\": \"$state\"}" >/dev/null
done
like /v1/fleet GET_v1_fleet
finish
