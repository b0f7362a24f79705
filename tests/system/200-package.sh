#!/bin/sh
# Tests the packages on a booted minimal Debian 12: installation, first steps with a simulated GPU, an upgrade, and a
# purge that leaves no file.
. "$(dirname "$0")/../scenario/lib.sh"
. "$(dirname "$0")/lib.sh"

can_boot
for tool in dpkg-buildpackage dh lintian; do
  command -v "$tool" >/dev/null || skip_all "no $tool"
done
bare_debian
ok "the packages build without lintian errors" "$top/dist/make-deb"
[ "$failures" -eq 0 ] || finish
is "the package version is the program version" \
  "$(dpkg-deb -f "$B"/deb/out/gover_*.deb Version | sed 's/-[^-]*$//')" "$("$B/gover-d" --version | cut -d ' ' -f 2)"

overlay_on "$bare"
rm -f "$root/complete"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
mkdir -p "$B/bare/archives/partial" "$root/srv/gover"
for package in gover libgover-fps gover-fleet; do
  cp "$B"/deb/out/"${package}"_*.deb "$root/srv/gover/$package.deb"
done
machine_on "--bind=$B/bare/archives:/var/cache/apt/archives" -- || exit 1
sock=/proc/$leader/root/run/gover/gover.sock

inside apt-get -q update >"$dir/update.log" 2>&1 || echo "# apt-get update: $(tail -n 1 "$dir/update.log")"

# Lists all files and the checksums of /etc. Omits databases of apt and dpkg, logs, caches and backups.
list_files() {
  find "$root" -xdev \( -path "$root/var/log" -o -path "$root/var/cache" -o -path "$root/var/lib/apt" \
    -o -path "$root/var/lib/dpkg" -o -path "$root/tmp" -o -path "$root/run" -o -path "$root/var/tmp" \) -prune \
    -o ! -name '*-' ! -name ld.so.cache -print | sort
  find "$root/etc" -xdev -type f ! -name '*-' ! -name ld.so.cache -exec sha256sum {} + | sort -k 2
}
list_files >"$dir/before"
: >"$dir/apt.log"
apt() { inside apt-get -q -y -o APT::Keep-Downloaded-Packages=true "$@" >>"$dir/apt.log" 2>&1; }
quiet_scripts() { ! grep -iE 'warning|error|fail' "$dir/apt.log" | grep gover; }

# --- installed ---

if ! apt install --no-install-recommends /srv/gover/gover.deb; then
  grep -qE 'Unable to fetch|Failed to fetch' "$dir/apt.log" && skip_all "apt cannot fetch what gover depends on"
  ok "apt install ./gover.deb" tail -n 20 "$dir/apt.log"
  ok "apt succeeds" false
  finish
fi
ok "apt install ./gover.deb" true
ok "the package scripts print no errors" quiet_scripts
ok "the daemon runs" until_ok 20 is_active gover-d gover.socket
ok "the daemon is enabled for the next boot" inside systemctl is-enabled -q gover-d gover.socket
ok "systemd has no failed unit" until_ok 20 sh -c "[ \"\$(nsenter -t $leader -m -p -- systemctl is-system-running)\" = running ]"
ctl() { inside gover-ctl "$@"; }
ok "the daemon is ready" until_ok 20 curl -sSf -o /dev/null --unix-socket "$sock" http://gover/readyz
ctl status >"$dir/status.out" 2>&1
is "gover-ctl status succeeds" "$?" 0
ok "status reports that there is no vGPU scheduler" grep -q 'no vGPU scheduler' "$dir/status.out"
ok "status names gover-ctl doctor" grep -q 'gover-ctl doctor' "$dir/status.out"
ctl doctor >"$dir/doctor.out" 2>&1
ok "doctor names the kernel option" grep -q 'i915.enable_gvt=1' "$dir/doctor.out"
ok "completion is installed for bash and zsh" \
  test -s "$root/usr/share/bash-completion/completions/gover-ctl" -a -s "$root/usr/share/zsh/vendor-completions/_gover-ctl"
ok "the runbook of each alert is installed and not compressed" diff -r "$top/docs/runbook" "$root/usr/share/doc/gover/runbook"
ok "apt install ./libgover-fps.deb" apt install --no-install-recommends /srv/gover/libgover-fps.deb
ok "libgover-fps contains the header gover-slice.h" test -s "$root/usr/include/gover-slice.h"
ctl doctor >"$dir/doctor.out" 2>&1
ok "doctor finds libgover-fps" grep -q 'frames are counted by /usr/' "$dir/doctor.out"

# --- gover-fleet ---

ok "apt install ./gover-fleet.deb" apt install --no-install-recommends /srv/gover/gover-fleet.deb
is "gover-fleet waits for its configuration" \
  "$(inside systemctl is-enabled gover-fleet) $(inside systemctl is-active gover-fleet)" "disabled inactive"
ok "its example is valid" inside gover-fleet --config /usr/share/doc/gover-fleet/fleet.conf.example --check-config
ok "it starts" inside systemctl start gover-fleet
is "it runs as its own user" "$(inside stat -c %U "/proc/$(show gover-fleet MainPID)")" gover-fleet
ok "gover-d gets its report" until_ok 30 that /v1/fleet '.state == "withdrawn" and .cloud == "none"'
ok "each reference in files of the packages leads to an installed file" "$top/tests/check-links" "$root"
ok "its manuals are installed" sh -c "ls '$root'/usr/share/man/man8/gover-fleet.8* '$root'/usr/share/man/man5/fleet.conf.5*"
ok "the package scripts print no errors" quiet_scripts

# --- the tests that a distribution runs (debian/tests) ---

cp -r "$top/debian/tests" "$root/srv/gover/tests"
is "debian/tests/control lists two tests" "$(sed -n 's/^Tests: //p' "$top/debian/tests/control" | paste -sd ' ')" "first-steps simulate"
for test in first-steps simulate; do
  ok "debian/tests/$test" inside "/srv/gover/tests/$test"
done
rm -r "$root/srv/gover/tests"
ok "its drop-in and its contracts are removed" inside sh -c \
  'rm -r /etc/systemd/system/gover-.service.d && systemctl daemon-reload && systemctl restart gover-d && rm -r /var/lib/gover/sim'

# --- the first steps of README.md: a contract, an alert and its end ---

sed -n '/^## First steps/,/^Overselling/s/^    //p' "$top/README.md" >"$dir/steps"
step() { # step WORDS: runs the next command of README.md, which begins with WORDS
  command=$(head -n 1 "$dir/steps")
  sed -i 1d "$dir/steps"
  case $command in
  "$1"*) ok "README.md: $command" inside sh -c "$command" ;;
  *) ok "README.md: the next command begins with $1, not $command" false ;;
  esac
}
step 'install '
step 'systemctl daemon-reload'
step 'gover-ctl vgpu add web1'
ok "the first contract is kept" until_ok 30 that /v1/vgpus/web1 '.fps >= 60'
step 'gover-ctl vgpu list'
is "there is no alert" "$(get /v1/alerts '.alerts | length')" 0
step 'gover-ctl vgpu set web1 --label'
ok "the first alert is raised" until_ok 90 alerts 1 promise_broken web1
step 'gover-ctl alerts'
step 'gover-ctl why web1'
step 'cat '
step 'gover-ctl vgpu set web1 --cap'
ok "the first alert is cleared" until_ok 180 alerts 0 promise_broken web1
step 'gover-ctl why web1'
ok "the end of the alert is listed" that '/v1/alerts?all=true' '[.alerts[] | select(.name == "promise_broken" and .cleared_at != null)] | length == 1'
is "README.md has no further command in this part" "$(cat "$dir/steps")" ""
ctl vgpu remove web1 >/dev/null

# --- the example sim.conf ---

example=/usr/share/gover/examples
ok "the example is installed as its comment describes" sh -c "$(sed -n 's/^#   \(install .*\)/nsenter -t '"$leader"' -m -p -- \1/p' "$root$example/sim.conf")"
ok "the daemon is restarted" inside sh -c "$(sed -n 's/^#   \(systemctl .*\)/\1/p' "$root$example/sim.conf")"
ok "three tenants are created" inside sh -c "$(sed -n 's/^#   \(.*sim-tenants\)$/\1/p' "$root$example/sim.conf")"
ok "a steal occurs" until_ok 120 that '/v1/decisions?limit=1000' \
  '[.decisions[] | select(.kind == "steal" and .result == "written")] | length > 0'
taker=$(get '/v1/decisions?limit=1000' '[.decisions[] | select(.kind == "steal")][0].vgpu')
ctl why "$taker" >"$dir/why.out" 2>&1
ok "gover-ctl why prints the reason" grep -q '% cap and has been above the threshold of 95 %' "$dir/why.out"

# --- an upgrade ---

invocation=$(show gover-restore InvocationID)
before=$(main_pid)
ok "the package is reinstalled" apt install --reinstall /srv/gover/gover.deb
changed() { pid=$(main_pid) && [ "$pid" != "$before" ]; }
ok "the daemon is restarted by the upgrade" until_ok 20 changed
is "the upgrade restores no caps" "$(show gover-restore InvocationID) $(show gover-restore ActiveState)" "$invocation active"
ok "the contracts exist after the upgrade" until_ok 20 that /v1/vgpus '.vgpus | length == 3'
before=$(show gover-fleet MainPID)
ok "gover-fleet is reinstalled" apt install --reinstall /srv/gover/gover-fleet.deb
fleet_changed() { pid=$(show gover-fleet MainPID) && [ "$pid" != 0 ] && [ "$pid" != "$before" ]; }
ok "a running gover-fleet is restarted by the upgrade" until_ok 20 fleet_changed
ok "the contracts exist after the upgrade of gover-fleet" that /v1/vgpus '.vgpus | length == 3'
inside systemctl stop gover-fleet
ok "gover-fleet is reinstalled again" apt install --reinstall /srv/gover/gover-fleet.deb
is "a stopped gover-fleet stays stopped" "$(inside systemctl is-active gover-fleet)" inactive

# --- purge ---

ok "an administrator enables TCP" inside systemctl enable -q gover-tcp.socket

ok "an administrator writes a drop-in" inside sh -c \
  'mkdir /etc/systemd/system/gover-d.service.d && echo "[Service]" >/etc/systemd/system/gover-d.service.d/override.conf'
ok "all drop-ins and the hook that documents describe are installed" inside sh -c "$(
  grep -hoE 'install -D -m [0-9]+ .*/etc/(systemd|libvirt)/.*' "$root$example"/*.conf | sed 's/$/ \&\&/'
) install -D -m 755 $example/libvirt-hook /etc/libvirt/hooks/qemu.d/gover-fleet"
ok "there are nine of them" test "$(find "$root"/etc/systemd/system/gover-*.d -name '*.conf' ! -name override.conf | wc -l)" -eq 9
ok "gover is removed" apt remove gover
ok "daemon and socket are gone" sh -c "! ls /proc/$leader/root/run/gover/gover.sock && ! pgrep -P $leader -x gover-d"
ok "contracts remain until a purge" test -e "$root/var/lib/gover/contracts.json"
ok "all packages are purged" apt purge gover libgover-fps gover-fleet
ok "the purge names the drop-in of the administrator" grep -q '^gover: /etc/systemd/system/gover-d.service.d/override.conf: not removed' "$dir/apt.log"
is "the purge removes all other drop-ins" "$(cd "$root/etc/systemd/system" && find . -path '*gover*' -type f)" ./gover-d.service.d/override.conf
rm -r "$root/etc/systemd/system/gover-d.service.d"
rmdir -p "$root/etc/libvirt/hooks" 2>/dev/null # the package libvirt-daemon-system owns it
# On Debian 13, systemd recommends a library that a dependency installs.
ok "dependencies are removed" apt autoremove --purge -o APT::AutoRemove::RecommendsImportant=false -o APT::AutoRemove::SuggestsImportant=false
list_files >"$dir/after"
ok "no file remains, and /etc is unchanged" diff "$dir/before" "$dir/after"
ok "no folder in /run remains" sh -c "! ls -d /proc/$leader/root/run/gover*"
ok "no file name with gover remains" sh -c "! find '$root' -xdev -path '$root/var/cache' -prune -o -path '$root/var/log' -prune -o -path '$root/srv' -prune -o -iname '*gover*' -print | grep ."
ok "no failed unit remains" sh -c "[ -z \"\$(nsenter -t $leader -m -p -- systemctl list-units --failed -q)\" ]"
ok "the package scripts print no errors" quiet_scripts
finish
