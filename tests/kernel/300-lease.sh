#!/bin/sh
# A cap with a lease stays in force as long as the lease is renewed. After the lease has expired, the kernel restores the
# initial cap within 100 ms.
. "$(dirname "$0")/lib.sh"
gpu 6
create 4
echo 100 >"$v/load"
lease_ms=700

write() { # write VALUE FILE: sets $from before and $to after it
  now
  from=$now
  echo "$1" >"$2"
  now
  to=$now
}

# Waits for the initial cap. The kernel has restored it between the times $still and $back.
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

lasts() { # lasts "text": checks the lease from the last write on
  ok "$1: the cap returns to the initial cap" wait_for_the_end
  ok "$1: not before the lease expires" test $(((back - from + 1) * 10)) -ge "$lease_ms"
  ok "$1: within the lease and 100 ms" test $(((still - to - 1) * 10)) -le $((lease_ms + 100))
  echo "# after $(((still - from) * 10)) to $(((back - from) * 10)) ms"
}

echo "$lease_ms" >"$q/cap_lease_ms"
write 80 "$q/cap"
lasts "not renewed"
sleep 0.3
is "it stays there" "$(cat "$q/cap")" 25
is "the lease can still be read" "$(cat "$q/cap_lease_ms")" "$lease_ms"

write 60 "$q/cap"
lasts "written again"

# Renews the lease five times, each time well before the lease expires. If the machine was stopped for longer than the
# lease, the cap has expired and is written again.
renew() { # renew VALUE FILE
  for i in 1 2 3 4 5; do
    renewed=$from
    write "$1" "$2"
    sleep 0.3
    value "$q/cap"
    now
    if [ "$value" -ne 70 ]; then
      [ $(((now - renewed + 1) * 10)) -ge "$lease_ms" ] || return 1
      echo "the machine was stopped at write $i"
      write 70 "$q/cap"
    fi
  done
}
write 70 "$q/cap"
ok "writing the cap renews the lease" renew 70 "$q/cap"
ok "writing the lease renews it without changing the cap" renew "$lease_ms" "$q/cap_lease_ms"
lasts "not renewed any more"

look "$q"
busy0=$busy allotted0=$allotted
sleep 1
look "$q"
# The vGPU may still use the time that the expired cap had allotted, and more if its workloads cannot be preempted.
ok "the share is that of the initial cap" test $((busy - busy0)) -le $((allotted - allotted0 + 25000000 * ${GOVER_POINTS:-1}))

echo 90 >"$q/cap"
echo 0 >"$q/cap_lease_ms"
sleep 1.2
is "without a lease a cap does not expire" "$(cat "$q/cap")" 90
finish
