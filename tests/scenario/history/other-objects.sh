#!/bin/sh
# Something else than a regular file has the name of a file of the state directory: the daemon and --restore start, set it
# aside or do without it, and lose no contract. No symbolic link is followed, and nothing waits for a FIFO.
. "$(dirname "$0")/../lib.sh"

folder() { mkdir "$1" && touch "$1/file"; }
fifo() { mkfifo "$1"; }
socket() { python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$1"; }
link() { cp "$dir/precious" "$dir/linked" && ln -s "$dir/linked" "$1"; }
loop() { ln -s "$(basename "$1")" "$1"; }

logged() { grep -qF -- "$1" "$dir/log"; }

start_sim
sell a 50
sell b 20
echo precious >"$dir/precious"
stop
cp -a "$dir/state" "$dir/good"
for file in lock caps contracts.json contracts.json.new contracts.json.before config.last config.last.new tokens.json \
  out-of-memory history.db-wal history.db-shm history.db; do
  for kind in folder fifo socket link loop; do
    case "$file $kind" in
    'history.db link' | 'history.db loop') continue ;; # history.db may be a link
    'contracts.json.new folder') continue ;; # no change can be stored: history/unsaved.sh
    esac
    rm -rf "$dir/state"
    cp -a "$dir/good" "$dir/state"
    rm -f "$dir/state/$file"
    $kind "$dir/state/$file"
    ok "$file is a $kind: --restore ends" timeout 20 sh -c "'$B/gover-d' --config '$conf' --restore; test \$? -lt 2"
    : >"$dir/log"
    start || exit 1
    is "$file is a $kind: the contracts stay" "$(get /v1/vgpus '[.vgpus[] | "\(.id) \(.initial_cap_pct)"] | join(", ")')" 'a 50, b 20'
    api PATCH /v1/vgpus/a '{"weight": 2}' >/dev/null
    is "$file is a $kind: a change is stored" "$(status)" 200
    restart KILL
    is "$file is a $kind: and is still there" "$(get /v1/vgpus/a .weight)" 2
    [ "$kind" != link ] || is "$file is a link: its target is not changed" "$(cat "$dir/linked")" precious
    stop
    is "$file is a $kind: the daemon stops" "$stopped" 0
  done
done

rm -rf "$dir/state"
cp -a "$dir/good" "$dir/state"
truncate -s 200M "$dir/state/caps"
start || exit 1
ok "a caps file of 200 MB is set aside" logged "caps: too large for the caps of this host: it was renamed to"
ok "an alert names it" until_ok 20 that /v1/alerts '[.alerts[] | select(.name == "history_damaged" and (.text | contains("caps.damaged-")))] | length == 1'
is "the caps stay" "$(get /v1/vgpus/a .cap_pct)" 50
finish
