#!/bin/sh
# A cap under a lease: it holds as long as somebody renews it, and is the initial one within the lease
# and 100 ms once nobody does.
# shellcheck source=tests/kernel/lib.sh
. "$(dirname "$0")/lib.sh"
gpu 6
create 4
echo 100 >"$v/load"
lease_ms=700

write() { # write VALUE FILE: between $from and $to
  now
  from=$now
  echo "$1" >"$2"
  now
  to=$now
}

# Looks until the cap is the initial one: at $back it was seen, at $still, before that look, not yet.
wait_for_the_end() {
  still=$from back=$from
  while [ $((back - from)) -lt 1000 ]; do
    now
    before=$now
    value "$q/cap"
    now
    back=$now
    [ "$value" -ne 25 ] || return 0
    still=$before
  done
  return 1
}

lasts() { # lasts "text": from the last write on
  ok "$1, the cap is back at the initial one" wait_for_the_end
  ok "$1: not before the lease was over" test $(((back - from + 1) * 10)) -ge "$lease_ms"
  ok "$1: within the lease and 100 ms" test $(((still - to - 1) * 10)) -le $((lease_ms + 100))
  echo "# after $(((still - from) * 10)) to $(((back - from) * 10)) ms"
}

echo "$lease_ms" >"$q/cap_lease_ms"
write 80 "$q/cap"
lasts "unattended"
sleep 0.3
is "it stays there" "$(cat "$q/cap")" 25
is "the lease is still told" "$(cat "$q/cap_lease_ms")" "$lease_ms"

write 60 "$q/cap"
lasts "written once more"

# Five times, well within the lease each time. Where the machine stood still for longer than the lease
# nothing was renewed, and that proves nothing.
renew() { # renew VALUE FILE
  for i in 1 2 3 4 5; do
    renewed=$from
    write "$1" "$2"
    sleep 0.3
    value "$q/cap"
    now
    if [ "$value" -ne 70 ]; then
      [ $(((now - renewed + 1) * 10)) -ge "$lease_ms" ] || return 1
      echo "the machine stood still at write $i"
      write 70 "$q/cap"
    fi
  done
}
write 70 "$q/cap"
ok "writing the cap renews it" renew 70 "$q/cap"
ok "so does writing the lease, which leaves the cap alone" renew "$lease_ms" "$q/cap_lease_ms"
lasts "renewed no more"

look "$q"
busy0=$busy allotted0=$allotted
sleep 1
look "$q"
# A slot's slice may have been left over, and more where a GPU cannot be taken away in the middle of something.
ok "the share is the initial one" test $((busy - busy0)) -le $((allotted - allotted0 + 25000000 * ${GOVER_POINTS:-1}))

echo 90 >"$q/cap"
echo 0 >"$q/cap_lease_ms"
sleep 1.2
is "without a lease a cap holds" "$(cat "$q/cap")" 90
finish
