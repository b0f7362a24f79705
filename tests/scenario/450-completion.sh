#!/bin/sh
# What bash and zsh make of a TAB: both typed at as a person would, in a terminal. Every verb and option is offered,
# and what the daemon knows by name.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"
command -v zsh >/dev/null || skip_all "no zsh"
zsh -fc 'zmodload zsh/zpty' 2>/dev/null || skip_all "zsh has no terminal to type at"
[ -r /usr/share/bash-completion/bash_completion ] || skip_all "no bash-completion"

sim_conf
start || exit 1
sell web1 50
sell web2 50
mkdir "$dir/bin" "$dir/functions"
cp "$B/gover-ctl" "$dir/bin/gover-ctl"
ok "a script for bash is made" sh -c "'$B/gover-ctl' completion bash >'$dir/bash'"
ok "and one for zsh" sh -c "'$B/gover-ctl' completion zsh >'$dir/functions/_gover-ctl'"
"$B/gover-ctl" completion fish >"$dir/out" 2>&1
is "no other" "$?" 2
ok "bash reads it" bash -n "$dir/bash"
ok "zsh reads it" zsh -n "$dir/functions/_gover-ctl"
export GOVER_SOCKET="$sock"
is "an option is offered once" "$("$B/gover-ctl" __complete -- vgpu hold web1 --cap 5 --ca | cut -f 1)" --cacert
is "the verb for the scripts is hidden" "$("$B/gover-ctl" help | grep -c __complete)" 0

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
# type SHELL: types each TEXT of the lines NAME|TEXT|AWAITED and TAB TAB at the shell; what that showed goes to
# shown.SHELL.NAME. bash shows what is typed where its terminal echoes.
zmodload zsh/zpty
shell=$1 seen= piece= name= text= awaited=
case $shell in
bash) zpty -eb t "TERM=dumb COLUMNS=400 LINES=400 bash --noprofile --rcfile $HOME/bash.rc -i" ;;
zsh) zpty -b t "TERM=dumb COLUMNS=400 LINES=400 ZDOTDIR=$HOME zsh -i" ;;
esac
wait_for() { # wait_for PATTERN TWENTIETHS: more output until it holds it, or the time is over
  local -i left=$2
  while ((left-- > 0)); do
    while zpty -rt t piece 2>/dev/null; do seen+=$piece; done
    [[ $seen != ${~1} ]] || return 0
    sleep 0.05
  done
}
wait_for '*ready> *' 400
while IFS='|' read -r name text awaited; do
  seen=
  zpty -nw t "$text"$'\t\t'
  wait_for "*$awaited*" 200
  wait_for 'never' 6 # and what comes with it
  print -r -- "$seen" | tr -d '\r\007' | sed 's/\x1b\[[0-9;?]*[A-Za-z]//g' >"$HOME/shown.$shell.$name"
  seen=
  zpty -nw t $'\C-c'
  wait_for '*ready> *' 200
done
zpty -d t
EOF

first_words=$("$B/gover-ctl" help | sed -n '3,/^Options of every verb/s/^  \([a-z]*\).*/\1/p' | sort -u)
second_words=$("$B/gover-ctl" help | sed -n 's/^  vgpu \([a-z]*\).*/\1/p')
options=$("$B/gover-ctl" vgpu add --help | sed -n 's/^  \(--[a-z-]*\).*/\1/p')
cat >"$dir/cases" <<EOF
verbs|gover-ctl |status
family|gover-ctl vgpu |release
options|gover-ctl vgpu add --|--target-fps
written|gover-ctl econ|economics
vgpus|gover-ctl why |web1
value|gover-ctl decisions --vgpu |web1
gpus|gover-ctl drain |gpu0
keys|gover-ctl policy set lowload|lowload_pct=
files|gover-ctl config check $dir/bash.|bash.rc
command|gover-ctl run --vgpu web1 -- gover-c|run --vgpu web1 -- gover-ctl
socket|GOVER_SOCKET=none gover-ctl --socket $sock why |web1
EOF

shows() { # shows NAME WORD...: TAB in that case showed each of these
  shown=$dir/shown.$shell.$1
  shift
  for word; do
    grep -q -e "$word" "$shown" || {
      echo "no $word in:"
      cat "$shown"
      return 1
    }
  done
}
for shell in bash zsh; do
  HOME=$dir zsh -f "$dir/type" "$shell" <"$dir/cases" >/dev/null 2>&1
  # shellcheck disable=SC2086 # lists
  ok "$shell: every verb" shows verbs $first_words
  # shellcheck disable=SC2086
  ok "$shell: what follows vgpu" shows family $second_words
  # shellcheck disable=SC2086
  ok "$shell: every option of a verb" shows options $options
  ok "$shell: a verb is written out" shows written economics
  ok "$shell: vGPUs by name" shows vgpus web1 web2
  ok "$shell: after an option that takes one" shows value web1 web2
  ok "$shell: GPUs" shows gpus gpu0
  ok "$shell: keys of the policy" shows keys lowload_pct=
  ok "$shell: files" shows files bash.rc
  ok "$shell: the command to run" shows command 'run --vgpu web1 -- gover-ctl'
  ok "$shell: the socket that was named counts" shows socket web1 web2
done
stop
finish
