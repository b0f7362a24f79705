#!/bin/sh
# libgover-cl.so under seccomp filters that forbid the system calls that it makes, except those with which it looks for a
# filter: the program ends normally, with the results that it has without the layer. Filters of all actions come into force
# before exec, at the first launch, between two launches, and while the program waits for its turns.
. "$(dirname "$0")/../lib.sh"
unset GOVER_SANDBOX OPENCL_LAYERS GOVER_CL GOVER_CL_DEBUG
layer=$B/libgover-cl.so calls=$B/tests/cl-calls arbiter=$B/tests/cl-arbiter
export POCL_CACHE_DIR="$dir/pocl" POCL_MAX_PTHREAD_COUNT=1
mkdir -p "$POCL_CACHE_DIR"
[ -n "${GOVER_ASAN-}" ] && skip_all "a sanitizer makes system calls of its own"
[ -e "$layer" ] || skip_all "libgover-cl.so was not built: no OpenCL headers"
"$calls" launch 400 >"$dir/plain" 2>&1 || skip_all "no OpenCL device (pocl-opencl-icd)"
"$B/tests/fps-deny" kill:getrandom true || skip_all "no seccomp filter can be set here"
grep -q '^Seccomp:.0' /proc/self/status || skip_all "a filter is in force already"
forbidden=socket,connect,sendmsg,recvmsg,recvfrom,memfd_create,ftruncate,poll,ppoll,getpid

filtered() { # filtered ACTION MOMENT MODE: prints the exit status, what differs, and the launches that were counted
  step=0 deny=''
  case $2 in
  exec) deny="$B/tests/fps-deny $1:$forbidden" ;;
  *) step=$2 ;;
  esac
  # shellcheck disable=SC2086 # words of a command
  SANDBOX=$1:$forbidden SANDBOX_STEP=$step timeout 60 "$arbiter" "$dir/socket" "$3" \
    env OPENCL_LAYERS="$layer" $deny "$calls" launch 400 >"$dir/all" 2>"$dir/err"
  echo "exit $?"
  grep -v '^clients ' "$dir/all" | diff "$dir/plain" -
  cat "$dir/err"
  sed -n 's/^clients .* \(units [0-9]*\) .*/\1/p' "$dir/all"
}

for action in errno trap kill; do
  is "$action before exec: the program runs without control" "$(filtered $action exec none)" "exit 0
units 0"
  is "$action at the first launch, which waits for a turn: only this launch is counted" "$(filtered $action 1 none)" "exit 0
units 1"
  is "$action at the 200th launch, with a turn: control needs no call" "$(filtered $action 200 turn)" "exit 0
units 400"
  for mode in slices slow; do
    said=$(filtered $action 200 $mode)
    is "$action at the 200th launch, $mode: the program ends normally" "${said% *}" "exit 0
units"
    ok "launches before are counted: ${said##* }" test "${said##* }" -ge 100
  done
done
is "GOVER_CL_DEBUG=1 prints why there is no control" "$(GOVER_CL_DEBUG=1 filtered kill exec none | sed -n 2p)" \
  "gover-cl: a seccomp filter is in force (see GOVER_SANDBOX); no further system calls, no reports"
is "GOVER_SANDBOX=errno: the program is under control" \
  "$(forbidden=ppoll GOVER_SANDBOX=errno && export GOVER_SANDBOX && filtered errno exec turn)" "exit 0
units 400"
finish
