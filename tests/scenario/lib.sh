# Functions for all scenarios: TAP output, a daemon with its own folder, REST requests, and waiting for events. A
# scenario removes its processes and files at exit.
# shellcheck shell=sh
set -u
top=${top-$(cd "$(dirname "$0")" && until [ -f VERSION ] || [ "$PWD" = / ]; do cd ..; done && pwd)}
B=${B:-build}
case $B in /*) ;; *) B=$top/$B ;; esac
dir=$(mktemp -d "${TMPDIR:-/tmp}/gover-test.XXXXXX")
sock=$dir/gover.sock
conf=$dir/gover.conf
# A program without a sanitizer cannot load a library that was built with a sanitizer, so it loads the plain library.
# A program with AddressSanitizer does not start if such a library comes before the sanitizer's own, unless this check is
# off. Sanitizer reports are written to files, so that finish() also finds reports of programs whose exit status is not
# checked.
if [ -n "${GOVER_ASAN-}" ]; then
  GOVER_FPS_LIB=${B%/[at]san}/libgover-fps.so
  ASAN_OPTIONS=${ASAN_OPTIONS-}:handle_sigill=1:verify_asan_link_order=0:log_path=$dir/sanitizer
  TSAN_OPTIONS=log_path=$dir/sanitizer
  export GOVER_FPS_LIB ASAN_OPTIONS TSAN_OPTIONS
fi
# Containers have a filter of system calls that ends no program.
export GOVER_SANDBOX=errno
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

skip_all() { # skip_all REASON: the whole scenario cannot run on this machine
  echo "ok 1 - $(basename "$0") # SKIP $1"
  echo "1..1"
  exit 0
}

no_report() { # tests that no sanitizer has reported an error
  ! grep -hE '(ERROR|WARNING): |^ *#[0-9] ' "$dir"/sanitizer.* 2>/dev/null
}

finish() { # stops the daemon, if it runs, and ends the scenario
  if [ -n "$daemon_pid" ]; then
    stop
    is "the daemon stops with status 0" "$stopped" 0
  fi
  [ -z "${GOVER_ASAN-}" ] || ok "no sanitizer reported an error" no_report
  echo "1..$n"
  [ "$failures" -eq 0 ]
  exit $?
}

# GOVER_POLL: time between two polls, in twentieths of a second (1 to 19). Set a larger value where processes start slowly.
poll_s=$(printf "0.%02d" $((${GOVER_POLL:-1} * 5)))
until_ok() { # until_ok SECONDS command...: polls until the command succeeds; the limit is generous, not a measurement
  limit=$(($1 * 20 / ${GOVER_POLL:-1}))
  shift
  while ! "$@" >/dev/null 2>&1; do
    limit=$((limit - 1))
    [ "$limit" -gt 0 ] || return 1
    sleep "$poll_s"
  done
}

api() { # api METHOD PATH [BODY]: prints the body, writes the status to $dir/status
  : >"$dir/body" # without an answer, curl would leave the body of the answer before
  curl -sS --unix-socket "$sock" -X "$1" -o "$dir/body" -w '%{http_code}' \
    ${3+-H 'Content-Type: application/json' -d "$3"} "http://gover$2" >"$dir/status" 2>"$dir/curl.err"
  cat "$dir/body" 2>/dev/null
}

status() { cat "$dir/status"; }

get() { # get PATH FILTER: prints one value of an answer
  api GET "$1" | gojq -r "$2"
}

that() { # that PATH FILTER: succeeds if the daemon answers and the gojq filter returns true
  api GET "$1" | gojq -es "length == 1 and (.[0] | ($2))" >/dev/null
}

periods() { # periods N: waits for N more ticks
  ticks_before=$(get /v1/host .ticks)
  until_ok 60 that /v1/host ".ticks >= $ticks_before + $1"
}

sell() { # sell ID CAP [WORKLOAD [MEMBERS]]: creates a contract; MEMBERS are further JSON members
  labels=${3:+", \"labels\": {\"workload\": \"$3\"}"}
  api POST /v1/vgpus "{\"id\": \"$1\", \"initial_cap_pct\": $2$labels${4:+, $4}}" >/dev/null
}

load() { # load ID WORKLOAD: changes the workload of a simulated vGPU
  api PATCH "/v1/vgpus/$1" "{\"labels\": {\"workload\": \"$2\"}}" >/dev/null
}

claim() { # claim OFFER KEY ID [MEMBERS]: claims an offer; an empty KEY sends no idempotency key
  curl -sS --unix-socket "$sock" -X POST ${2:+-H "Idempotency-Key: $2"} -H 'Content-Type: application/json' \
    -o "$dir/body" -w '%{http_code}' -d "{\"id\": \"$3\"${4:+, $4}}" "http://gover/v1/offers/$1/claim" >"$dir/status"
}

alerts() { # alerts N NAME [VGPU]: succeeds if N such alerts are active
  that /v1/alerts "[.alerts[] | select(.name == \"$2\"${3:+ and .vgpu == \"$3\"})] | length == $1"
}

history() { sqlite3 -readonly "$dir/state/history.db" "$1"; }

recorded() { # recorded SQL: succeeds if the query on the history returns rows
  history "$1" | grep -q .
}

ctl() { "$B/gover-ctl" --socket "$sock" "$@"; }

# The range is below that of the ports that the kernel gives to clients.
free_port() { # free_port: prints a TCP port on which no program listens
  while :; do
    free=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 12000))
    curl -s -m 1 -o /dev/null "http://127.0.0.1:$free/"
    [ $? -ne 7 ] || break # 7: the connection was refused
  done
  echo "$free"
}

# REST over TCP with a token. Tokens are passed in files, because every user can read arguments.
tcp() { # tcp: finds a free $port and sets daemon_extra for sim_conf
  port=$(free_port)
  url=http://127.0.0.1:$port
  daemon_extra="listen = 127.0.0.1:$port"
}

receive_webhook() { # starts a webhook receiver that writes each body to $dir/bodies, and sets daemon_extra for sim_conf
  python3 "$top/tests/helper/http-sink.py" "$dir/port" "$dir/bodies" "$dir/answer" &
  cleanup="kill $! 2>/dev/null"
  until_ok 10 test -s "$dir/port" || exit 1
  daemon_extra="[alerts]
webhook = http://127.0.0.1:$(cat "$dir/port")/"
}

token() { # token NAME SCOPE [OPTION...]: creates a token in $dir/NAME.token, and its header in $dir/NAME.header
  token_name=$1 token_scope=$2
  shift 2
  rm -f "$dir/$token_name.token"
  "$B/gover-ctl" --socket "$sock" token add "$token_name" --scope "$token_scope" --out "$dir/$token_name.token" "$@" >/dev/null &&
    sed 's/^/Authorization: Bearer /' "$dir/$token_name.token" >"$dir/$token_name.header"
}

ask() { # ask NAME METHOD PATH [BODY]: sends a request over TCP with the token NAME ("" for none) and prints the status
  curl -sS ${1:+-H "@$dir/$1.header"} ${cacert:+--cacert "$cacert"} -X "$2" -D "$dir/head" -o "$dir/body" -w '%{http_code}' \
    ${4+-H 'Content-Type: application/json' -d "$4"} "$url$3"
}

# A value for conf_extra: a new vGPU gets only free cap, so that its first cap does not depend on earlier samples.
# shellcheck disable=SC2034
unfunded='[policy]
fund_fraction = 0'

# The configuration of most scenarios: the sim backend at ten times real speed, so that a period is 0.1 s. Caps are hard
# limits unless the scenario sets $sharing, so that the time of a vGPU is its cap.
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
sharing = ${sharing:-hard}
[fps]
socket = $dir/fps.sock
${conf_extra-}
EOF
  mkdir -p "$dir/poke"
}

# Shifts the clocks of the daemon by seconds: CLOCK_REALTIME and, in a simulated suspend of the host, CLOCK_BOOTTIME. Call
# it before start; later calls change the clocks of the running daemon.
start_container() { # start_container NAME: starts a mount namespace, whose process is $container. $dir/in is the folder $dir/tenant,
  # read-only; $dir/old/NAME is the socket $dir/NAME itself.
  mkdir "$dir/in" "$dir/old"
  touch "$dir/old/$1"
  unshare -m --propagation private sh -c 'mount --bind "$0/tenant" "$0/in" && mount -o remount,bind,ro "$0/in" &&
    mount --bind "$0/$1" "$0/old/$1" && echo >"$0/mounted" && exec sleep 600' "$dir" "$1" &
  container=$!
  cleanup="kill $container 2>/dev/null; $cleanup"
  until_ok 20 test -e "$dir/mounted"
}

shift_clock() { # shift_clock REALTIME_S [BOOTTIME_S]
  echo "$*" >"$dir/clock-shift"
  daemon_env="LD_PRELOAD=$B/tests/clock-shift CLOCK_SHIFT=$dir/clock-shift"
}

start() { # start [OPTION...]: starts the daemon and waits until it is ready
  # shellcheck disable=SC2086 # a list of variables
  env ${daemon_env-} "$B/gover-d" --config "$conf" "$@" >>"$dir/log" 2>&1 &
  daemon_pid=$!
  until_ok 20 curl -sSf --unix-socket "$sock" http://gover/readyz || {
    echo "# gover-d did not become ready"
    sed 's/^/# log: /' "$dir/log"
    return 1
  }
}

start_sim() { # starts a daemon with the configuration of most scenarios
  sim_conf
  start || exit 1
}

stop() { # stop [SIGNAL]: stops the daemon, waits, and sets $stopped to its exit status
  kill "-${1:-TERM}" "$daemon_pid" 2>/dev/null
  wait "$daemon_pid" 2>/dev/null
  stopped=$?
  daemon_pid=''
}

restart() { # restart [SIGNAL]: stops the daemon and starts it again
  stop "${1:-TERM}"
  start || exit 1
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
