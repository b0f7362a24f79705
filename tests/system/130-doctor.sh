#!/bin/sh
# Tests gover-ctl doctor and config check on a booted systemd with the units as installed: a unit that is not started,
# that has failed, and whose sandbox hides the control groups; a user in no group. Each cure that doctor prints is run, and
# the finding disappears.
# shellcheck disable=SC2016,SC2317 # of inner shells; functions that "ok" calls
. "$(dirname "$0")/../scenario/lib.sh"
. "$(dirname "$0")/lib.sh"

cleanup=end_groups
can_boot
install_gover
mkdir -p "$root/etc/gover"
machine_on --private-network -- systemd.unit=check.target || exit 1
# shellcheck disable=SC2034 # of lib.sh
sock=/proc/$leader/root/run/gover/gover.sock

finding() { # finding CHECK: prints "STATE|TEXT" of the last doctor, and its advice to $dir/advice
  gojq -r --arg check "$1" '.checks[] | select(.check == $check) | .advice' "$dir/doctor" >"$dir/advice"
  gojq -r --arg check "$1" '.checks[] | select(.check == $check) | "\(.state)|\(.text)"' "$dir/doctor"
}
doctor() { inside "$@" gover-ctl --json doctor >"$dir/doctor" 2>"$dir/doctor.err"; }
begins() { # begins TEXT GOT WANTED: GOT begins with WANTED
  case $2 in "$3"*) ok "$1" true ;; *) is "$1" "$2" "$3..." ;; esac
}
advice() { sed 's/sudo //g; s/^[a-z -]*: \(install\)/\1/' "$dir/advice"; }
ready() { until_ok 20 that /v1/host .ready; }

# --- the unit ---

doctor
is "a unit that is not started" "$(finding daemon)" "fail|gover-d.service is not started"
is "its cure" "$(cat "$dir/advice")" "sudo systemctl enable --now gover-d"
inside systemctl mask -q gover-d
doctor
is "a masked unit" "$(finding daemon)" "fail|gover-d.service is masked"
inside sh -c "$(advice)" >/dev/null 2>&1
ok "the cure unmasks and starts it" ready
doctor
begins "then the daemon is found" "$(finding daemon)" "ok|gover-d 0."

printf '[daemon]\nperiod_ms = fast\n' >"$root/etc/gover/gover.conf"
inside systemctl restart gover-d 2>/dev/null
failed() { [ "$(show gover-d ActiveState)" = failed ]; }
ok "a unit with a wrong configuration fails" until_ok 20 failed
doctor
is "a unit that has failed" "$(finding daemon)" "fail|gover-d.service has failed: gover-d exits with an error"
begins "its cure begins with the configuration" "$(cat "$dir/advice")" "sudo gover-ctl config check; journalctl -u gover-d -n 20; "
inside gover-ctl config check >"$dir/checked" 2>&1
ok "config check finds the fault" grep -q '^gover-ctl: /etc/gover/gover.conf:2: .*period_ms' "$dir/checked"
is "config check names the unit" "$(head -n 1 "$dir/checked")" "checking /etc/gover/gover.conf, the configuration of gover-d.service"

# --- another configuration file, in /etc/default/gover-d ---

mkdir -p "$root/etc/gover/other.conf.d" "$root/etc/default"
printf '[daemon]\nperiod_ms = 200\n[gpu gpu0]\nbackend = sim\n' >"$root/etc/gover/other.conf"
printf '[policy]\noverload_pct = 90\n' >"$root/etc/gover/other.conf.d/10-policy.conf"
echo 'GOVER_D_OPTIONS="--config /etc/gover/other.conf"' >"$root/etc/default/gover-d"
checked() { # prints the lines of config check
  inside gover-ctl config check 2>&1 | tr '\n' '|'
}
files="/etc/gover/other.conf: valid|/etc/gover/other.conf.d/10-policy.conf: valid|"
is "config check reads the file of the unit" "$(checked)" "checking /etc/gover/other.conf, the configuration of gover-d.service|$files"
inside systemctl reset-failed gover-d
inside systemctl restart gover-d
ok "the daemon starts with it" ready
is "the running daemon uses it" "$(checked)" \
  "checking /etc/gover/other.conf, the configuration of gover-d.service|${files}gover-d has read the last change of these files|"
echo '# changed' >>"$root/etc/gover/other.conf.d/10-policy.conf"
is "a change needs a reload" "$(checked)" "checking /etc/gover/other.conf, the configuration of gover-d.service|${files}gover-d has \
not read the last change of /etc/gover/other.conf.d/10-policy.conf: reload it: sudo systemctl reload gover-d|"
ok "the reload ends" inside systemctl reload gover-d
is "a reload reads it" "$(checked)" \
  "checking /etc/gover/other.conf, the configuration of gover-d.service|${files}gover-d has read the last change of these files|"
rm "$root/etc/default/gover-d"
rm -f "$root/etc/gover/gover.conf"
begins "a unit with another file needs a restart" "$(checked)" "checking /etc/gover/gover.conf, the configuration of \
gover-d.service|/etc/gover/gover.conf: no such file, and no drop-ins: gover-d starts with its defaults|the running gover-d reads \
/etc/gover/other.conf, not the file of the unit: restart it: sudo systemctl restart gover-d|"

# --- a user in no group ---

inside useradd -m alice
as_alice() { doctor setpriv --reuid=alice --regid=alice --init-groups; }
named() { as_alice; finding access | grep -q 'user alice'; }
as_alice
ok "the daemon learns the name of the new user" until_ok 20 named
is "the daemon runs" "$(finding daemon)" "ok|gover-d is running at /run/gover/gover.sock"
begins "the user and the groups are named" "$(finding access)" \
  "fail|user alice (uid $(inside id -u alice)) may not read anything: GET /v1/host requires membership in group gover-read or gover"
cure=$(sed -n 's/^run `\(.*\)`, then log in again$/\1/p' "$dir/advice")
is "its cure" "$cure" "sudo usermod -aG gover-read alice"
inside sh -c "$(echo "$cure" | sed 's/sudo //g')"
as_alice
begins "after it alice may read" "$(finding access)" "ok|user alice (uid $(inside id -u alice)) may read (group gover-read)"
cure=$(sed -n 's/^to change something: \(.*\), then log in again$/\1/p' "$dir/advice")
inside sh -c "$(echo "$cure" | sed 's/sudo //g')"
as_alice
begins "after the next alice may change" "$(finding access)" "ok|user alice (uid $(inside id -u alice)) may read and change (group gover)"

# --- control groups ---

if ! own_groups 2>"$dir/groups.err"; then
  n=$((n + 1))
  echo "ok $n - control groups # SKIP the machine has no control groups: $(tail -n 1 "$dir/groups.err")"
  finish
fi
printf '[daemon]\nperiod_ms = 200\n[gpu gpu0]\nbackend = softgpu\n' >"$root/etc/gover/gover.conf"
inside systemctl restart gover-d 2>/dev/null
ok "the unit as installed cannot run backend softgpu" until_ok 20 that /v1/gpus '.gpus[0].problem != null'
as_alice
begins "every user sees that control groups are read-only under the unit" "$(finding cgroups)" "fail|control groups are read-only for gover-d ("
doctor
begins "control groups are read-only under the unit" "$(finding cgroups)" "fail|control groups are read-only for gover-d ("
ok "the cure is the drop-in" grep -q 'install -D -m 644 -t /etc/systemd/system/gover-.service.d /usr/share/gover/examples/softgpu.conf && ' "$dir/advice"
inside systemctl stop gover.socket gover-d 2>/dev/null
inside systemctl reset-failed gover-d
inside sh -c "$(advice)"
ok "after it the daemon starts" ready
doctor
begins "and control groups can be created" "$(finding cgroups)" "ok|control groups for vGPUs can be created in "
as_alice
begins "a member of the group sees this too" "$(finding cgroups)" "ok|control groups for vGPUs can be created in "
finish
