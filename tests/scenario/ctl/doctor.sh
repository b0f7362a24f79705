#!/bin/sh
# doctor names the cure: for a user in no group, a group that does not exist, control groups that are read-only for
# the daemon, and missing libraries. Each fault is real: groups in /etc/group of a mount namespace, a remounted control
# group, a removed file. A missing X server is no finding.
# shellcheck disable=SC2016,SC2317 # of inner shells; functions that "ok" calls
if [ "${1-}" = inside ]; then # inside DIR GROUP GROUPS COMMAND...: as user 4711, with /etc/passwd and /etc/group of DIR
  mount --bind "$2/passwd" /etc/passwd && mount --bind "$2/group" /etc/group || exit 99
  group=$3 more=$4
  shift 4
  exec setpriv --reuid 4711 --regid "$group" "$more" "$@"
fi
. "$(dirname "$0")/../lib.sh"
unset GOVER_FPS_LIB GOVER_CL_LIB

finding() { # finding CHECK: prints "STATE|TEXT|ADVICE" of a check in $dir/doctor; nothing if it was skipped
  gojq -r --arg check "$1" '.checks[] | select(.check == $check) | "\(.state)|\(.text)|\(.advice)"' "$dir/doctor" |
    sed "s|$dir/||g"
}
doctor() { # doctor [COMMAND...]: runs doctor, with COMMAND before it
  "$@" "${gover_ctl:-$B/gover-ctl}" --socket "$sock" --json doctor >"$dir/doctor"
}

# --- libraries, beside a copy of gover-ctl ---

install="sudo apt install libgover-fps"
mkdir -p "$dir/usr/bin" "$dir/usr/lib/gover/32" "$dir/usr/share/vulkan/implicit_layer.d" "$dir/none"
cp "$B/gover-ctl" "$dir/usr/bin/"
gover_ctl=$dir/usr/bin/gover-ctl
doctor env PATH="$dir/none"
is "without gover-d the backends are not checked" "$(finding backends)" \
  "warn|backends are not checked: gover-d: neither beside gover-ctl nor in PATH (install the package gover)|"
cp "$B/gover-d" "$dir/usr/bin/"
"$B/gover-d" --diagnose --facts '{"pid": "x"}' >"$dir/out" 2>&1
is "wrong facts are refused" "$? $(grep -c 'gover-d: --facts: ' "$dir/out")" "1 1"
is "gover-d alone makes the same findings" "$("$B/gover-d" --diagnose | gojq -c '.checks[] | select(.check == "mdev")')" \
  "$(doctor; gojq -c '.checks[] | select(.check == "mdev")' "$dir/doctor")"
mv "$dir/usr/bin/gover-d" "$dir/gover-d"
printf '#!/bin/sh\n%s\n' "echo '{\"config\": null, \"checks\": [{\"check\": \"new\", \"state\": \"ok\"}, {\"check\": \"cgroups\", \"state\": \"ok\"}]}'" >"$dir/usr/bin/gover-d"
chmod +x "$dir/usr/bin/gover-d"
doctor
is "doctor shows a check of gover-d that it does not know" \
  "$(gojq -r '.checks[].check' "$dir/doctor" | grep -xE 'cgroups|new|vsock' | tr '\n' ' ')" "cgroups new vsock "
mv "$dir/gover-d" "$dir/usr/bin/gover-d"
library() { cp "${B%/[at]san}/$1" "$dir/usr/lib/gover/$1"; }
doctor
ok "without libraries FPS are not measured" sh -c 'echo "$0" | grep -q "^fail|FPS are not measured: libgover-fps.so: found neither .*|$1\$"' \
  "$(finding library)" "$install"
is "missing libraries are one finding" "$(finding library32)$(finding vulkan)" ""
library libgover-fps.so
doctor
is "the library is found" "$(finding library)" "ok|frames are counted by usr/bin/../lib/gover/libgover-fps.so|"
if [ "$(uname -m)" = x86_64 ]; then
  is "the library for 32-bit programs is missing" "$(finding library32)" \
    "warn|frames of 32-bit programs are not counted: usr/bin/../lib/gover/32/libgover-fps.so is missing|$install"
fi
is "the Vulkan layer is missing" "$(finding vulkan)" \
  "warn|frames of Vulkan programs are not counted: usr/bin/../lib/gover/libgover-fps-layer.so is missing|$install"
if [ -e "${B%/[at]san}/libgover-fps-layer.so" ]; then
  library libgover-fps-layer.so
  echo '{}' >"$dir/usr/share/vulkan/implicit_layer.d/gover_fps.json"
  doctor
  is "the Vulkan layer is found" "$(finding vulkan)" \
    "ok|frames of Vulkan programs are counted by usr/bin/../lib/gover/libgover-fps-layer.so|"
fi
doctor env PATH="$dir/none"
is "a missing X server is no finding" "$(finding xvfb)" ""
is "without a daemon the first cure is to start it" "$(finding daemon | cut -d '|' -f 1,3)" \
  "fail|start it (systemctl start gover-d), or set --socket or GOVER_SOCKET"
if [ "$(id -u)" -ne 0 ] || ! unshare -m --propagation private true 2>/dev/null || ! command -v setpriv >/dev/null; then
  echo "ok $((n = n + 1)) - groups and control groups # SKIP needs root, mount namespaces and setpriv (util-linux)"
  finish
fi
# The OpenCL layer is needed by backend lib only, which the configuration of the host has.
[ -d /etc/gover ] || [ -d /run/systemd/system ] || {
  printf '[gpu gpu0]\nbackend = lib\n' >"$dir/lib.conf"
  doctor unshare -m --propagation private sh -c 'mount -t tmpfs t /etc && mkdir /etc/gover && cp "$0" /etc/gover/gover.conf && exec "$@"' "$dir/lib.conf"
  ok "backend lib needs the OpenCL layer" sh -c 'echo "$0" | grep -q "^fail|programs of backend lib run without control: libgover-cl.so: .*|$1\$"' \
    "$(finding layer)" "$install"
}
gover_ctl=''

# --- groups ---

cp /etc/passwd /etc/group "$dir"
echo "gover-alice:x:4711:4711::/:/bin/sh" >>"$dir/passwd"
grep -vE '^gover(-read)?:' /etc/group >"$dir/group"
cp "$dir/group" "$dir/group.none"
printf 'gover:x:54321:\ngover-read:x:54322:\n' | cat "$dir/group.none" - >"$dir/group.both"
sed 's/^gover:.*/&gover-alice/' "$dir/group.both" >"$dir/group.member"
chmod 755 "$dir"
alice() { # alice [GROUPS]: runs doctor as gover-alice
  doctor unshare -m --propagation private "$0" inside "$dir" 4711 "${1---clear-groups}"
}
run_daemon() { # a daemon with the groups in $dir/group
  unshare -m --propagation private sh -c 'mount --bind "$0/passwd" /etc/passwd && mount --bind "$0/group" /etc/group && exec "$@"' \
    "$dir" "$B/gover-d" --config "$conf" >>"$dir/log" 2>&1 &
  daemon_pid=$!
  until_ok 20 curl -sSf --unix-socket "$sock" http://gover/readyz || exit 1
}
who="user gover-alice (uid 4711)"
sim_conf
run_daemon
alice
is "a daemon that refuses this user runs" "$(finding daemon)" "ok|gover-d is running at gover.sock|"
is "the group does not exist" "$(finding access)" "fail|$who may not read anything: GET /v1/host requires membership in group \
gover-read, which did not exist when gover-d started|run \`sudo groupadd --system gover-read && sudo usermod -aG gover-read \
gover-alice && sudo systemctl restart gover-d\`, then log in again"
stop
cat "$dir/group.both" >"$dir/group"
run_daemon
alice
is "the user is in no group" "$(finding access)" "fail|$who may not read anything: GET /v1/host requires membership in group \
gover-read or gover|run \`sudo usermod -aG gover-read gover-alice\`, then log in again"
is "doctor then fails" "$(gojq .ok "$dir/doctor")" false
alice --groups=54322
is "a member of the group for reading" "$(finding access)" \
  "ok|$who may read (group gover-read)|to change something: sudo usermod -aG gover gover-alice, then log in again"
alice --groups=54321
is "a member of the group for changing" "$(finding access)" "ok|$who may read and change (group gover)|"
cat "$dir/group.member" >"$dir/group"
alice
is "a session from before the user became a member" "$(finding access)" \
  "fail|$who is a member of group gover, but this session began before|log in again"
doctor
is "root" "$(finding access)" "ok|this user may read, change and administer|"
chmod 600 "$sock"
alice
is "a socket that refuses the connection" "$(finding daemon)" \
  "fail|$who may not connect to the socket gover.sock: only root may connect|run the command with sudo"
stop
alice
is "without a daemon the groups are checked" "$(finding access)" \
  "fail|$who is a member of group gover, but this session began before|log in again"
cat "$dir/group.none" >"$dir/group"
alice
is "without a daemon and a group" "$(finding access)" "fail|$who may not use gover: group gover does not exist on this host|sudo \
groupadd --system gover && sudo usermod -aG gover gover-alice && sudo systemctl restart gover-d, then log in again"

# --- control groups ---

cpu=$(readlink -f /sys/fs/cgroup/cpu)
[ -d "$cpu" ] || cpu=/sys/fs/cgroup
group=gover-test-$$
cat >"$conf" <<EOC
[daemon]
socket = $sock
state_dir = $dir/state
[gpu gpu0]
backend = softgpu
root = $group
[fps]
socket = $dir/fps.sock
EOC
cleanup='find /sys/fs/cgroup -depth -type d -path "*/$group*" -exec rmdir {} + 2>/dev/null'
unshare -m --propagation private "$B/gover-d" --config "$conf" >>"$dir/log" 2>&1 &
daemon_pid=$!
if until_ok 20 curl -sSf --unix-socket "$sock" http://gover/readyz; then
  doctor
  is "control groups that the daemon can create" "$(finding cgroups)" "ok|control groups for vGPUs can be created in $cpu|"
  nsenter -t "$daemon_pid" -m sh -c 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0"' "$cpu"
  doctor
  is "control groups that are read-only for the daemon" "$(finding cgroups)" "fail|control groups are read-only for gover-d ($cpu): \
it cannot create vGPUs|install the drop-in: sudo install -D -m 644 -t /etc/systemd/system/gover-.service.d \
/usr/share/gover/examples/softgpu.conf && sudo systemctl daemon-reload && sudo systemctl restart gover-d"
  ctl vgpu add a --cap 40 >"$dir/out" 2>&1
  is "the daemon cannot create a vGPU" "$?" 1
  doctor unshare -m --propagation private sh -c 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"' "$cpu"
  is "control groups that are read-only on the host" "$(finding cgroups)" "fail|control groups for vGPUs: $cpu is mounted \
read-only on this host|in a container: mount control groups read-write and delegate the cpu controller (systemd: Delegate=cpu)"
  stop
else
  stop
  echo "ok $((n = n + 1)) - control groups # SKIP $(tail -n 1 "$dir/log")"
fi
finish
