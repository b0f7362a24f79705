#!/bin/sh
# Completion in bash and zsh, tested by typing in a terminal: verbs, options, and names that the daemon knows.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/../lib.sh"
command -v zsh >/dev/null || skip_all "no zsh"
zsh -fc 'zmodload zsh/zpty' 2>/dev/null || skip_all "zsh has no zsh/zpty"
[ -r /usr/share/bash-completion/bash_completion ] || skip_all "no bash-completion"

sim_conf
start || exit 1
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
# type SHELL: reads lines NAME|TEXT|AWAITED, types each TEXT and TAB TAB in the shell, and writes the screen output to
# shown.SHELL.NAME. gover-ctl offers no names if the daemon does not answer in time, as on a busy machine: a user then types TAB
# again. bash needs an echoing terminal.
zmodload zsh/zpty
shell=$1 seen= piece= name= text= awaited= try=
case $shell in
bash) zpty -eb t "TERM=dumb COLUMNS=400 LINES=400 bash --noprofile --rcfile $HOME/bash.rc -i" ;;
zsh) zpty -b t "TERM=dumb COLUMNS=400 LINES=400 ZDOTDIR=$HOME zsh -i" ;;
esac
wait_for() { # wait_for PATTERN TWENTIETHS: reads output until PATTERN matches; fails when the time is over
  local -i left=$2
  while ((left-- > 0)); do
    while zpty -rt t piece 2>/dev/null; do seen+=$piece; done
    [[ $seen != ${~1} ]] || return 0
    sleep 0.05
  done
  return 1
}
wait_for '*ready> *' 400
while IFS='|' read -r name text awaited; do
  seen=
  zpty -nw t "$text"$'\t\t'
  for try in 1 2 3 4; do
    wait_for "*$awaited*" 100 && break
    zpty -nw t $'\t\t'
  done
  wait_for 'never' 6 # reads the rest of the output
  print -r -- "$seen" | tr -d '\r\007' | sed 's/\x1b\[[0-9;?]*[A-Za-z]//g' >"$HOME/shown.$shell.$name"
  seen=
  zpty -nw t $'\C-c'
  wait_for '*ready> *' 200
done
zpty -d t
EOF

first_words=$("$B/gover-ctl" help all | sed -n '/^Options of every verb/q; s/^  \([a-z][a-z]*\) .*/\1/p' | sort -u)
second_words=$("$B/gover-ctl" help all | sed -n 's/^  vgpu \([a-z]*\).*/\1/p')
options=$("$B/gover-ctl" vgpu add --help | sed -n 's/^  \(--[a-z-]*\).*/\1/p')
is "help completes the groups" "$("$B/gover-ctl" __complete -- help s | cut -f 1 | sort | tr '\n' ' ')" \
  "selling silence simulate status support "
is "the value of -o is completed" "$("$B/gover-ctl" __complete -- vgpu list -o w | cut -f 1)" wide
is "a list has its columns as sort keys" "$("$B/gover-ctl" __complete -- vgpu list --sort u)" used
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

shows() { # shows NAME WORD...: tests that TAB showed each WORD
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
  ok "$shell: second words of vgpu" shows family $second_words
  # shellcheck disable=SC2086
  ok "$shell: every option of a verb" shows options $options
  ok "$shell: a verb is completed" shows written economics
  ok "$shell: vGPUs" shows vgpus web1 web2
  ok "$shell: the value of an option" shows value web1 web2
  ok "$shell: GPUs" shows gpus gpu0
  ok "$shell: policy keys" shows keys lowload_pct=
  ok "$shell: files" shows files bash.rc
  ok "$shell: the command to run" shows command 'run --vgpu web1 -- gover-ctl'
  ok "$shell: --socket selects the daemon" shows socket web1 web2
done
stop
finish
