#!/bin/sh
# A user without access to the unix socket: the message names the user, the group and the command. Users and groups
# are real: /etc/passwd and /etc/group of a mount namespace.
if [ "${1-}" = inside ]; then # the files of the namespace, then the command as user 4711
  mount --bind "$2/passwd" /etc/passwd && mount --bind "$2/group" /etc/group || exit 99
  group=$3 more=$4
  shift 4
  exec setpriv --reuid 4711 --regid "$group" "$more" "$@"
fi
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" -eq 0 ] || skip_all "needs root to send requests as other users"
command -v setpriv >/dev/null || skip_all "no setpriv here (util-linux)"
unshare -m --propagation private true 2>/dev/null || skip_all "needs mount namespaces"

cp /etc/passwd /etc/group "$dir"
echo "gover-alice:x:4711:4711::/:/bin/sh" >>"$dir/passwd"
echo "gover-sellers:x:54321:" >>"$dir/group"
cp "$dir/group" "$dir/group.without"
sed 's/^gover-sellers:.*/&gover-alice/' "$dir/group.without" >"$dir/group.with"
chmod 755 "$dir"
mkdir "$dir/private"
sock=$dir/private/gover.sock
start_sim

alice() { # alice [GROUPS]: prints the error of `status` and sets $code
  unshare -m --propagation private "$0" inside "$dir" 4711 "${1---clear-groups}" \
    "$B/gover-ctl" --socket "$sock" status >"$dir/out" 2>&1
  code=$?
}
says() { # says TEXT MESSAGE
  is "$1" "$code $(sed "s|$dir/||g" "$dir/out")" "$2"
}
who="3 gover-ctl: permission denied: user gover-alice (uid 4711) may not"

chgrp 54321 "$sock" && chmod 660 "$sock"
alice
says "the group of the socket" "$who connect to the socket private/gover.sock: members of group gover-sellers may connect \
(run \`sudo usermod -aG gover-sellers gover-alice\`, then log in again)"
cat "$dir/group.with" >"$dir/group"
alice
says "a session from before the user became a member" "$who connect to the socket private/gover.sock: members of group \
gover-sellers may connect, and this session began before the user became a member (log in again)"
alice --groups=54321
ok "a member connects" grep -q 'uid 4711\|user gover-alice' "$dir/out"
is "the daemon then refuses the user" "$code" 1
cat "$dir/group.without" >"$dir/group"

chmod 600 "$sock"
alice
says "a socket of its owner" "$who connect to the socket private/gover.sock: only root may connect \
(run the command with sudo)"
chown 4712 "$sock"
alice
says "a socket of another user" "$who connect to the socket private/gover.sock: only root and user 4712 may connect \
(run the command with sudo)"
chmod 666 "$sock"
chgrp 54321 "$dir/private" && chmod 750 "$dir/private"
alice
says "the group of a folder" "$who search the folder private: members of group gover-sellers may connect \
(run \`sudo usermod -aG gover-sellers gover-alice\`, then log in again)"
finish
