# Functions of the demos: the daemon, REST, and chapters that show gover-ctl top. Sourced, never run.
# shellcheck shell=sh disable=SC2154
# The demo sets $out, the folder of the results, $socket, $log and $ctl.
B=${B:-build}
case $B in /*) ;; *) B=$PWD/$B ;; esac
seconds=${DEMO_SECONDS:-120}
case $seconds in '' | *[!0-9]*) echo "DEMO_SECONDS: '$seconds' is not a number" >&2; exit 2 ;; esac
if [ "$seconds" -lt 80 ]; then
  echo "DEMO_SECONDS: $seconds is too short (at least 80)" >&2
  exit 2
fi
daemon=''

say() { printf '\n\033[1m== %s\033[0m\n' "$*" | if [ -t 1 ]; then cat; else sed 's/\x1b\[[0-9]*m//g'; fi; }

rest() { curl -sS --unix-socket "$socket" "http://gover$1"; }
now() { cut -d. -f1 /proc/uptime; }

run_daemon() { # returns when the daemon is ready, fails if the daemon ends
  # The daemon and its helpers run on the first core. The software GPU is the last core.
  GOVER_DEMO_OUT=$out taskset -c 0 "$B/gover-d" --config "$out/gover.conf" >>"$log" 2>&1 &
  daemon=$!
  for _ in $(seq 100); do
    curl -sf --unix-socket "$socket" http://gover/readyz >/dev/null 2>&1 && return 0
    kill -0 "$daemon" 2>/dev/null || break
    sleep 0.1
  done
  wait "$daemon" 2>/dev/null || :
  daemon=''
  return 1
}

watch_for() { # watch_for SECONDS: shows the table
  until=$(($(now) + $1))
  while [ "$(now)" -lt "$until" ]; do
    if [ -t 1 ]; then
      $ctl top --once >"$out/top" 2>&1 && printf '\033[H\033[2J' && cat "$out/top"
      printf '\n%s\n' "$story"
      sleep 1
    else
      $ctl top --once || :
      sleep 5
    fi
  done
}

chapter() { # chapter SECONDS "what happens"
  story=$2
  say "$2"
  watch_for "$1"
}

fraction() { echo $((seconds * $1 / 120)); }
