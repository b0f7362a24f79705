#!/bin/bash
# Tests gover_sharing, the discipline of a GPU: under "hard" a cap is a limit. Under "guarantee" a cap is always
# available, and a vGPU with work also uses spare time, up to its ceiling. Invalid values change nothing.
# Shares are measured with the counters of the kernel. $GOVER_POINTS is the tolerance in percentage points. It is larger
# if workloads cannot be preempted. Then time is also lost when the GPU changes from one vGPU to the other, and a second
# GPU shows how much a machine loses: tests of shares that depend on this time are skipped if two vGPUs without caps use
# less than 70 % of the second GPU, under the discipline "cap" and at the same time.
# settled() evaluates its argument.
# shellcheck disable=SC2016
. "$(dirname "$0")/lib.sh"
cleanup='gpu 10; remove_all; gpu 8; remove_all'
gpu 8
sharing=$parent/gover_sharing
points=${GOVER_POINTS:-1}

# The text is written at once: printf would write each line by itself.
write() { # write TEXT FILE: the error message of the write of exactly TEXT; "" for success
  printf '%b' "$1" >"$dir/text"
  message=$(cat "$dir/text" 2>&1 >"$2")
  echo "${message##*: }"
}

# --- the file of a GPU ---

is "gover_sharing can be written by root only" "$(stat -c %a "$sharing")" 644
is "a GPU begins with the parameter's discipline" "$(cat "$sharing")" hard
create 8
a=$q a_load=$v/load
create 8
b=$q b_load=$v/load
echo 50 >"$a/initial_cap"
echo 40 >"$b/initial_cap"
echo 20 >"$a/cap"
for word in '\n' 'cap\n' 'weight\n' 'Guarantee\n' ' guarantee\n' 'guarantee \n' 'guarantee\n\n' 'guarantees\n' \
  guarante '1\n' 'hard guarantee\n' "$(printf '%4000s' x)\n"; do
  is "gover_sharing <- '$(printf %.20s "$word")': EINVAL" "$(write "$word" "$sharing")" 'Invalid argument'
done
is "the discipline is unchanged" "$(cat "$sharing")" hard

# --- the ceiling of a vGPU ---

is "the ceiling is the initial cap" "$(cat "$a/cap_ceiling") $(cat "$b/cap_ceiling")" '50 40'
for number in 101 -1 1.5 all ''; do
  is "cap_ceiling <- '$number': EINVAL" "$(write "$number\n" "$a/cap_ceiling")" 'Invalid argument'
done
is "cap_ceiling <- 4294967296: ERANGE" "$(write 4294967296 "$a/cap_ceiling")" 'Numerical result out of range'
is "the ceiling is unchanged" "$(cat "$a/cap_ceiling")" 50

# --- shares ---

slow='' # vGPUs of the second GPU
if [ "$points" -gt 1 ]; then
  gpu 10
  for half in 1 2; do
    create 8
    echo 0 >"$q/cap"
    echo 100 >"$v/load"
    slow="$slow $q"
  done
  gpu 8
fi

# Prints what look() sets for each vGPU of the second GPU.
look_at_slow() {
  for half in $slow; do
    look "$half"
    echo "$before $after $busy"
  done
}

# Measures for two seconds. Sets the bounds of the shares: $a_least, $a_most, $b_least, $b_most, and $allotted_least and
# $allotted_most of the time that was allotted to vGPU a. Sets $machine, the use of the second GPU.
measure() {
  sleep 1.1 # a vGPU that was idle has saved slices, which expire at the end of the second
  look_at_slow >"$dir/slow-from"
  look "$a"
  set -- "$before" "$after" "$busy" "$allotted"
  look "$b"
  set -- "$@" "$before" "$after" "$busy"
  sleep 2
  look "$a"
  share "$1" "$2" "$4" "$before" "$after" "$allotted"
  allotted_least=$least allotted_most=$most
  share "$1" "$2" "$3" "$before" "$after" "$busy"
  a_least=$least a_most=$most
  look "$b"
  share "$5" "$6" "$7" "$before" "$after" "$busy"
  b_least=$least b_most=$most
  look_at_slow >"$dir/slow-to"
  paste -d ' ' "$dir/slow-from" "$dir/slow-to" >"$dir/slow"
  machine=0
  while read -r before0 after0 busy0 before after busy; do
    share "$before0" "$after0" "$busy0" "$before" "$after" "$busy"
    machine=$((machine + most))
  done <"$dir/slow"
  echo "# a: $a_least to $a_most, b: $b_least to $b_most of 10000${slow:+, second GPU: $machine}"
}

settled() { # settled CONDITION: measures until the condition is true, at most three times. A machine that halts
  # the guest takes time from a vGPU, which the counters do not show.
  for _ in 1 2 3; do
    measure
    eval "$1" && return 0
  done
  return 1
}

at_least() { test "$2" -ge $(($1 * 100 - points * 100)); } # at_least PCT MOST
within() {                                                # within PCT LEAST MOST
  at_least "$1" "$3" && test "$2" -le $(($1 * 100 + points * 100))
}
whole() { test "$1" -ge $((10800 - points * 900)); } # whole MOST: 99 % are used, without preemption at least 63 %

shared() { # shared "text" command...: a test of two vGPUs with unlimited demand
  if [ -n "$slow" ] && [ "$machine" -lt 7000 ]; then
    n=$((n + 1))
    echo "ok $n - $1 # SKIP two vGPUs without caps use only $((machine / 100)) % here"
  else
    ok "$@"
  fi
}

echo 100 >"$a_load"
ok "hard: the vGPU with work uses its cap of 20 %, the rest is unused" settled 'within 20 "$a_least" "$a_most"'

is "gover_sharing <- guarantee" "$(write 'guarantee\n' "$sharing")" ''
is "it reads back" "$(cat "$sharing")" guarantee
is "the caps are unchanged" "$(cat "$a/cap" "$a/initial_cap" "$b/cap" | paste -s -d ' ')" '20 50 40'
ok "guarantee: it also uses idle time, up to its ceiling of 50 %" settled 'within 50 "$a_least" "$a_most"'
ok "its allotted time is still that of its cap" test "$allotted_least" -le 2050 -a "$allotted_most" -ge 1950
is "writing the same word again succeeds" "$(write guarantee "$sharing")" ''
is "an invalid word changes nothing" "$(write 'weight\n' "$sharing") $(cat "$sharing")" 'Invalid argument guarantee'

is "cap_ceiling <- 0: success" "$(write '0\n' "$a/cap_ceiling")" ''
ok "without a ceiling it has the whole GPU" settled 'whole "$a_most"'
echo 100 >"$b_load"
settled 'at_least 40 "$b_most" && at_least 20 "$a_most"' || :
shared "when the other has work too, it gets its guarantee of 40 %" at_least 40 "$b_most"
ok "and not more than its ceiling, which is 40 % too" test "$b_least" -le $((4000 + points * 200))
shared "the borrower keeps its guarantee of 20 %" at_least 20 "$a_most"
ok "and its total is at most the rest" test "$a_least" -le $((6000 + points * 100))

# The caps of two vGPUs without a ceiling are 10 % and 30 %: the spare 60 % is shared 1 to 3.
echo 10 >"$a/cap"
echo 30 >"$b/cap"
echo 0 >"$b/cap_ceiling"
settled 'whole $((a_most + b_most))' || :
quarter=$(((a_least + b_least) / 4))
shared "two borrowers use the whole GPU" whole $((a_most + b_most))
ok "in proportion to their caps: the first has a quarter of this" \
  test "$a_least" -le $((quarter + points * 100)) -a "$a_most" -ge $((quarter - points * 100))

echo 0 >"$b_load"
echo 45 >"$a/cap_ceiling"
ok "a vGPU alone is limited to its ceiling of 45 %" settled 'within 45 "$a_least" "$a_most"'
echo 55 >"$a/cap"
ok "a cap above the ceiling prevails" settled 'within 55 "$a_least" "$a_most"'

is "gover_sharing <- hard" "$(write 'hard\n' "$sharing")$(cat "$sharing")" hard
echo 10 >"$a/cap"
echo 100 >"$b_load"
measure
ok "hard again: a vGPU is limited to its cap of 10 %" test "$a_least" -le $((1000 + points * 100))
ok "the other to its 30 %" test "$b_least" -le $((3000 + points * 100))

# --- leases ---

back() { # back CAP: true if the cap of vGPU a is CAP
  value "$a/cap"
  [ "$value" -eq "$1" ]
}
for word in hard guarantee; do
  echo "$word" >"$sharing"
  echo 300 >"$a/cap_lease_ms"
  echo 35 >"$a/cap"
  ok "$word: when a lease expires, the cap returns to the initial cap" until_ok 10 back 50
  is "$word: the discipline has no lease" "$(cat "$sharing")" "$word"
  is "$word: neither has the ceiling" "$(cat "$a/cap_ceiling")" 45
done

# --- changes under load ---

echo 0 >"$a/cap_lease_ms"
echo 0 >"$a/cap_ceiling"
flip() { # changes the discipline until the file stop exists
  while [ ! -e "$dir/stop" ]; do
    echo hard >"$sharing" || : >"$dir/refused"
    echo guarantee >"$sharing" || : >"$dir/refused"
    value "$sharing"
  done
}
flip &
make_and_remove() {
  for _ in 1 2 3 4 5; do
    create 8 || return 1
    echo 100 >"$v/load"
    echo 50 >"$q/cap_ceiling" || return 1
    remove "$v" || return 1
  done
}
ok "vGPUs are created and removed while the discipline changes" make_and_remove
: >"$dir/stop"
wait
ok "no change was refused" test ! -e "$dir/refused"
is "the last one is in force" "$(cat "$sharing")" guarantee
echo 40 >"$a/cap"
echo 0 >"$b_load"
ok "then a vGPU alone has the whole GPU" settled 'whole "$a_most"'
is "the GPUs have their own disciplines" "$(cat /sys/class/mdev_bus/gover_gvt.9/gover_sharing)" hard

# The discipline belongs to the GPU, not to its vGPUs.
exec 7<"$sharing"
remove_all
is "it remains without vGPUs" "$(cat <&7)" guarantee
exec 7<&-
finish
