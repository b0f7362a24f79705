#!/bin/sh
# support: sos collects the state of a real daemon with gover's plug-in. The archive contains no secret.
# shellcheck disable=SC2016,SC2317 # a script's own variables; functions that "ok" calls
. "$(dirname "$0")/../lib.sh"

export LC_ALL=C.UTF-8
mkdir "$dir/empty"
PATH=$dir/empty "$B/gover-ctl" support >"$dir/out" 2>&1
is "without sos, the package is named" "$? $(cat "$dir/out")" \
  "1 gover-ctl: support: sos is not installed (install the package sosreport, then run as root: sos report -o gover)"
printf '#!/bin/sh\necho "$GOVER_SOCKET $*"\n' >"$dir/empty/sos"
chmod +x "$dir/empty/sos"
is "sos gets the plug-in, the options and the socket" "$(PATH=$dir/empty:$PATH ctl support -- --clean --name x)" \
  "$sock report --batch -o gover --clean --name x"

sos=/usr/lib/python3/dist-packages/sos
if [ ! -d "$sos" ] || [ "$(id -u)" -ne 0 ]; then
  ok "the archive # SKIP no sos (package sosreport), or not root" true
  finish
fi

# sos with the plug-in of this tree, which calls the programs of this tree.
mkdir "$dir/py" "$dir/bin" "$dir/archive" "$dir/in"
cp -r "$sos" "$dir/py/sos"
cp "$top/dist/sos/gover.py" "$dir/py/sos/report/plugins/"
# sos sets PATH itself.
find "$dir/py/sos/policies" -name '*.py' -exec sed -i "s|^    PATH = \"|&$dir/bin:|" {} +
printf '#!/bin/sh\nexec "%s" "$@"\n' "$B/gover-d" >"$dir/bin/gover-d"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$B/gover-ctl" >"$dir/bin/gover-ctl"
chmod +x "$dir/bin/"*

tcp
printf '#!/bin/sh\ncat >/dev/null\n' >"$dir/page-acme"
chmod +x "$dir/page-acme"
daemon_extra="$daemon_extra
on_alert = $dir/page-acme
[alerts]
webhook = https://ops:hunter2@hooks.acme.example/T0AAA?key=s3cr3t"
start_sim
token grafana-acme read
secret=$(cat "$dir/grafana-acme.token")
is "there is a token" "$(echo "$secret" | cut -c 1-4)" gvr_
sell web1 50 '' "\"vm\": \"vm-7\", \"labels\": {\"a\": \"$secret\", \"b\": \"password=correct-horse\"}, \"gpu\": \"gpu0\""
is "an answer contains the secrets" "$(ctl vgpu list --json | grep -cF -e "$secret" -e password=correct-horse)" 1
(
  export PYTHONPATH="$dir/py" GOVER_SOCKET="$sock"
  cd "$dir/py" && "$B/gover-ctl" support -- --tmp-dir "$dir/archive" --name test >"$dir/out" 2>&1
)
is "sos writes an archive" "$?" 0
tar xf "$dir"/archive/sosreport-*.tar.?z -C "$dir/in"
answers=$(echo "$dir"/in/*/sos_commands/gover)
# Without this, the search for secrets below would find none in an empty folder.
[ -d "$answers" ] || { sed 's/^/# /' "$dir/out" && ok "the archive has the folder of the plug-in" false && exit 1; }
is "the vGPU is in the answer of each verb" "$(gojq -r '.vgpus[].id' "$answers/gover-ctl_--json_vgpu_list")" web1
for part in --version --json_config_check --json_doctor --json_status --json_alerts_--all --json_decisions_--limit_1000 --json_offers_--all \
  --json_policy_show; do
  ok "the archive contains the output of gover-ctl $part" test -s "$answers/gover-ctl_$part"
done
ok "the archive contains the configuration" grep -q '^backend = sim' "$answers/"gover-d_*_--print-config
ok "the archive contains the metrics" grep -q '^gover_' "$answers/gover_metrics"
ok "the archive contains the journal, or why it cannot be read" sh -c "find '$answers' -name 'journalctl*' | grep -q ."
for text in "$secret" hunter2 T0AAA s3cr3t correct-horse; do
  ok "no file of the archive contains $(echo "$text" | cut -c 1-6)" sh -c "! grep -rqF -- '$text' '$dir/in'"
done
finish
