#!/bin/sh
# What every verb prints, word by word: against a daemon of fixed answers (tests/golden/daemon), through a pipe,
# on a wide terminal and on a narrow one, with what was asked of the daemon. Compared to tests/golden/NAME;
# `make golden` (GOLDEN=renew) writes those anew: look at what git says has changed before you commit it.
# top's pictures on a terminal are in 406. doctor tells of this machine, help
# grows with every verb: they are not here.
# shellcheck disable=SC2317 # functions that "ok" calls
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

golden=$top/tests/golden
export LC_ALL=C.UTF-8 TERM=xterm
unset COLUMNS NO_COLOR GOVER_SOCKET
cd "$dir" || exit 1
"$B/tests/fake-daemon" "$sock" "$golden/daemon" "$dir/asked" &
fake=$!
cleanup="kill $fake 2>/dev/null"
until_ok 20 test -S "$sock"
from="--from 2026-11-20T18:49:40Z --to 2026-11-20T18:50:40Z"

plain() { # an escape and this run's socket made readable
  sed "s|$sock|SOCKET|g; s/$(printf '\033')/\\\\e/g; s/\r//g; s/ *\$//"
}

# The range that top asks for ends now.
asked() { sed -E 's/^/asked: /; s/from=[0-9]{10}&to=[0-9]{10}/from=T\&to=T/' "$dir/asked"; }

on_terminal() { # on_terminal COLUMNS ARG...
  columns=$1
  shift
  echo
  echo "--- on $columns columns"
  script -qec "stty cols $columns rows 40; '$B/gover-ctl' --socket '$sock' $*" /dev/null </dev/null | plain
}

tell() { # tell ARG...: the golden text
  : >"$dir/asked"
  echo "$ gover-ctl $*"
  # shellcheck disable=SC2068 # words
  ctl $@ >"$dir/out" 2>"$dir/err" </dev/null
  code=$?
  plain <"$dir/out"
  sed 's/^/stderr: /' "$dir/err" | plain
  echo "exit $code"
  asked
}

compare() { # compare NAME: $dir/told with what it was
  if [ "${GOLDEN-}" = renew ]; then
    cp "$dir/told" "$golden/$1"
  fi
  ok "$1" diff -u "$golden/$1" "$dir/told"
}

shown() { # shown NAME ARG...: a table: also on terminals
  name=$1
  shift
  {
    tell "$@"
    on_terminal 120 "$@"
    on_terminal 60 "$@"
  } >"$dir/told"
  compare "$name"
}

said() { # said NAME ARG...: a sentence
  name=$1
  shift
  tell "$@" >"$dir/told"
  compare "$name"
}

shown status status
shown vgpu-list vgpu list --gpu gpu0
shown vgpu-show vgpu show web1
shown history history web1 "$from" --step 1s
shown economics economics --from 2026-11-20T18:00:00Z --to 2026-11-20T19:00:00Z
shown alerts alerts --all
shown decisions decisions --vgpu web1 --limit 3 --after 39
shown why why web1
shown offers offers --all
shown policy-show policy show
shown top top --once --sort -util
said simulate simulate "$from" --gpu gpu0 --set overload_pct=80 --no-newcomers
said vgpu-add vgpu add new1 --cap 25 --gpu gpu0 --vm spielhalle-2 --label tenant=orchid --target-fps 30 --cid 9 \
  --min-cap 5 --weight 2 --burst --flavor default --fps-limit 60
said vgpu-set vgpu set web1 --cap 40 --label rack= --label row=3 --no-burst
said vgpu-hold vgpu hold web1 --cap 34
said vgpu-release vgpu release web1
said vgpu-remove vgpu remove web1
said freeze freeze
said thaw thaw gpu0
said drain drain gpu0
said ack ack 3
said claim claim 2 --id new1 --key k-1 --vm spielhalle-2
said policy-set policy set overload_pct=90 paper_mode=off lowload_pct=default
said refused vgpu show nobody
finish
