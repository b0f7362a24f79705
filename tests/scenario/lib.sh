# What every scenario shares: TAP, a daemon of its own with its own folder, and waiting for what should
# happen. Sourced, never run. Must never leave a process or a control group behind.
# shellcheck shell=sh
set -u
top=${top-$(cd "$(dirname "$0")/../.." && pwd)}
B=${B:-build}
case $B in /*) ;; *) B=$top/$B ;; esac
dir=$(mktemp -d "${TMPDIR:-/tmp}/gover-test.XXXXXX")
sock=$dir/gover.sock
conf=$dir/gover.conf
# A library with a sanitizer in it cannot be loaded into programs that have none: they get the plain one.
# What a sanitizer says goes to a file, so that finish() hears of programs whose end nobody looks at.
if [ -n "${GOVER_ASAN-}" ]; then
  GOVER_FPS_LIB=${B%/asan}/libgover-fps.so
  ASAN_OPTIONS=${ASAN_OPTIONS-}:handle_sigill=1:log_path=$dir/sanitizer
  export GOVER_FPS_LIB ASAN_OPTIONS
fi
n=0 failures=0 daemon_pid='' cleanup=''

ok() { # ok "text" command...: passes when the command succeeds
  text=$1
  shift
  n=$((n + 1))
  if "$@" >"$dir/ok.out" 2>&1; then
    echo "ok $n - $text"
  else
    failures=$((failures + 1))
    echo "not ok $n - $text"
    echo "# $*"
    sed 's/^/# /' "$dir/ok.out" | tail -n 12
    [ -f "$dir/log" ] && tail -n 6 "$dir/log" | sed 's/^/# log: /'
  fi
}

is() { # is "text" GOT WANTED
  ok "$1" test "$2" = "$3"
  [ "$2" = "$3" ] || echo "# got '$2', wanted '$3'"
}

skip_all() { # the whole scenario cannot run here
  echo "ok 1 - $(basename "$0") # SKIP $1"
  echo "1..1"
  exit 0
}

no_report() { # none of the programs was found at fault by a sanitizer
  ! grep -hE 'ERROR: |^ *#[0-9] ' "$dir"/sanitizer.* 2>/dev/null
}

finish() {
  [ -z "${GOVER_ASAN-}" ] || ok "the sanitizers have nothing to say" no_report
  echo "1..$n"
  [ "$failures" -eq 0 ]
  exit $?
}

# GOVER_POLL twentieths of a second between two looks; more, 1 to 19, where a process is dear to start.
poll_s=$(printf "0.%02d" $((${GOVER_POLL:-1} * 5)))
until_ok() { # until_ok SECONDS command...: polls; a generous limit, not a measure
  limit=$(($1 * 20 / ${GOVER_POLL:-1}))
  shift
  while ! "$@" >/dev/null 2>&1; do
    limit=$((limit - 1))
    [ "$limit" -gt 0 ] || return 1
    sleep "$poll_s"
  done
}

api() { # api METHOD PATH [BODY]: prints the body, keeps the status in $dir/status
  curl -sS --unix-socket "$sock" -X "$1" -o "$dir/body" -w '%{http_code}' \
    ${3+-H 'Content-Type: application/json' -d "$3"} "http://gover$2" >"$dir/status" 2>"$dir/curl.err"
  cat "$dir/body" 2>/dev/null
}

status() { cat "$dir/status"; }

get() { # get PATH FILTER: one value out of an answer
  api GET "$1" | jq -r "$2"
}

that() { # that PATH FILTER: true when the jq filter gives true
  api GET "$1" | jq -e "$2" >/dev/null
}

periods() { # periods N: the daemon lives through N more; the way to wait for what must not happen
  end=$(($(get /v1/host .ticks) + $1))
  until_ok 60 that /v1/host ".ticks >= $end"
}

sell() { # sell ID CAP [WORKLOAD [MEMBERS]]: a contract; MEMBERS are more of its JSON
  labels=${3:+", \"labels\": {\"workload\": \"$3\"}"}
  api POST /v1/vgpus "{\"id\": \"$1\", \"initial_cap_pct\": $2$labels${4:+, $4}}" >/dev/null
}

load() { # load ID WORKLOAD: what it does from now on
  api PATCH "/v1/vgpus/$1" "{\"labels\": {\"workload\": \"$2\"}}" >/dev/null
}

claim() { # claim OFFER KEY ID [MEMBERS]: without a key where KEY is empty
  curl -sS --unix-socket "$sock" -X POST ${2:+-H "Idempotency-Key: $2"} -H 'Content-Type: application/json' \
    -o "$dir/body" -w '%{http_code}' -d "{\"id\": \"$3\"${4:+, $4}}" "http://gover/v1/offers/$1/claim" >"$dir/status"
}

alerts() { # alerts N NAME [VGPU]: true when so many of them stand
  that /v1/alerts "[.alerts[] | select(.name == \"$2\"${3:+ and .vgpu == \"$3\"})] | length == $1"
}

history() { sqlite3 -readonly "$dir/state/history.db" "$1"; }

recorded() { # recorded SQL: true when the history has such rows
  history "$1" | grep -q .
}

ctl() { "$B/gover-ctl" --socket "$sock" "$@"; }

# REST over TCP, where a token says who asks. It is only ever in files: an argument is seen by everybody.
tcp() { # tcp: finds a $port; to be given to sim_conf as listen, by daemon_extra
  port=$((20000 + $$ % 20000))
  while curl -s -o /dev/null "http://127.0.0.1:$port/"; do port=$((port + 1)); done
  url=http://127.0.0.1:$port
  daemon_extra="listen = 127.0.0.1:$port"
}

hear_webhook() { # alerts go to $dir/bodies, a JSON text each; for sim_conf, by daemon_extra
  "$B/tests/http-sink" "$dir/port" "$dir/bodies" "$dir/answer" &
  cleanup="kill $! 2>/dev/null"
  until_ok 10 test -s "$dir/port" || exit 1
  daemon_extra="[alerts]
webhook = http://127.0.0.1:$(cat "$dir/port")/"
}

token() { # token NAME SCOPE [OPTION...]: makes one, in $dir/NAME.token, and as a header in $dir/NAME.header
  token_name=$1 token_scope=$2
  shift 2
  rm -f "$dir/$token_name.token"
  "$B/gover-ctl" --socket "$sock" token add "$token_name" --scope "$token_scope" --out "$dir/$token_name.token" "$@" >/dev/null &&
    sed 's/^/Authorization: Bearer /' "$dir/$token_name.token" >"$dir/$token_name.header"
}

ask() { # ask NAME METHOD PATH [BODY]: over TCP with that token, none where NAME is empty; prints the status
  curl -sS ${1:+-H "@$dir/$1.header"} ${cacert:+--cacert "$cacert"} -X "$2" -D "$dir/head" -o "$dir/body" -w '%{http_code}' \
    ${4+-H 'Content-Type: application/json' -d "$4"} "$url$3"
}

# For conf_extra: a newcomer gets the free pool alone, so that its first cap does not hang on what was seen by then.
# shellcheck disable=SC2034
unfunded='[policy]
fund_fraction = 0'

# The configuration of most scenarios: sim at 10 times the real speed, so that a period is a tenth second.
sim_conf() {
  cat >"$conf" <<EOF
[daemon]
socket = $sock
state_dir = $dir/state
period_ms = ${period_ms:-100}
${daemon_extra-}
[gpu gpu0]
backend = sim
speed = ${speed:-10}
root = $dir/poke
[fps]
socket = $dir/fps.sock
${conf_extra-}
EOF
  mkdir -p "$dir/poke"
}

start() { # start [OPTION...]: the daemon, ready
  "$B/gover-d" --config "$conf" "$@" >>"$dir/log" 2>&1 &
  daemon_pid=$!
  until_ok 20 curl -sSf --unix-socket "$sock" http://gover/readyz || {
    echo "# gover-d did not become ready"
    sed 's/^/# log: /' "$dir/log"
    return 1
  }
}

stop() { # stop [SIGNAL]: and waits for the end; its exit status is in $stopped
  kill "-${1:-TERM}" "$daemon_pid" 2>/dev/null
  wait "$daemon_pid" 2>/dev/null
  # shellcheck disable=SC2034 # read by scenarios
  stopped=$?
  daemon_pid=''
}

end() {
  rc=$?
  [ -n "$daemon_pid" ] && kill -KILL "$daemon_pid" 2>/dev/null
  eval "$cleanup"
  wait 2>/dev/null
  rm -rf "$dir"
  exit $rc
}
trap end EXIT
trap 'exit 130' INT TERM
