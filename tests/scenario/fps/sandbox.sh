#!/bin/sh
# The library and the Vulkan layer under seccomp filters that forbid the system calls that they make, except those with which
# they look for a filter: no program ends or prints anything. Filters of all actions come into force before exec, inside the first present, and between two presents.
. "$(dirname "$0")/../fps/lib.sh"
unset GOVER_SANDBOX
[ -n "${GOVER_ASAN-}" ] && skip_all "a sanitizer makes system calls of its own"
"$B/tests/fps-deny" kill:getrandom true || skip_all "no seccomp filter can be set here"
grep -q '^Seccomp:.0' /proc/self/status || skip_all "a filter is in force already"
layer=$B/libgover-fps-layer.so

# The loader needs the last calls, so they cannot be forbidden before exec. fps-draw needs them at its end.
some=socket,connect,sendmsg,sendto,recvfrom,recvmsg,memfd_create,ftruncate,madvise,poll,ppoll,getsockopt,getdents64,fcntl,getpid
every=$some,openat,close,fstat,newfstatat

program() { # program WHAT: sets the words that run 130 presents, one each 10 ms
  case $1 in
  library) words="env LD_LIBRARY_PATH=$gl LD_PRELOAD=$preload $B/tests/fps-draw direct-glx 130 10000" late=$some ;;
  layer) words="$B/tests/fps-vk $layer slow 130" late=$every ;;
  esac
}

filtered() { # filtered ACTION MOMENT: runs $words under fps-sink; prints its totals and what was printed
  step=0 deny=''
  case $2 in
  exec) deny="$B/tests/fps-deny $1:$some" ;;
  first) step=1 ;;
  later) step=50 ;;
  esac
  # shellcheck disable=SC2086 # words of commands
  "$B/tests/fps-sink" "$fps" env GOVER_FPS="${where-unix:$fps}" SANDBOX="$1:$late" SANDBOX_STEP=$step $deny $words \
    2>"$dir/err" | tail -n 1
  cat "$dir/err"
}

for what in library layer; do
  [ $what = library ] || [ -e "$layer" ] || continue
  program $what
  for action in errno trap kill; do
    is "$what, $action before exec: no frame is counted" "$(filtered $action exec)" "frames 0 programs 0 refused 0 exit 0"
    is "$what, $action in the first frame: no frame is counted" "$(filtered $action first)" \
      "frames 0 programs 0 refused 0 exit 0"
    is "$what, $action in the 50th frame: the page goes on counting" "$(filtered $action later)" \
      "frames 130 programs 1 refused 0 exit 0"
  done
  for where in vsock:1:7007 port:org.gover.none; do
    is "$what, $where, kill in the 50th frame: the program continues" "$(filtered kill later)" \
      "frames 0 programs 0 refused 0 exit 0"
  done
  unset where
  is "$what, filter before exec, GOVER_SANDBOX=errno: all frames are counted" \
    "$(late='' some=ppoll GOVER_SANDBOX=errno filtered errno exec)" "frames 130 programs 1 refused 0 exit 0"
  is "$what, GOVER_SANDBOX=errno, a second filter: the program continues" \
    "$(GOVER_SANDBOX=errno words="$B/tests/fps-deny errno:ppoll $words" filtered kill later)" \
    "frames 130 programs 1 refused 0 exit 0"
  is "$what, GOVER_FPS_DEBUG=1 prints why nothing is counted" "$(GOVER_FPS_DEBUG=1 filtered kill exec | tail -n +2)" \
    "gover-fps: a seccomp filter is in force (see GOVER_SANDBOX); no further system calls, no reports"
done

if [ -e "$layer" ]; then
  program layer
  words="env LD_PRELOAD=$preload $words"
  is "the library beside the layer: they print it once" \
    "$(GOVER_FPS_DEBUG=1 filtered kill exec | grep -c 'a seccomp filter is in force')" 1
fi

program library
is "no search for a GL library that is not loaded" "$(late=openat && export GOVER_FPS_GPU_TIME=1 && filtered kill later)" \
  "frames 130 programs 1 refused 0 exit 0"

processes() { # processes HOW STEP: runs fps-draw HOW, whose processes or threads enter a filter at this present
  "$B/tests/fps-sink" "$fps" env GOVER_FPS="unix:$fps" SANDBOX="kill:$some" SANDBOX_STEP="$2" \
    LD_LIBRARY_PATH="$gl" LD_PRELOAD="$preload" "$B/tests/fps-draw" "$1" 100 2>&1 | tail -n 1
}
is "a filter of a forked child and of its parent: the page of the parent goes on counting" "$(processes fork 101)" \
  "frames 200 programs 1 refused 0 exit 0"
is "the same for a child created by clone() directly" "$(processes clone 101)" "frames 200 programs 1 refused 0 exit 0"
# The C library calls madvise() when a thread ends.
ok "a filter of one thread of 16" expr "$(some=$(echo "$some" | sed "s/madvise,//") && processes threads 1)" : '.* exit 0$'

words="env LD_LIBRARY_PATH=$gl LD_PRELOAD=$preload GOVER_FPS_MAX=100 $B/tests/fps-draw direct-glx 30"
some=clock_nanosleep late=clock_nanosleep
for moment in exec first later; do
  is "no pause to pace frames, $moment" "$(where=off && filtered kill $moment)" "frames 0 programs 0 refused 0 exit 0"
done
finish
