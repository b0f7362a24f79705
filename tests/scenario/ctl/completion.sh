#!/bin/sh
# Completion in bash and zsh, tested by typing in a terminal: verbs, options, and names that the daemon knows.
. "$(dirname "$0")/../lib.sh"
command -v zsh >/dev/null || skip_all "no zsh"
zsh -fc 'zmodload zsh/zpty' 2>/dev/null || skip_all "zsh has no zsh/zpty"
[ -r /usr/share/bash-completion/bash_completion ] || skip_all "no bash-completion"

start_sim
sell web1 50
sell web2 50
mkdir "$dir/bin" "$dir/functions"
cp "$B/gover-ctl" "$dir/bin/gover-ctl"
ok "completion prints the script for bash" sh -c "'$B/gover-ctl' completion bash >'$dir/bash'"
ok "gover-ctl prints the functions for zsh" sh -c "'$B/gover-ctl' completion zsh >'$dir/functions/_gover-ctl'"
"$B/gover-ctl" completion fish >"$dir/out" 2>&1
is "no other shell is known" "$?" 2
ok "bash parses the script" bash -n "$dir/bash"
ok "zsh parses the script" zsh -n "$dir/functions/_gover-ctl"
export GOVER_SOCKET="$sock"
is "an option is offered once" "$("$B/gover-ctl" __complete -- vgpu hold web1 --cap 5 --ca | cut -f 1)" --cacert
is "the verb for the scripts is hidden" "$("$B/gover-ctl" help all | grep -c __complete)" 0

cat >"$dir/bash.rc" <<EOF
PATH=$dir/bin:$PATH PS1='ready> '
. /usr/share/bash-completion/bash_completion
. $dir/bash
bind 'set show-all-if-ambiguous on'
bind 'set page-completions off'
bind 'set completion-query-items 0'
bind 'set enable-bracketed-paste off'
EOF
cat >"$dir/.zshrc" <<EOF
PATH=$dir/bin:$PATH PS1='ready> '
fpath=($dir/functions \$fpath)
autoload -Uz compinit && compinit -D -u
setopt no_auto_menu no_list_beep no_list_packed
zstyle ':completion:*' list-prompt ''
LISTMAX=0
unset zle_bracketed_paste
EOF
cat >"$dir/type" <<'EOF'
# type SHELL: reads lines NAME|TEXT|WORDS, types each TEXT and TAB TAB in the shell until all WORDS are on the screen, and writes
# the screen output to shown.SHELL.NAME. gover-ctl offers no names if the daemon does not answer in time, as on a busy machine: a
# user then types TAB again. bash needs an echoing terminal.
zmodload zsh/zpty
shell=$1 seen= piece= name= text= words= try= pattern=
case $shell in
bash) zpty -eb t "TERM=dumb COLUMNS=400 LINES=400 bash --noprofile --rcfile $HOME/bash.rc -i" ;;
zsh) zpty -b t "TERM=dumb COLUMNS=400 LINES=400 ZDOTDIR=$HOME zsh -i" ;;
esac
screen() { # the output without the control characters of a terminal
  print -r -- "$seen" | tr -d '\r\007' | sed 's/\x1b\[[0-9;?]*[A-Za-z]//g'
}
wait_for() { # wait_for TWENTIETHS PATTERN...: reads output until it matches each PATTERN; fails when the time is over
  local -i left=$1
  local shown missing
  shift
  while ((left-- > 0)); do
    while zpty -rt t piece 2>/dev/null; do seen+=$piece; done
    shown=$(screen) missing=
    for pattern; do [[ $shown == ${~pattern} ]] || missing=1; done
    [[ -n $missing ]] || return 0
    sleep 0.05
  done
  return 1
}
wait_for 400 '*ready> '
while IFS='|' read -r name text words; do
  seen=
  zpty -nw t "$text"$'\t\t'
  for try in 1 2 3 4; do
    wait_for 100 "*${(@)^${(s:,:)words}}*" && break
    zpty -nw t $'\t\t'
  done
  screen >"$HOME/shown.$shell.$name"
  seen=
  zpty -nw t $'\C-u\n' # after ^C, zsh 5.9 sometimes completes nothing in the next line
  wait_for 200 '*ready> '
done
zpty -d t
EOF

first_words=$("$B/gover-ctl" help all | sed -n '/^Options of every verb/q; s/^  \([a-z][a-z]*\) .*/\1/p' | sort -u | paste -sd ,)
second_words=$("$B/gover-ctl" help all | sed -n 's/^  vgpu \([a-z]*\).*/\1/p' | paste -sd ,)
options=$("$B/gover-ctl" vgpu add --help | sed -n 's/^  \(--[a-z-]*\).*/\1/p' | paste -sd ,)
is "help completes the groups" "$("$B/gover-ctl" __complete -- help s | cut -f 1 | sort | tr '\n' ' ')" \
  "selling silence simulate status support "
is "the value of -o is completed" "$("$B/gover-ctl" __complete -- vgpu list -o w | cut -f 1)" wide
is "a list has its columns as sort keys" "$("$B/gover-ctl" __complete -- vgpu list --sort u)" used
cases="the value of an option|gover-ctl decisions --vgpu |web1,web2
every verb|gover-ctl |$first_words
the second words of vgpu|gover-ctl vgpu |$second_words
every option of a verb|gover-ctl vgpu add --|$options
the rest of a verb|gover-ctl econ|economics
vGPUs|gover-ctl why |web1,web2
GPUs|gover-ctl drain |gpu0
policy keys|gover-ctl policy set lowload|lowload_pct=
files|gover-ctl config check $dir/bash.|bash.rc
the command to run|gover-ctl run --vgpu web1 -- gover-c|run --vgpu web1 -- gover-ctl
vGPUs of --socket|GOVER_SOCKET=none gover-ctl --socket $sock why |web1,web2"

shows() { # shows NAME WORD,...: tests that TAB showed each WORD
  echo "$2" | tr , '\n' >"$dir/words"
  while read -r word; do
    grep -qF -e "$word" "$dir/shown.$1" || {
      echo "no $word in:"
      cat "$dir/shown.$1"
      return 1
    }
  done <"$dir/words"
}
for shell in bash zsh; do
  echo "$cases" | HOME=$dir zsh -f "$dir/type" "$shell" >/dev/null 2>&1
  echo "$cases" >"$dir/cases"
  while IFS='|' read -r name text words; do
    ok "$shell: TAB shows $name" shows "$shell.$name" "$words"
  done <"$dir/cases"
done
finish
