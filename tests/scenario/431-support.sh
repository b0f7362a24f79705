#!/bin/sh
# support: one archive for a bug report. What is in it, that nothing of a host's names and secrets is, that the
# same name has the same pseudonym in every file, and that it is made without a daemon too.
# shellcheck disable=SC2317 # functions that "ok" calls
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

export LC_ALL=C.UTF-8
in=$dir/in/gover-support
open_archive() { # open_archive FILE
  rm -rf "$dir/in"
  mkdir "$dir/in"
  tar xzf "$1" -C "$dir/in"
}
listed() { find "$in" -type f -printf '%f\n' | sort | tr '\n' ' '; }
holds() { grep -rqF -- "$1" "$in"; }
holds_not() { ! grep -rF -- "$1" "$in"; }

# The fixed answers, and what must not be told in every place where a text may hold it.
cp -r "$top/tests/golden/daemon" "$dir/answers"
secrets='rechenknecht-9 https://ops:hunter2@hooks.example.org/services/T0AAA/B0BBB?key=s3cr3t gvr_Zm9vYmFyYmF6cXV4 Bearer eyJhbGciOi password=correct-horse'
for answer in GET_v1_decisions GET_v1_alerts GET_v1_offers; do
  jq -c --arg s "$secrets" '(.. | objects | select(has("why")).why) += " " + $s | (.. | objects | select(has("reason")).reason) += " " + $s |
    (.. | objects | select(has("text")).text) += " " + $s' <"$dir/answers/$answer" >"$dir/new" && mv "$dir/new" "$dir/answers/$answer"
done
jq -c '.webhook_token = "tok-4711" | .params.webhook_url = "https://hooks.example.org/services/T0AAA"' \
  <"$dir/answers/GET_v1_policy" >"$dir/new" && mv "$dir/new" "$dir/answers/GET_v1_policy"
printf 'gover_note{url="https://ops:hunter2@hooks.example.org/x",vm="spielhalle"} 1\n' >>"$dir/answers/GET_metrics"
"$B/tests/fake-daemon" "$sock" "$dir/answers" "$dir/asked" &
fake=$!
cleanup="kill $fake 2>/dev/null"
until_ok 20 test -S "$sock"

ctl support "$dir/a.tar.gz" >"$dir/said" 2>&1
is "an archive is made" "$?" 0
ok "and named" grep -q "a.tar.gz is written. Names of VMs, vGPUs and labels are pseudonyms" "$dir/said"
is "readable by its owner alone" "$(stat -c %a "$dir/a.tar.gz")" 600
open_archive "$dir/a.tar.gz"
expected="CONTENTS.txt alerts.json config.txt decisions.json doctor.json gpus.json host.txt metrics.txt offers.json policy.json status.json version.txt vgpus.json "
is "all is in it" "$(listed | sed 's/journal.txt //')" "$expected"
ok "and listed" sh -c "for f in $expected; do [ \$f = CONTENTS.txt ] || grep -q \"^  \$f \" '$in/CONTENTS.txt' || exit 1; done"
ok "what is not is listed too" grep -q '^  history, ' "$in/CONTENTS.txt"
ok "answers are JSON" sh -c "for f in '$in'/*.json; do jq -e . \"\$f\" >/dev/null || exit 1; done"

# Of the answers themselves: every VM, vGPU, label and value in them.
jq -r '.. | objects | .vm?, .vgpu?, .donor?, (select(has("initial_cap_pct")).id | strings), (.labels? // {} | keys[], .[])' "$dir"/answers/GET_v1_* 2>/dev/null |
  grep -vE '^(null|[0-9]+|.{0,2})$' | sort -u >"$dir/names"
is "there are names to look for" "$(grep -cxE 'kunde-müller-7|spielhalle|acme-gmbh|orchid|tenant|web1|web2' "$dir/names")" 7
while read -r name; do
  ok "no $name is in it" sh -c "! grep -rwF -- '$name' '$in'"
done <"$dir/names"
for secret in hunter2 ops: T0AAA B0BBB s3cr3t Zm9vYmFyYmF6cXV4 eyJhbGciOi correct-horse tok-4711; do
  ok "no $secret is in it" holds_not "$secret"
done
id=$(jq -r '.vgpus[] | select(.load_pct == 33.4).vm' "$in/status.json")
is "a VM has a pseudonym" "$(echo "$id" | sed 's/[0-9]*$/N/')" vm-N
is "the same in an alert" "$(jq -r '.alerts[] | select(.name == "severe_overload").vm' "$in/alerts.json")" "$id"
ok "in a sentence" grep -q "(VM $id)" "$in/decisions.json"
ok "and in metrics" grep -q "vm=\"$id\"" "$in/metrics.txt"
is "numbers are what they were" "$(jq -c '[.vgpus[].cap_pct]' "$in/status.json")" "[34,22,25,16]"

ctl support "$dir/a.tar.gz" >"$dir/said" 2>&1
is "no file is overwritten" "$? $(grep -c 'File exists' "$dir/said")" "1 1"
ctl support --no-redact "$dir/plain.tar.gz" >/dev/null
open_archive "$dir/plain.tar.gz"
ok "names may stay" holds kunde-müller-7
ok "secrets never do" holds_not hunter2
is "as JSON" "$(ctl support --json "$dir/b.tar.gz" | jq -c '[.daemon, .names_redacted, (.files | length > 10)]')" "[true,true,true]"
if unshare -u true 2>/dev/null; then
  unshare -u sh -c "hostname rechenknecht-9; '$B/gover-ctl' --socket '$sock' support '$dir/host.tar.gz'" >/dev/null
  open_archive "$dir/host.tar.gz"
  ok "this host has a pseudonym" holds host-1
  ok "and its name is not in it" holds_not rechenknecht
else
  ok "this host has a pseudonym # SKIP no unshare" true
fi
ctl support - >"$dir/c.tar.gz"
open_archive "$dir/c.tar.gz"
ok "it may go to a pipe" test -s "$in/CONTENTS.txt"
(cd "$dir" && ctl support >/dev/null)
is "without a name it is in the folder one stands in" "$(find "$dir" -name 'gover-support-*Z.tar.gz' | wc -l)" 1
kill "$fake"
wait "$fake" 2>/dev/null
rm -f "$sock"

ctl support "$dir/d.tar.gz" >"$dir/said" 2>&1
is "without a daemon it is made" "$?" 0
ok "and says so" grep -q '^No daemon was reached: no answer from gover-d' "$dir/said"
open_archive "$dir/d.tar.gz"
ok "inside too" grep -q '^No daemon was reached' "$in/CONTENTS.txt"
is "with what there is without" "$(listed | sed 's/journal.txt //')" "CONTENTS.txt config.txt doctor.json host.txt version.txt "
ctl support "$dir/absent/a.tar.gz" >/dev/null 2>&1
is "where it cannot be written it fails" "$?" 1

sim_conf
start || exit 1
sell web1 50 idle '"vm": "db-7"'
ctl support "$dir/e.tar.gz" >/dev/null
open_archive "$dir/e.tar.gz"
ok "of a real daemon the configuration is the one it was started with" grep -qx 'backend = sim' "$in/config.txt"
ok "and its VM is not in it" holds_not db-7
stop
finish
