#!/bin/sh
# Tests an upgrade from the first package under load on a booted Debian 12, the way back, and the upgrade after it: contracts, holds,
# history and tokens are kept, no cap changes, and no request is lost. The GPU is simulated on the host and keeps its caps.
. "$(dirname "$0")/../scenario/lib.sh"
GOVER_HOST=fuse speed=1
. "$(dirname "$0")/../scenario/host.sh"
. "$(dirname "$0")/lib.sh"

# No release has a tag, so this is the oldest commit whose packages can be built.
first=7a65d392

can_boot
for tool in dpkg-buildpackage dh lintian git sqlite3; do
  command -v "$tool" >/dev/null || skip_all "no $tool"
done
bare_debian

# The packages of the first commit are built once, without optimisation, in a folder whose dependency files make does not read.
build_first() {
  [ ! -e "$B/bare/first/complete" ] || return 0
  rm -rf "$B/bare/first" && mkdir -p "$B/bare/first/gover" || return
  git -C "$top" archive "$first" | tar -x -C "$B/bare/first/gover" && mv "$B/bare/first/gover/dist/debian" "$B/bare/first/gover/debian" || return
  (cd "$B/bare/first/gover" && unset B && DEB_BUILD_OPTIONS="nocheck noopt parallel=$(nproc)" dpkg-buildpackage -b -us -uc) >"$B/bare/first/log" 2>&1 ||
    { tail -n 20 "$B/bare/first/log" && return 1; }
  rm -rf "$B/bare/first/gover" && : >"$B/bare/first/complete"
}
git -C "$top" cat-file -e "$first^{commit}" 2>/dev/null || skip_all "the history of git does not reach to $first"
ok "the first packages build" build_first
ok "the packages build" "$top/dist/make-deb"
[ "$failures" -eq 0 ] || finish

overlay_on "$bare"
rm -f "$root/complete"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
mkdir -p "$B/bare/archives/partial" "$root/srv/gpu0" "$root/etc/gover/gover.conf.d" "$root/etc/systemd/system/gover-.service.d"
cp "$B"/bare/first/gover_*.deb "$root/srv/first.deb"
cp "$B"/deb/out/gover_*.deb "$root/srv/next.deb"
fuse_mount "$dir/gpu0" --allow-other --speed 1
gvt_gpu gpu0
printf '[daemon]\nperiod_ms = 200\n[gpu gpu0]\nbackend = gvt\nroot = /srv/gpu0\n' >"$root/etc/gover/gover.conf"
printf '[Service]\nReadWritePaths=/srv\n' >"$root/etc/systemd/system/gover-.service.d/tree.conf"
machine_on "--bind=$B/bare/archives:/var/cache/apt/archives" "--bind=$dir/gpu0:/srv/gpu0" -- || exit 1
sock=/proc/$leader/root/run/gover/gover.sock
state=$root/var/lib/gover

inside apt-get -q update >"$dir/update.log" 2>&1 || echo "# apt-get update: $(tail -n 1 "$dir/update.log")"
apt() { inside apt-get -q -y -o APT::Keep-Downloaded-Packages=true "$@" >>"$dir/apt.log" 2>&1; }
if ! apt install --no-install-recommends /srv/first.deb; then
  grep -qE 'Unable to fetch|Failed to fetch' "$dir/apt.log" && skip_all "apt cannot fetch what gover depends on"
  tail -n 20 "$dir/apt.log" | sed 's/^/# /'
  ok "the first package is installed" false
  finish
fi
ready() { curl -sSf -o /dev/null --unix-socket "$sock" http://gover/readyz; }
ok "the first package is installed, and its daemon is ready" until_ok 20 ready

# --- contracts, a hold and load ---

ok "three vGPUs have contracts" eval 'host_vgpu a 50 && host_vgpu b 30 && host_vgpu c 20'
api PATCH "/v1/vgpus/$uuid_b" '{"target_fps": 30, "labels": {"customer": "b"}}' >/dev/null
host_load a 40
host_load b 20
host_load c 15
ok "an operator holds a cap" inside gover-ctl vgpu hold "$uuid_a" --cap 45
ok "the held cap is written" until_ok 20 cap_is a 45
periods 20

# Prints what must survive: contracts and holds.
contracts() {
  get /v1/vgpus '.vgpus | sort_by(.id)[] | [.id, .gpu, .initial_cap_pct, .target_fps, .labels] | tostring'
  gojq -c '.vgpus[] | [.id, .held, .held_cap_pct]' "$state/contracts.json" | sort
}
in_history() { sqlite3 -readonly "$state/history.db" "$1"; }
decisions() { in_history "SELECT id, ts_ms, gpu, kind, vgpu FROM decision WHERE id <= $last ORDER BY id"; }
caps() { echo "$(host_cap a) $(host_cap b) $(host_cap c)"; }

watch() { # watch COMMAND...: runs it, and writes each state of the caps to $dir/caps and the answers to requests to $dir/answers
  rm -f "$dir/enough"
  while [ ! -e "$dir/enough" ]; do
    caps
    sleep 0.02
  done >"$dir/caps.log" &
  caps_pid=$!
  while [ ! -e "$dir/enough" ]; do
    curl -sS -m 20 -o /dev/null -w '%{http_code}\n' --unix-socket "$sock" http://gover/v1/vgpus 2>&1
    sleep 0.05
  done >"$dir/answers.log" &
  answers_pid=$!
  "$@"
  watched=$?
  : >"$dir/enough"
  wait "$caps_pid" "$answers_pid"
  sort -u "$dir/caps.log" >"$dir/caps"
  sort -u "$dir/answers.log" >"$dir/answers"
  return "$watched"
}
counts() { echo "# $(wc -l <"$dir/caps.log") readings of the caps, $(wc -l <"$dir/answers.log") requests"; }
install_and_run() { # install_and_run FILE OPTION...
  before=$(main_pid)
  apt install --no-install-recommends "$@" && until_ok 20 another && until_ok 20 ready && periods 10
}
install_again() { # after a failed start
  apt install --no-install-recommends /srv/next.deb && inside systemctl start gover.socket gover-d && until_ok 20 ready && periods 10
}
another() { pid=$(main_pid) && [ "$pid" != "$before" ]; }
decided() { last=$(in_history 'SELECT max(id) FROM decision') && [ "$last" -gt 0 ]; }
ok "the history has decisions" until_ok 60 decided
decisions >"$dir/decisions"
sampled_ms=$(in_history 'SELECT min(ts_ms) FROM sample')
contracts >"$dir/contracts"
ok "there are three contracts" test "$(wc -l <"$dir/contracts")" -eq 6
ok "one of them has a hold" grep -q ",true,45]" "$dir/contracts"
wanted_caps=$(caps)

# --- the upgrade ---

invocation=$(show gover-restore InvocationID)
ok "the upgrade succeeds" watch install_and_run /srv/next.deb
counts
is "no cap changed" "$(cat "$dir/caps")" "$wanted_caps"
is "each request was answered" "$(cat "$dir/answers")" 200
is "no contract was restored" "$(show gover-restore InvocationID) $(show gover-restore ActiveState)" "$invocation active"
contracts >"$dir/upgraded"
ok "contracts and holds are kept" diff "$dir/contracts" "$dir/upgraded"
decisions >"$dir/upgraded"
ok "decisions are kept" diff "$dir/decisions" "$dir/upgraded"
is "samples are kept" "$(in_history 'SELECT min(ts_ms) FROM sample')" "$sampled_ms"

# --- a token ---

port=$(free_port)
printf '[daemon]\nlisten = 127.0.0.1:%s\n' "$port" >"$root/etc/gover/gover.conf.d/listen.conf"
ok "a token is created" inside gover-ctl token add robot --scope read --out /root/robot.token
sed 's/^/Authorization: Bearer /' "$root/root/robot.token" >"$dir/header"
accepted() { curl -sSf -H "@$dir/header" -o /dev/null "http://127.0.0.1:$port/v1/vgpus"; }
inside systemctl restart gover-d
ok "the token is accepted" until_ok 30 accepted

# --- the way back: the first daemon does not read the newer contracts ---

ok "the first package is installed again" watch apt install --allow-downgrades --no-install-recommends /srv/first.deb
counts
failed() { [ "$(show gover-d ActiveState)" = failed ]; }
ok "its daemon does not start" until_ok 60 failed
refused() { inside journalctl --no-pager -o cat -u gover-d | grep -E '^/var/lib/gover/contracts.json: version [0-9]+, this gover-d reads 1 to [0-9]+'; }
ok "the log names the file and its version" refused
sed 's/^/# /' "$dir/ok.out" | head -n 1
is "no cap changed" "$(cat "$dir/caps") / $(caps)" "$wanted_caps / $wanted_caps"

# --- the upgrade after it ---

inside systemctl reset-failed # otherwise systemd counts the failed starts
ok "the upgrade succeeds again" watch install_again
counts
is "no cap changed during it" "$(cat "$dir/caps")" "$wanted_caps"
contracts >"$dir/upgraded"
ok "contracts and holds are kept again" diff "$dir/contracts" "$dir/upgraded"
decisions >"$dir/upgraded"
ok "decisions are kept again" diff "$dir/decisions" "$dir/upgraded"
is "samples are kept again" "$(in_history 'SELECT min(ts_ms) FROM sample')" "$sampled_ms"
ok "the token is accepted again" until_ok 20 accepted
finish
