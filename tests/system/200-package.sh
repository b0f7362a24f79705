#!/bin/sh
# The packages on a bare Debian 12, booted: what apt installs runs, says what the host is, shows a working loop on a
# simulated GPU, goes through an upgrade, and leaves nothing when it is purged.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/../scenario/lib.sh"
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"

can_boot
for tool in dpkg-buildpackage dh lintian; do
  command -v "$tool" >/dev/null || skip_all "no $tool"
done
bare_debian
ok "the packages build, and lintian has nothing to say" "$top/dist/make-deb"
[ "$failures" -eq 0 ] || finish
is "their version is the programs'" \
  "$(dpkg-deb -f "$B"/deb/out/gover_*.deb Version)" "$("$B/gover-d" --version | cut -d ' ' -f 2)"

overlay_on "$bare"
rm -f "$root/complete"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
mkdir -p "$B/bare/archives/partial" "$root/srv/gover"
for package in gover libgover-fps; do
  cp "$B"/deb/out/"${package}"_*.deb "$root/srv/gover/$package.deb"
done
machine_on "--bind=$B/bare/archives:/var/cache/apt/archives" -- || exit 1
sock=/proc/$leader/root/run/gover/gover.sock

inside apt-get -q update >"$dir/update.log" 2>&1 || echo "# apt-get update: $(tail -n 1 "$dir/update.log")"

# Every file, and what stands in those of /etc; not the books of apt and dpkg, nor logs, caches and backups.
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
  ok "it failed" false
  finish
fi
ok "apt install ./gover.deb" true
ok "its scripts have nothing to complain of" quiet_scripts
ok "the daemon runs" until_ok 20 is_active gover-d gover.socket
ok "and will after the next boot" inside systemctl is-enabled -q gover-d gover.socket
ok "systemd is content with all units" until_ok 20 sh -c "[ \"\$(nsenter -t $leader -m -p -- systemctl is-system-running)\" = running ]"
ctl() { inside gover-ctl "$@"; }
ok "it is ready" until_ok 20 curl -sSf -o /dev/null --unix-socket "$sock" http://gover/readyz
ctl status >"$dir/status.out" 2>&1
is "gover-ctl status" "$?" 0
ok "says that there is no vGPU scheduler" grep -q 'no vGPU scheduler' "$dir/status.out"
ok "and who says what to do" grep -q 'gover-ctl doctor' "$dir/status.out"
ctl doctor >"$dir/doctor.out" 2>&1
ok "who does" grep -q 'i915.enable_gvt=1' "$dir/doctor.out"
ok "completion is where bash and zsh look for it" \
  test -s "$root/usr/share/bash-completion/completions/gover-ctl" -a -s "$root/usr/share/zsh/vendor-completions/_gover-ctl"
ok "libgover-fps installs beside it" apt install --no-install-recommends /srv/gover/libgover-fps.deb
ctl doctor >"$dir/doctor.out" 2>&1
ok "and is found" grep -q 'frames are counted by /usr/' "$dir/doctor.out"

# --- tried out, as the example says ---

example=/usr/share/gover/examples
ok "the example goes where it says" sh -c "$(sed -n 's/^#   \(install .*\)/nsenter -t '"$leader"' -m -p -- \1/p' "$root$example/sim.conf")"
ok "the daemon is started anew" inside sh -c "$(sed -n 's/^#   \(systemctl .*\)/\1/p' "$root$example/sim.conf")"
ok "it has three tenants" inside sh -c "$(sed -n 's/^#   \(.*sim-tenants\)$/\1/p' "$root$example/sim.conf")"
ok "the loop works: unused cap is taken" until_ok 120 that '/v1/decisions?limit=1000' \
  '[.decisions[] | select(.kind == "steal" and .result == "written")] | length > 1'
taker=$(get '/v1/decisions?limit=1000' '[.decisions[] | select(.kind == "steal")][0].vgpu')
ctl why "$taker" >"$dir/why.out" 2>&1
ok "and why is told" grep -q '% cap and has been above the line of 95 %' "$dir/why.out"

# --- an upgrade ---

invocation=$(show gover-restore InvocationID)
before=$(main_pid)
ok "the package is installed over itself" apt install --reinstall /srv/gover/gover.deb
changed() { pid=$(main_pid) && [ "$pid" != "$before" ]; }
ok "the daemon is a new one" until_ok 20 changed
is "and nothing was restored for it" "$(show gover-restore InvocationID) $(show gover-restore ActiveState)" "$invocation active"
ok "the tenants are known" until_ok 20 that /v1/vgpus '.vgpus | length == 3'

# --- purged ---

ok "an administrator has TCP on" inside systemctl enable -q gover-tcp.socket

ok "the example goes" inside sh -c 'rm -r /etc/systemd/system/gover-.service.d && systemctl daemon-reload'
ok "gover is removed" apt remove gover
ok "no daemon, no socket" sh -c "! ls /proc/$leader/root/run/gover/gover.sock && ! pgrep -P $leader -x gover-d"
ok "contracts are kept until a purge" test -e "$root/var/lib/gover/contracts.json"
ok "both are purged" apt purge gover libgover-fps
ok "what came with them goes" apt autoremove --purge
list_files >"$dir/after"
ok "no file is left, and /etc is what it was" diff "$dir/before" "$dir/after"
ok "nor a folder in /run" sh -c "! ls -d /proc/$leader/root/run/gover*"
ok "nor a name of theirs" sh -c "! find '$root' -xdev -path '$root/var/cache' -prune -o -path '$root/var/log' -prune -o -path '$root/srv' -prune -o -iname '*gover*' -print | grep ."
ok "nor a unit that failed" sh -c "[ -z \"\$(nsenter -t $leader -m -p -- systemctl list-units --failed -q)\" ]"
ok "its scripts had nothing to complain of" quiet_scripts
finish
