#!/bin/sh
# Clients that do no good: 500 that never finish a request, 100 readers of events who never read, bodies of 1 GiB. The
# period keeps its time, memory stays bounded, and who asks for something is answered.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

sim_conf
start || exit 1
for v in $(seq 64); do
  sell "v$v" 1 load:pct=1
done
is "there are 64 vGPUs" "$(get /v1/host '.vgpus | length')" 64
crowd=''
# shellcheck disable=SC2016,SC2034 # for the end
cleanup='for p in $crowd; do kill -KILL $p 2>/dev/null; done'
gather() { # gather KIND N
  "$B/tests/http-crowd" "$sock" "$1" "$2" >"$dir/$1" 2>&1 &
  crowd="$crowd $!"
  until_ok 60 grep -q ready "$dir/$1"
}
peak_kib() { awk '/^VmHWM/ {print $2}' "/proc/$daemon_pid/status"; }
honest() { # honest N: so many, one after the other, are all answered
  for _ in $(seq "$1"); do
    [ "$(curl -sS --max-time 20 --unix-socket "$sock" -o "$dir/body" -w '%{http_code}' http://gover/v1/host)" = 200 ] || return 1
  done
}
before_kib=$(peak_kib)

ok "a crowd of slow ones is there" gather loris 500
ok "honest ones are served beside it" honest 50
ok "the crowd has hundreds of places" until_ok 60 sh -c "test \$(find /proc/$daemon_pid/fd -mindepth 1 | wc -l) -gt 500"
ok "and readers who never read" gather mute 100
ok "honest ones are served beside those" honest 50
ok "a change too" api PATCH /v1/vgpus/v1 '{"weight": 2}'
is "which is answered" "$(status)" 200
is "a body of 1 GiB is refused unread, however it comes" "$("$B/tests/http-crowd" "$sock" body 2 |
  awk '{print ($1 == 413 || $1 == 0) && $2 < 16 ? "yes" : "no: " $0}' | sort | uniq -c | tr -s ' ')" " 2 yes"
late=$(get /v1/host .late_ticks) ticks=$(get /v1/host .ticks)
ok "the daemon lives through 60 periods of it" periods 60
# Of a period of a tenth second, on a machine where other tests run: what hangs would be late every time.
ok "and few are late by half a period" test $((($(get /v1/host .late_ticks) - late) * 4)) -lt $(($(get /v1/host .ticks) - ticks))
ok "readers who never read were let go" until_ok 60 grep -q gone "$dir/mute"
ok "honest ones are served in the end" honest 50
after_kib=$(peak_kib)
ok "memory stayed bounded" test $((after_kib - before_kib)) -lt "${GOVER_ASAN:+26}32768"
echo "# at its peak $before_kib KiB before, $after_kib KiB after; late $late and $(get /v1/host .late_ticks) of $(get /v1/host .ticks)"
for p in $crowd; do kill -KILL "$p" 2>/dev/null; done
crowd=''
ok "their places are free again" until_ok 60 sh -c "test \$(find /proc/$daemon_pid/fd -mindepth 1 | wc -l) -lt 40"
stop
is "it ends well" "$stopped" 0
finish
