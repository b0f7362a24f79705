#!/bin/sh
# The journal: every message id has a catalog entry, and messages are found by their fields in a real journald.
if [ "${1-}" = inside ]; then # runs the test with a private journald and /run
  mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/journal /run/log/journal || exit 1
  /lib/systemd/systemd-journald >/dev/null 2>&1 &
  journald=$!
  for _ in 1 2 3 4 5 6 7 8 9 10; do [ -S /run/systemd/journal/stdout ] || sleep 0.2; done
  # systemd sets JOURNAL_STREAM for a service; systemd-cat does not, so the test sets it.
  # shellcheck disable=SC2016 # of the inner shell
  systemd-cat sh -c 'export JOURNAL_STREAM="$(stat -L -c %d:%i /proc/self/fd/2)"; exec "$0" --config "$1"' "$2" "$3" &
  daemon=$!
  for _ in $(seq 100); do
    sleep 0.2
    [ -e "$4/asked" ] || { curl -sf --unix-socket "$4/gover.sock" -H 'Content-Type: application/json' \
      -d '{"id": "a", "initial_cap_pct": 50, "vm": "win-1", "labels": {"workload": "busy"}}' http://g/v1/vgpus && touch "$4/asked"; } >/dev/null
    journalctl -q -D /run/log/journal -o json GOVER_ALERT=contract_limit GOVER_VGPU=a >"$4/alert"
    [ ! -s "$4/alert" ] || break
  done
  kill "$daemon"
  wait "$daemon"
  journalctl --sync 2>/dev/null
  journalctl -q -D /run/log/journal -o json GOVER_DECISION=add >"$4/decision"
  journalctl -q -D /run/log/journal -o cat _COMM=gover-d >"$4/all"
  kill "$journald"
  exit 0
fi
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

sed -n '/log_kind_id/,/^}/s/.*"\([0-9a-f]\{32\}\)".*/\1/p' "$top/gover-d/util/log.c" | sort >"$dir/program"
sed -n 's/^-- //p' "$top/dist/gover.catalog" | sort >"$dir/catalog"
ok "the catalog has exactly the message ids of the daemon" cmp "$dir/program" "$dir/catalog"
if command -v journalctl >/dev/null; then
  mkdir -p "$dir/root/usr/lib/systemd/catalog" "$dir/root/var/lib/systemd/catalog"
  cp "$top/dist/gover.catalog" "$dir/root/usr/lib/systemd/catalog/"
  ok "journalctl compiles the catalog without a warning" sh -c "journalctl --root='$dir/root' --update-catalog >'$dir/said' 2>&1 && ! [ -s '$dir/said' ]"
  is "the compiled catalog has all entries" "$(journalctl --root="$dir/root" --list-catalog | wc -l)" "$(wc -l <"$dir/program")"
else
  echo "ok $((n = n + 1)) - journalctl compiles the catalog # SKIP no journalctl"
fi

if [ "$(id -u)" -ne 0 ] || [ ! -x /lib/systemd/systemd-journald ] || ! unshare -mn --propagation private true 2>/dev/null; then
  echo "ok $((n = n + 1)) - a real journald # SKIP needs root, namespaces and systemd-journald"
  finish
fi
sim_conf
unshare -mn --propagation private "$0" inside "$B/gover-d" "$conf" "$dir" >"$dir/log" 2>&1
ok "an alert is found by vGPU and name" test -s "$dir/alert"
is "the entry has VM, GPU, message id and priority" \
  "$(head -n 1 "$dir/alert" | jq -r '"\(.GOVER_VM) \(.GOVER_GPU) \(.MESSAGE_ID) \(.PRIORITY) \(.SYSLOG_IDENTIFIER)"')" \
  "win-1 gpu0 d8f391f60b4e44f3a14ad981729aa97b 4 gover-d"
ok "a decision is found by its kind" jq -e '.GOVER_VGPU == "a"' "$dir/decision"
ok "a message without an id is in the journal once" test "$(grep -c 'ready on' "$dir/all")" -eq 1
finish
