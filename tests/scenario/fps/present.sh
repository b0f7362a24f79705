#!/bin/sh
# A program that waits inside glXSwapBuffers() is distinguished from a program that presents nothing.
. "$(dirname "$0")/../fps/lib.sh"

"$B/tests/fps-sink" "$fps" >>"$dir/counts" 2>&1 &
sink=$!
program=''
# shellcheck disable=SC2034 # read by lib.sh at exit
cleanup="kill $sink \$program 2>/dev/null"
until_ok 10 test -S "$fps"

start_program() { # start_program HOW FRAMES: the program reads fd 3
  rm -f "$dir/letters"
  mkfifo "$dir/letters"
  drawing "$@" <"$dir/letters" >"$dir/said" 2>&1 &
  program=$!
  exec 3>"$dir/letters"
}

end_program() {
  exec 3>&-
  wait "$program"
}

lately() { # lately STATE: the last two counts have this state
  test "$(tail -n 2 "$dir/counts" | sed -n 's/.* present //p' | uniq -c | tr -s ' ')" = " 2 $1"
}

start_program blocking 10
printf d >&3
ok "a program that presents nothing is outside" until_ok 20 lately outside
printf b >&3
ok "a call that does not end waits" until_ok 20 lately waits
frames=$(sed -n 's/^frames \([0-9]*\) .*/\1/p' "$dir/counts" | tail -n 1)
is "its frame is not counted yet" "$frames" 10
printf d >&3
ok "after the call, the program is outside again" until_ok 20 lately outside
printf t >&3
ok "the first call of a further thread waits too" until_ok 20 lately waits
printf c >&3
ok "a cancelled thread does not wait" until_ok 20 lately outside
ok "the program ends" end_program
is "it printed nothing" "$(cat "$dir/said")" ""

# The pause is longer than the period of fps-sink, and outside the call.
: >"$dir/counts"
GOVER_FPS_MAX=1
export GOVER_FPS_MAX
drawing direct-glx 5 &
program=$!
ok "a limited program draws" wait "$program"
is "it never waits in a call" "$(grep -c 'present waits' "$dir/counts")" 0
ok "it is outside" grep -q 'present outside' "$dir/counts"
finish
