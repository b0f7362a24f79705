#!/bin/sh
# support: one archive for a bug report. It contains no name, address or secret; a name has the same pseudonym in
# every file; and the archive is created without a daemon too.
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
contains() { grep -rqF -- "$1" "$in"; }
contains_no() { ! grep -rF -- "$1" "$in"; }

# The fixed answers, with names and secrets in every member that may contain text.
cp -r "$top/tests/golden/daemon" "$dir/answers"
secrets='rechenknecht-9 https://ops:hunter2@hooks.example.org/services/T0AAA/B0BBB?key=s3cr3t gvr_Zm9vYmFyYmF6cXV4 Bearer eyJhbGciOi password=correct-horse 198.51.100.23 2001:db8:7::1'
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
is "an archive is created" "$?" 0
ok "the path of the archive is printed" grep -q "a.tar.gz: names and addresses are replaced by pseudonyms" "$dir/said"
is "only its owner can read the archive" "$(stat -c %a "$dir/a.tar.gz")" 600
open_archive "$dir/a.tar.gz"
expected="CONTENTS.txt alerts.json config.json decisions.json doctor.json gpus.json host.txt metrics.txt offers.json policy.json status.json version.txt vgpus.json "
is "the archive contains every part" "$(listed | sed 's/journal.json //')" "$expected"
ok "CONTENTS.txt lists every part" sh -c "for f in $expected; do [ \$f = CONTENTS.txt ] || grep -q \"^  \$f \" '$in/CONTENTS.txt' || exit 1; done"
ok "CONTENTS.txt lists what is left out" grep -q '^  history, ' "$in/CONTENTS.txt"
ok "answers are valid JSON" sh -c "for f in '$in'/*.json; do jq -e . \"\$f\" >/dev/null || exit 1; done"

# List every name of a VM or vGPU, every label and every label value in the answers.
jq -r '.. | objects | .vm?, .vgpu?, .donor?, (select(has("initial_cap_pct")).id | strings), (.labels? // {} | keys[], .[])' "$dir"/answers/GET_v1_* 2>/dev/null |
  grep -vE '^(null|[0-9]+|.{0,2})$' | sort -u >"$dir/names"
is "the answers contain names" "$(grep -cxE 'kunde-müller-7|spielhalle|acme-gmbh|orchid|tenant|web1|web2' "$dir/names")" 7
while read -r name; do
  ok "the archive contains no $name" sh -c "! grep -rwF -- '$name' '$in'"
done <"$dir/names"
for secret in hunter2 ops: T0AAA B0BBB s3cr3t Zm9vYmFyYmF6cXV4 eyJhbGciOi correct-horse tok-4711 198.51.100.23 2001:db8 hooks.example; do
  ok "the archive contains no $secret" contains_no "$secret"
done
id=$(jq -r '.vgpus[] | select(.load_pct == 33.4).vm' "$in/status.json")
is "a VM gets a pseudonym" "$(echo "$id" | sed 's/[0-9]*$/N/')" vm-N
is "the pseudonym is the same in an alert" "$(jq -r '.alerts[] | select(.name == "severe_overload").vm' "$in/alerts.json")" "$id"
ok "the same pseudonym is used in free text" grep -q "(VM $id)" "$in/decisions.json"
ok "the same pseudonym is used in metrics" grep -q "vm=\"$id\"" "$in/metrics.txt"
is "numbers are unchanged" "$(jq -c '[.vgpus[].cap_pct]' "$in/status.json")" "[34,22,25,16]"

ctl support "$dir/a.tar.gz" >"$dir/said" 2>&1
is "an existing file is not overwritten" "$? $(grep -c 'File exists' "$dir/said")" "1 1"
ctl support --no-redact "$dir/plain.tar.gz" >/dev/null
open_archive "$dir/plain.tar.gz"
ok "--no-redact keeps names" contains kunde-müller-7
ok "secrets are removed" contains_no hunter2
is "--json prints the result as JSON" "$(ctl support --json "$dir/b.tar.gz" | jq -c '[.daemon, .names_redacted, (.files | length > 10)]')" "[true,true,true]"
if unshare -u true 2>/dev/null; then
  unshare -u sh -c "hostname rechenknecht-9; '$B/gover-ctl' --socket '$sock' support '$dir/host.tar.gz'" >/dev/null
  open_archive "$dir/host.tar.gz"
  ok "the host name is replaced by a pseudonym" contains host-1
  ok "no file has the host name" contains_no rechenknecht
else
  ok "the host name is replaced by a pseudonym # SKIP no unshare" true
fi
ctl support - >"$dir/c.tar.gz"
open_archive "$dir/c.tar.gz"
ok "the archive can be written to a pipe" test -s "$in/CONTENTS.txt"
(cd "$dir" && ctl support >/dev/null)
is "the default is a file in the current directory" "$(find "$dir" -name 'gover-support-*Z.tar.gz' | wc -l)" 1
kill "$fake"
wait "$fake" 2>/dev/null
rm -f "$sock"

ctl support "$dir/d.tar.gz" >"$dir/said" 2>&1
is "an archive is created without a daemon" "$?" 0
ok "the missing daemon is printed" grep -q '^The daemon was not reached: no answer from gover-d' "$dir/said"
open_archive "$dir/d.tar.gz"
ok "CONTENTS.txt notes the missing daemon" grep -q '^The daemon was not reached' "$in/CONTENTS.txt"
is "the archive contains the parts that need no daemon" "$(listed | sed 's/journal.json //')" "CONTENTS.txt config.json doctor.json host.txt version.txt "
ctl support "$dir/absent/a.tar.gz" >/dev/null 2>&1
is "an unwritable path is an error" "$?" 1

# A real daemon whose setup has names, labels, addresses and tokens in all places.
tcp
printf '#!/bin/sh\ncat >/dev/null\n' >"$dir/page-acme"
chmod +x "$dir/page-acme"
daemon_extra="$daemon_extra
on_alert = $dir/page-acme
[alerts]
webhook = https://ops:hunter2@hooks.acme.example/T0AAA"
conf_extra="[gpu corp-1]
speed = 10
backend = sim
[flavor acme-large]
price_per_cap_hour = 1
[offer]
flavor = acme-small"
sim_conf
start || exit 1
token grafana-acme read
token robot-acme operate
sell desktop-mueller 50 '' '"vm": "vm-mueller-7", "labels": {"workload": "idle", "kostenstelle": "4711-b"}, "gpu": "gpu0"'
sell gone-vgpu 20 idle '"vm": "101", "gpu": "gpu0"'
ask robot-acme PATCH /v1/gpus/gpu0 '{"selling": "off"}' >/dev/null
api DELETE /v1/vgpus/gone-vgpu >/dev/null
ctl silence add --vgpu desktop-mueller --for 1h --reason 'moving Meier GmbH' >/dev/null
ctl support "$dir/e.tar.gz" >/dev/null
open_archive "$dir/e.tar.gz"
cp "$in/CONTENTS.txt" "$dir/contents"
is "the configuration is that of the running daemon" \
  "$(jq -c '[.[] | select(.section == "gpu") | .gpu, .backend]' "$in/config.json")" '["gpu-1","sim","gpu-2","sim"]'
is "the vGPU is there under its pseudonym" "$(jq -r '.vgpus[] | .id, .vm' "$in/vgpus.json" | sed 's/[0-9]*$/N/' | tr '\n' ' ')" "vgpu-N vm-N "
for name in desktop-mueller gone-vgpu vm-mueller-7 kostenstelle 4711-b grafana-acme robot-acme gpu0 corp-1 acme-large acme-small page-acme \
  hooks.acme.example hunter2 T0AAA 127.0.0.1 Meier; do
  ok "the archive contains no $name" contains_no "$name"
done
ok "CONTENTS.txt counts the pseudonyms" grep -q ' vm: 2, vgpu: 2, gpu: 2, ' "$dir/contents"
stop
finish
