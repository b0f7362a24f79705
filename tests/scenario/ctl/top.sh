#!/bin/sh
# `top` on a terminal, with keys and screen of tmux: sorting, filter, pause, help, a change of the size, a restart of
# the daemon, and the restored terminal afterwards.
# shellcheck disable=SC2317 # functions that "ok" calls
. "$(dirname "$0")/../lib.sh"
command -v tmux >/dev/null || skip_all "no tmux"

export LC_ALL=C.UTF-8
unset TMUX NO_COLOR
start_sim
sell web2 20 idle '"target_fps": 30'
sell web10 30 glxgears '"target_fps": 900, "vm": "db-7"'
sell web1 50 glxgears '"target_fps": 60'

t() { tmux -f /dev/null -S "$dir/tmux" "$@"; }
cleanup='t kill-server 2>/dev/null'
press() { t send-keys "$@"; }
screen() { t capture-pane -p; }
coloured() { t capture-pane -pe; }
shows() { screen | grep -qE -- "$1"; } # succeeds if a line of the screen matches
see() { # see "text" PATTERN: waits until the screen shows PATTERN
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
worst_first() { case $(order) in 'web10 '*) shows ' web1 ' ;; *) false ;; esac; } # web10 gets far fewer than 900 frames
ok "the vGPUs are shown, the worst first" until_ok 20 worst_first
see "the last line names the order" 'Sort: worst'
press n
see_order "names are in natural order" "web1 web2 web10 "
see "the GPU has a bar" '^gpu0 sim act  █'
see "the sold share is shown" 'sold 100 % \(1.00 x\)'
see "alerts are counted" 'alerts 0 critical, 1 warning'
see "offers are counted" 'offers 1 open'
see "sparklines grow" '^[> ] web1 .*(▃|▄|█){3}'
ok "the terminal has colours" sh -c "tmux -S '$dir/tmux' capture-pane -pe | grep -q '$(printf '\033')\[[0-9;]*3[0-9]m'"

press t
see_order "t sorts by target, descending" "web10 web1 web2 "
see "the column is marked" 'FPS/TARGETv'
press I
see_order "I reverses the order" "web2 web1 web10 "
press '<' '<' '<'
see "< selects the previous column" 'USED%v'
press w
ok "w shows the worst first" until_ok 20 worst_first
press n
see_order "n sorts by name" "web1 web2 web10 "

press / 1
see_order "a filter applies while it is typed" "web1 web10 "
see "the filter is shown" '^Filter: 1_'
see "hidden rows are counted" 'rows 1 to 2 of 2 that match "1"; 3 vGPUs in all'
press 0 Enter
see_order "more characters filter more" "web10 "
press Escape
see_order "Esc clears the filter" "web1 web2 web10 "

press Down Down
see "the cursor moves" '^> web10'
press Enter
see "Enter shows the decisions about the selected vGPU" 'Enter Why: web10'
none_of_others() { shows 'add vGPU web10' && ! shows 'add vGPU web2'; }
ok "other vGPUs are hidden" until_ok 20 none_of_others
press Enter
see "Enter again shows all decisions" 'add vGPU web2'

press F1
see "F1 shows the help" '^F1 . h '
press x
see "any key closes it" '^> web10'

press p
see "p pauses" ' paused$'
before=$(screen | head -n 1)
periods 20
is "the picture does not change" "$(screen | head -n 1)" "$before"
press p
moves_on() { [ "$(screen | head -n 1)" != "$before" ]; }
ok "p resumes" until_ok 20 moves_on

t resize-window -x 60 -y 14
see "a small window shows the numbers" '^> web10 +[0-9.]+ +[0-9.]+ +[0-9.]+/900 +30/30'
narrow() { [ "$(screen | wc -L)" -le 60 ]; }
ok "no line is too wide" narrow
see "the last line has the keys" '^F1 Help'
t resize-window -x 130 -y 32

stop KILL
see "a missing reply is shown" '^no answer from gover-d at '
see "the picture has the last data" '^> web10'
start || exit 1
back() { shows '^> web10' && ! shows '^no answer'; }
ok "top recovers when the daemon runs again" until_ok 20 back

press q
see "q exits with 0" 'left with 0'
see "the terminal echoes again" '^echo *$'
ok "the picture is removed" sh -c "! tmux -S '$dir/tmux' capture-pane -p | grep -q web10"

for signal in TERM HUP SEGV; do
  run_top
  see "top is started again" '^[> ] web1 '
  kill "-$signal" "$(pgrep -f "gover-ctl --socket $sock top" | tail -n 1)"
  see "$signal kills it" 'left with 1[0-9][0-9]'
  see "the terminal echoes again" '^echo *$'
done

run_top NO_COLOR=1
see "top runs with NO_COLOR" '^[> ] web1 '
ok "the picture has no colours" sh -c "! tmux -S '$dir/tmux' capture-pane -pe | grep -q '$(printf '\033')\[[0-9;]*3[0-9]m'"
run_top LC_ALL=C
see "without UTF-8 bars are ASCII" '^gpu0 sim act  #'
see "without UTF-8 sparklines are ASCII" '^[> ] web1 .*[-_=#+]{3}'
run_top TERM=dumb
see "a dumb terminal is rejected" "terminal type 'dumb' is not supported"

ctl top --batch --count 2 --delay 0.2 --sort -target --filter web1 >"$dir/batch"
is "--batch prints the lists --count times" "$(grep -c '^gover-d ' "$dir/batch")" 2
is "they are sorted and filtered by the options" "$(grep -oE '^web[0-9]+' "$dir/batch" | tr '\n' ' ')" "web1 web10 web1 web10 "
ok "the output has no escape sequences" sh -c "! grep -q '$(printf '\033')' '$dir/batch'"
ctl top --once --sort size >"$dir/out" 2>&1
is "an unknown column is wrong usage" "$? $(grep -c 'allowed: worst, vgpu, vm' "$dir/out")" "2 1"
stop
ctl top --once >"$dir/out" 2>&1
is "without a daemon top exits with 3" "$?" 3
finish
