#!/bin/sh
# Ten thousand wrong tokens: ticks stay on time, who has a good one is served all the while, also from the same
# address, and neither memory nor log nor database grows.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

tries=10000
tcp
period_ms=500 speed=10 sim_conf
start || exit 1
sell a 50 glxgears
token viewer read
token robot operate

memory_kb() { awk '/^Pss:/ { print $2 }' "/proc/$daemon_pid/smaps_rollup"; }
late() { get /v1/host .late_ticks; }

# Every kind of wrong: of the right form, of none, of another kind, and too long for a header.
guess=gvr_$(head -c 64 /dev/urandom | base64 | tr -dc A-Za-z0-9 | cut -c 1-43 | sed 's/$/AAAAAAAAAAAAAAA/' | cut -c 1-43)
long=$(head -c 6000 /dev/zero | tr '\0' x)
i=0
while [ $i -lt $tries ]; do
  case $((i % 4)) in
  0) wrong="Bearer $guess" ;;
  1) wrong="Bearer x$i" ;;
  2) wrong="Basic Z292ZXI6Z292ZXI=" ;;
  3) wrong="Bearer $long" ;;
  esac
  printf 'url = "%s/v1/host"\noutput = "/dev/null"\nheader = "Authorization: %s"\nnext\n' "$url" "$wrong"
  i=$((i + 1))
done | split -l 10000 - "$dir/flood." # 2,500 requests each, at once
for part in "$dir"/flood.*; do
  printf 'url = "%s/healthz"\noutput = "/dev/null"\n' "$url" >>"$part"
done

periods 3
before_kb=$(memory_kb) before_late=$(late) before_ticks=$(get /v1/host .ticks)
waiting='' n_parts=0
for part in "$dir"/flood.*; do
  # Where a file has many parts with `next`, each says itself what it wants written.
  sed -i 's|^output = "/dev/null"$|output = "/dev/null"\nwrite-out = "%{http_code}\\n"|' "$part"
  curl -sS -K "$part" >"$part.said" 2>"$part.err" &
  waiting="$waiting $!" n_parts=$((n_parts + 1))
done
is "four clients try" "$n_parts" 4

honest=0 served=0
flooding() { # does one of them still try?
  for p in $waiting; do kill -0 "$p" 2>/dev/null && return 0; done
  return 1
}
while flooding || [ $honest -lt 10 ]; do
  honest=$((honest + 2))
  [ "$(ask viewer GET /v1/vgpus)" = 200 ] && served=$((served + 1))
  [ "$(ask robot PATCH /v1/vgpus/a '{"target_fps": 30}')" = 200 ] && served=$((served + 1))
done
for p in $waiting; do wait "$p"; done
after_ticks=$(get /v1/host .ticks)
echo "# $honest honest requests in $((after_ticks - before_ticks)) ticks; memory $before_kb kB before, $(memory_kb) kB after"
is "an honest client is served each time" "$served" "$honest"
is "the others are answered, each" "$(cat "$dir"/flood.*.said | grep -cE '^(401|429)$')" "$tries"
ok "the first with 401" grep -q 401 "$dir"/flood.*.said
is "which does not hide that the daemon lives" "$(cat "$dir"/flood.*.said | grep -c '^200$')" 4
ok "nearly all with 429" test "$(cat "$dir"/flood.*.said | grep -c '^429$')" -gt $((tries - 100))
is "no tick was late" "$(late)" "$before_late"
[ -n "${GOVER_ASAN-}" ] || ok "memory is as it was" test "$(memory_kb)" -lt $((before_kb + 2048))
is "a change over TCP took, and by whom is known" "$(get /v1/vgpus/a .target_fps)" 30
ok "the log tells of it in a few lines" test "$(grep -c 'wrong tokens come from 127.0.0.1' "$dir/log")" -lt 20
ok "but tells" grep -q 'wrong tokens come from 127.0.0.1' "$dir/log"
ok "and shows none of them" sh -c "! grep -q '$guess\|xxxxxxxx' '$dir/log'"
again() { # one more wrong token, at a time at which they are not looked at
  [ "$(curl -sS -o /dev/null -D "$dir/head" -w '%{http_code}' -H "Authorization: Bearer $guess" "$url/v1/host")" = 429 ]
}
ok "who tries on is kept waiting" until_ok 20 again
ok "and told how long" grep -qiE '^Retry-After: [1-9]' "$dir/head"
stop
is "it ends well" "$stopped" 0
finish
