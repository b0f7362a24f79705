#!/bin/sh
# `top` on a real terminal: keys are pressed in tmux and its screen is read. Sorting, filter, pause, help, a
# new size, a daemon that dies and comes back, and the terminal given back afterwards.
# shellcheck disable=SC2317 # functions that "ok" calls
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"
command -v tmux >/dev/null || skip_all "no tmux"

export LC_ALL=C.UTF-8
unset TMUX NO_COLOR
sim_conf
start || exit 1
sell web2 20 idle '"target_fps": 30'
sell web10 30 glxgears '"target_fps": 900, "vm": "db-7"'
sell web1 50 glxgears '"target_fps": 60'

t() { tmux -f /dev/null -S "$dir/tmux" "$@"; }
cleanup='t kill-server 2>/dev/null'
press() { t send-keys "$@"; }
screen() { t capture-pane -p; }
coloured() { t capture-pane -pe; }
shows() { screen | grep -qE -- "$1"; } # a line of the screen
see() { # see "text" PATTERN: comes to be on the screen
  ok "$1" until_ok 20 shows "$2"
  until_ok 1 shows "$2" || screen | sed 's/^/# /'
}
order() { screen | grep -oE '^[> ] web[0-9]+' | tr -d '> ' | tr '\n' ' '; }
in_order() { [ "$(order)" = "$1" ]; }
see_order() {
  ok "$1" until_ok 20 in_order "$2"
  in_order "$2" || screen | sed 's/^/# /'
}
run_top() { t respawn-pane -k "$* '$B/gover-ctl' --socket '$sock' top; echo left with \$?; stty -a | grep -o '[-]*echo '; exec sleep 600"; }

t new-session -d -x 130 -y 32 'exec sleep 600'
run_top
see "the vGPUs are shown, as people count" '^> web1 '
see_order "in their order" "web1 web2 web10 "
see "with what their GPU does" '^gpu0 sim act  █'
see "how much of it is sold" 'sold 100 % \(1.00 x\)'
see "what is wrong" 'alerts 0 critical, 1 warning'
see "and what can be sold" 'offers 1 open'
see "lines grow of what was" '^> web1 .*(▃|▄|█){3}'
ok "there are colours on a terminal" sh -c "tmux -S '$dir/tmux' capture-pane -pe | grep -q '$(printf '\033')\[[0-9;]*3[0-9]m'"

press t
see_order "t sorts by target, the largest first" "web10 web1 web2 "
see "and marks the column" 'FPS/TARGETv'
press I
see_order "I turns it round" "web2 web1 web10 "
press '<' '<' '<'
see "< goes to the columns before" 'UTIL%v'
press n
see_order "n is the order of names again" "web1 web2 web10 "

press / 1
see_order "a filter acts as it is typed" "web1 web10 "
see "is shown" '^Filter: 1_'
see "and says what it hides" '1 to 2 of 2, of 3 in all those with "1"'
press 0 Enter
see_order "and goes on" "web10 "
press Escape
see_order "Esc shows all" "web1 web2 web10 "

press Down Down
see "the cursor moves" '^> web10'
press Enter
see "Enter asks why of the vGPU under it" 'Enter Why: web10'
none_of_others() { shows 'add vGPU web10' && ! shows 'add vGPU web2'; }
ok "and shows what was decided about it alone" until_ok 20 none_of_others
press Enter
see "and of all again" 'add vGPU web2'

press F1
see "F1 is the help" '^F1 . h '
press x
see "any key ends it" '^> web10'

press p
see "p pauses" ' paused$'
before=$(screen | head -n 1)
periods 20
is "and what is shown stands still" "$(screen | head -n 1)" "$before"
press p
moves_on() { [ "$(screen | head -n 1)" != "$before" ]; }
ok "p goes on" until_ok 20 moves_on

t resize-window -x 60 -y 14
see "a small window has the numbers" '^> web10 +[0-9.]+ +[0-9.]+ +[0-9.]+/900 +30/30'
narrow() { [ "$(screen | wc -L)" -le 60 ]; }
ok "and nothing too wide" narrow
see "and its keys in the last line" '^F1 Help'
t resize-window -x 130 -y 32

stop KILL
see "a daemon that is gone is told" '^no answer from gover-d at '
see "what was known stays" '^> web10'
start || exit 1
back() { shows '^> web10' && ! shows '^no answer'; }
ok "it goes on when there is one again" until_ok 20 back

press q
see "q ends it with 0" 'left with 0'
see "the terminal echoes again" '^echo *$'
ok "and the picture is gone" sh -c "! tmux -S '$dir/tmux' capture-pane -p | grep -q web10"

for signal in TERM HUP SEGV; do
  run_top
  see "it is started again" '^> web1 '
  kill "-$signal" "$(pgrep -f "gover-ctl --socket $sock top" | tail -n 1)"
  see "$signal ends it" 'left with 1[0-9][0-9]'
  see "and the terminal echoes again" '^echo *$'
done

run_top NO_COLOR=1
see "with NO_COLOR" '^> web1 '
ok "there is no colour" sh -c "! tmux -S '$dir/tmux' capture-pane -pe | grep -q '$(printf '\033')\[[0-9;]*3[0-9]m'"
run_top LC_ALL=C
see "where there is no UTF-8 bars are of letters" '^gpu0 sim act  #'
see "and so are lines" '^> web1 .*[-_=#+]{3}'
run_top TERM=dumb
see "a dumb terminal is not drawn upon" "a terminal of type 'dumb' cannot be drawn upon"

ctl top --batch --count 2 --delay 0.2 --sort -target --filter web1 >"$dir/batch"
is "--batch prints as many as --count" "$(grep -c '^gover-d ' "$dir/batch")" 2
is "sorted and filtered as told" "$(grep -oE '^web[0-9]+' "$dir/batch" | tr '\n' ' ')" "web1 web10 web1 web10 "
ok "without an escape" sh -c "! grep -q '$(printf '\033')' '$dir/batch'"
ctl top --once --sort size >"$dir/out" 2>&1
is "a column there is none of is wrong usage" "$? $(grep -c 'allowed are vgpu, vm' "$dir/out")" "2 1"
stop
ctl top --once >"$dir/out" 2>&1
is "without a daemon nothing begins" "$?" 3
finish
