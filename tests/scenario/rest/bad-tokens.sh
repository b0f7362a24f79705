#!/bin/sh
# Ten thousand invalid tokens: ticks stay on time, clients with a valid token are served, also from the same address,
# and memory, log and database do not grow.
. "$(dirname "$0")/../lib.sh"

tries=10000
tcp
period_ms=500 speed=10 sim_conf
start || exit 1
sell a 50 glxgears
token viewer read
token robot operate

memory_kb() { awk '/^Pss:/ { print $2 }' "/proc/$daemon_pid/smaps_rollup"; }
late() { get /v1/host .late_ticks; }

# All kinds of invalid tokens: well-formed, malformed, another scheme, and very long.
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
done | split -l 10000 - "$dir/flood." # files of 2,500 requests each, which are sent at the same time
for part in "$dir"/flood.*; do
  printf 'url = "%s/healthz"\noutput = "/dev/null"\n' "$url" >>"$part"
done

periods 3
before_kb=$(memory_kb) before_late=$(late) before_ticks=$(get /v1/host .ticks)
waiting='' n_parts=0
for part in "$dir"/flood.*; do
  # In a curl configuration file with several requests, each request needs its own write-out.
  sed -i 's|^output = "/dev/null"$|output = "/dev/null"\nwrite-out = "%{http_code}\\n"|' "$part"
  curl -sS -K "$part" >"$part.said" 2>"$part.err" &
  waiting="$waiting $!" n_parts=$((n_parts + 1))
done
is "four clients send invalid tokens" "$n_parts" 4

honest=0 served=0
flooding() { # succeeds while one of the clients is running
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
is "every request with a valid token is answered" "$served" "$honest"
is "every request with an invalid token is refused" "$(cat "$dir"/flood.*.said | grep -cE '^(401|429)$')" "$tries"
ok "the first ones with 401" grep -q 401 "$dir"/flood.*.said
is "health checks from the same clients are answered" "$(cat "$dir"/flood.*.said | grep -c '^200$')" 4
ok "nearly all of these requests get 429" test "$(cat "$dir"/flood.*.said | grep -c '^429$')" -gt $((tries - 100))
is "no tick was late" "$(late)" "$before_late"
[ -n "${GOVER_ASAN-}" ] || ok "memory does not grow" test "$(memory_kb)" -lt $((before_kb + 2048))
is "a change with a valid token took effect" "$(get /v1/vgpus/a .target_fps)" 30
ok "the log has only a few lines about it" test "$(grep -c 'invalid tokens from 127.0.0.1' "$dir/log")" -lt 20
ok "the log has at least one line about them" grep -q 'invalid tokens from 127.0.0.1' "$dir/log"
ok "the log contains no token" sh -c "! grep -q '$guess\|xxxxxxxx' '$dir/log'"
again() { # one more invalid token while the address is blocked
  [ "$(curl -sS -o /dev/null -D "$dir/head" -w '%{http_code}' -H "Authorization: Bearer $guess" "$url/v1/host")" = 429 ]
}
ok "a further invalid token is answered with 429" until_ok 20 again
ok "the reply has a Retry-After header" grep -qiE '^Retry-After: [1-9]' "$dir/head"
finish
