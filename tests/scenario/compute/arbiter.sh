#!/bin/sh
# gover-arbiter with programs on the device double: its command line and sockets, tenants of control groups, its end and return.
. "$(dirname "$0")/../compute/lib.sh"
arbiter=$B/gover-arbiter
where=${dir:?}/compute.sock
layer=$B/libgover-cl.so
[ -e "$layer" ] || skip_all "libgover-cl.so was not built: no OpenCL headers"

ctl_() { timeout 20 "$B/tests/compute-ctl" "$where" "$@"; }

value() { # value INDEX NAME: prints a value of a tenant
  ctl_ list | awk -v index_="index=$1" -v name="$2" '
    $1 == index_ { for (i = 2; i <= NF; i++) if (split($i, part, "=") == 2 && part[1] == name) print part[2] }'
}

at_least_of() { # at_least_of INDEX NAME N
  got=$(value "$1" "$2" 2>/dev/null)
  [ "${got:-0}" -ge "$3" ]
}

program() { # program LABEL OPTION...: starts cl-tenant under the layer; sets $program_pid
  label=$1
  shift
  OPENCL_LAYERS=$layer GOVER_CL=unix:$where GOVER_DOUBLE_LABEL=$label "$B/tests/cl-tenant" "$@" >"$dir/$label.out" 2>&1 &
  program_pid=$!
}

start_arbiter() {
  "$arbiter" --socket "$where" "$@" 2>"$dir/arbiter.log" &
  arbiter_pid=$!
  cleanup="kill -KILL $arbiter_pid 2>/dev/null; $cleanup"
  until_ok 30 ctl_ device
}

no_sockets() { [ ! -e "$where" ] && [ ! -e "$where.control" ]; }

stop_arbiter() {
  kill "$arbiter_pid"
  wait "$arbiter_pid"
}

# --- command line ---

while read -r status arguments; do
  # shellcheck disable=SC2086 # several arguments
  timeout 20 "$arbiter" $arguments >"$dir/out" 2>"$dir/err"
  is "gover-arbiter $arguments: exit status" $? "$status"
done <<END
0 --help
0 --version
0 --list
2 --slice 0
2 --slice 1001
2 --slice x
2 --discipline none
2 --nothing
2 argument
1 --socket /nonexistent/folder/that/cannot/be/created/because/the/path/is/much/too/long/for/a/unix/socket/whose/limit/is/107
END
"$arbiter" --discipline none 2>"$dir/err"
is "a wrong value is named" "$(head -n 1 "$dir/err")" "gover-arbiter: --discipline none is not allowed (allowed: see --list)"

# --- sockets ---

timeout 20 "$arbiter" --socket "$where" --name double --background </dev/null
is "--background returns when the sockets are open" $? 0
is "all users can connect to the socket for programs" "$(stat -c %a "$where")" 666
is "only the user of the arbiter can connect to the control socket" "$(stat -c %a "$where.control")" 600
timeout 20 "$arbiter" --socket "$where" 2>"$dir/err"
is "a second arbiter of the socket ends" $? 3
ok "its message names the socket" grep -q "$where" "$dir/err"
ok "the first one still answers" ctl_ device
background=$(ps -eo pid,args | awk -v path="$where" '$2 ~ /gover-arbiter$/ && index($0, path) { print $1 }')
is "the daemon is no child of its caller" "$(ps -o sid= -p "$background" | tr -d ' ' | grep -c "^$$\$")" 0
kill "$background"
ok "SIGTERM removes the sockets" until_ok 30 no_sockets

# --- one program ---

near() { [ $((($1 - $2) * 1000)) -le "$2" ] && [ $((($2 - $1) * 1000)) -le "$2" ]; }
# Most launches are estimated from measured ones. A program that is preempted between its reading of the clock and its launch has
# less time counted, so up to three programs run, each with an arbiter and a label of its own.
for try in 1 2 3; do
  start_arbiter --discipline fair
  program "try$try" --us 500 --launches 400 --depth 4 --seconds 60
  wait "$program_pid"
  ran=$? busy_ns=$(value 0 busy_ns) true_ns=$(truth "try$try" busy_ns)
  near "$busy_ns" "$true_ns" && break
  echo "# try $try: $busy_ns ns counted, $true_ns ns used"
  [ "$try" -eq 3 ] || stop_arbiter
done
is "a program of no tenant runs" "$ran" 0
is "each of its launches is counted" "$(value 0 units)" 400
ok "its device time is counted, within 0.1 %" near "$busy_ns" "$true_ns"
is "it has left" "$(value 0 clients)" 0
ok "the arbiter has no error to report" test "$(grep -c . "$dir/arbiter.log")" -eq 1

# --- the end of the arbiter, and its return ---

program one --us 500 --depth 4 --seconds 60
until_ok 30 at_least_of 0 units 450
kill -KILL "$arbiter_pid"
wait "$arbiter_pid" 2>/dev/null
before=$(truth one launches)
ok "after the arbiter was killed, a program runs on" until_ok 30 at_least one launches $((before + 500))
start_arbiter
ok "the socket of the killed arbiter is replaced, and the program comes back" until_ok 30 at_least_of 0 units 100
stop_arbiter
before=$(truth one launches)
ok "the program also runs on after a normal end" until_ok 30 at_least one launches $((before + 500))
kill "$program_pid"
wait "$program_pid"

# --- tenants ---

group=
for hierarchy in /sys/fs/cgroup/cpu /sys/fs/cgroup/cpu,cpuacct /sys/fs/cgroup; do
  if [ -z "$group" ] && [ -w "$hierarchy/cgroup.procs" ] && mkdir "$hierarchy/gover-test-$$"; then
    group=$hierarchy/gover-test-$$
  fi
done
if [ -n "$group" ]; then
  start_arbiter --discipline cap
  mkdir "$group/a" "$group/a/below" "$group/b"
  cleanup="$cleanup rmdir $group/a/below $group/a $group/b $group 2>/dev/null;"
  name=/${group##*/}
  is "the first tenant has index 1" "$(ctl_ add "$name/a" cap=20 memory=100000)" 1
  is "the second has index 2" "$(ctl_ add "$name/b" cap=60)" 2
  inside() { # inside GROUP LABEL OPTION...: a program in a group
    inside_group=$group/$1
    shift
    label=$1
    shift
    OPENCL_LAYERS=$layer GOVER_CL=unix:$where GOVER_DOUBLE_LABEL=$label sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' \
      "$inside_group" "$B/tests/cl-tenant" "$@" >"$dir/$label.out" 2>&1 &
    program_pid=$!
  }
  inside a a --us 500 --depth 4 --launches 200 --seconds 60
  a=$program_pid
  inside a/below below --us 500 --depth 4 --launches 200 --seconds 60
  below=$program_pid
  inside b b --us 500 --depth 4 --launches 300 --seconds 60
  wait "$program_pid"
  wait "$a"
  wait "$below"
  is "the programs of a group and of a group below it are one tenant" "$(value 1 units)" 400
  is "those of another group are another" "$(value 2 units)" 300
  is "no other tenant had work" "$(value 0 units)" 0
  inside a big --us 100 --launches 1 --allocate 200000
  wait "$program_pid"
  is "memory beyond the limit of the tenant is refused" $? 1
  is "the refusal is counted" "$(value 1 refused)" 1
  inside b big --us 100 --launches 1 --allocate 200000
  wait "$program_pid"
  is "the other tenant has no limit" $? 0
  stop_arbiter
else
  ok "tenants of control groups # SKIP no writable control group" true
fi
finish
