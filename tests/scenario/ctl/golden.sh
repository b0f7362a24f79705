#!/bin/sh
# The exact output of every verb, with a daemon of fixed replies (tests/golden/daemon): in a pipe, on a wide terminal and
# on a narrow one, and the requests that were sent. Compared with tests/golden/NAME; `make golden` (GOLDEN=renew) writes
# these files anew, to be reviewed with git diff. Not here: top on a terminal (top.sh), doctor (depends on the machine) and
# the help of single verbs.
# shellcheck disable=SC2317 # functions that "ok" calls
. "$(dirname "$0")/../lib.sh"

golden=$top/tests/golden
export LC_ALL=C.UTF-8 TERM=xterm
unset COLUMNS NO_COLOR GOVER_SOCKET
cd "$dir" || exit 1
python3 "$top/tests/helper/fake-daemon.py" "$sock" "$golden/daemon" "$dir/asked" &
fake=$!
cleanup="kill $fake 2>/dev/null"
until_ok 20 test -S "$sock"
# Ages count from this time: 12 seconds after the time of the replies.
cat >"$dir/gover-ctl" <<EOF
#!/bin/sh
export LD_PRELOAD='$B/tests/clock-shift' CLOCK_FIXED=$(date -d 2026-11-20T18:50:08Z +%s)
exec '$B/gover-ctl' --socket '$sock' "\$@"
EOF
chmod +x "$dir/gover-ctl"
from="--from 2026-11-20T18:49:40Z --to 2026-11-20T18:50:40Z"

plain() { # makes escape sequences and the socket's path readable
  sed "s|$sock|SOCKET|g; s/$(printf '\033')/\\\\e/g; s/\r//g; s/ *\$//"
}

asked() { sed 's/^/asked: /' "$dir/asked"; }

on_terminal() { # on_terminal COLUMNS ARG...
  columns=$1
  shift
  echo
  echo "--- on $columns columns"
  script -qec "stty cols $columns rows 40; '$dir/gover-ctl' $*" /dev/null </dev/null | plain
}

run_verb() { # run_verb ARG...: prints the golden text
  : >"$dir/asked"
  echo "$ gover-ctl $*"
  # shellcheck disable=SC2068 # words
  "$dir/gover-ctl" $@ >"$dir/out" 2>"$dir/err" </dev/null
  code=$?
  plain <"$dir/out"
  sed 's/^/stderr: /' "$dir/err" | plain
  echo "exit $code"
  asked
}

compare() { # compare NAME: compares $dir/printed with the golden file
  if [ "${GOLDEN-}" = renew ]; then
    cp "$dir/printed" "$golden/$1"
  fi
  ok "$1" diff -u "$golden/$1" "$dir/printed"
}

table() { # table NAME ARG...: prints in a pipe and on terminals
  name=$1
  shift
  {
    run_verb "$@"
    on_terminal 120 "$@"
    on_terminal 60 "$@"
  } >"$dir/printed"
  compare "$name"
}

line() { # line NAME ARG...: prints in a pipe only
  name=$1
  shift
  run_verb "$@" >"$dir/printed"
  compare "$name"
}

table status status
table vgpu-list vgpu list --gpu gpu0
table vgpu-list-wide vgpu list --output wide --sort -used --selector tenant
line vgpu-list-names vgpu list -o name -l 'tenant!=orchid'
line vgpu-list-json vgpu list -o json --sort note --selector row
table vgpu-show vgpu show web1
table history history web1 "$from" --step 1s
table work-show vgpu show infer1
table work-history history infer1 "$from" --step 1s
table economics economics --from 2026-11-20T18:00:00Z --to 2026-11-20T19:00:00Z
table alerts alerts --all
table decisions decisions --vgpu web1 --limit 3 --after 39
line decisions-bare decisions --no-headers --sort -id
table why why web1
line why-removed why gone
line why-json why web1 --json
line why-old-daemon why infer1
table offers offers --all
table policy-show policy show
line top top --once
line top-sorted top --once --sort -util
line simulate simulate "$from" --gpu gpu0 --set overload_pct=80 --no-newcomers
line vgpu-add vgpu add new1 --cap 25 --gpu gpu0 --vm spielhalle-2 --label tenant=orchid --target-fps 30 --cid 9 \
  --min-cap 5 --weight 2 --burst --flavor default --fps-limit 60
line vgpu-set vgpu set web1 --cap 40 --label rack= --label row=3 --no-burst
line work-set vgpu set infer1 --target-rate 1200
line vgpu-hold vgpu hold web1 --cap 34
line vgpu-release vgpu release web1
line vgpu-remove vgpu remove web1
line freeze freeze
line thaw thaw gpu0
line drain drain gpu0
line ack ack 3
line claim claim 2 --id new1 --key k-1 --vm spielhalle-2
line policy-set policy set overload_pct=90 paper_mode=off lowload_pct=default
line refused vgpu show missing
line refused-json vgpu show missing --json
line help help
finish
