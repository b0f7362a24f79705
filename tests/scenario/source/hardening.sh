#!/bin/sh
# A plain `make` hardens each program and library as the Debian packages do, and other users of the host cannot read the
# state of the daemon.
. "$(dirname "$0")/../lib.sh"

hardened() { # hardened FILE: its functions cannot be rebound after the start, and its stack is guarded and not executable
  readelf -Wd "$1" >"$dir/dynamic" && readelf -Wl "$1" >"$dir/segments" && readelf -Ws "$1" >"$dir/symbols" || return
  grep -q 'FLAGS_1.*NOW' "$dir/dynamic" && grep -q GNU_RELRO "$dir/segments" &&
    ! grep -q 'GNU_STACK.*E ' "$dir/segments" && grep -q __stack_chk_fail "$dir/symbols"
}
position_independent() { readelf -Wd "$1" | grep -q 'FLAGS_1.*PIE'; }
fortified() { readelf -Ws "$1" | grep -q '__[a-z]*_chk@'; }
tracked() { # tracked FILE FUNCTION: this function begins with an instruction that marks it as a target of indirect branches
  objdump -d --no-show-raw-insn --disassemble="$2" "$1" | grep -A1 "<$2>:" | grep -q endbr
}

# A failed allocation ends a program that uses base/xalloc.h.
ends_without_memory() { readelf -Ws "$1" | grep -q ' xalloc_fail$'; }
survives_without_memory() { ! ends_without_memory "$1"; }

if [ -z "${GOVER_ASAN-}" ] && readelf --version >/dev/null 2>&1; then
  for program in gover-d gover-arbiter gover-ctl gover-fleet gover-sim; do
    [ -f "$B/$program" ] || continue
    ok "$program is position-independent" position_independent "$B/$program"
    ok "$program has checks in functions of the C library" fortified "$B/$program"
  done
  for file in gover-d gover-arbiter gover-ctl gover-fleet gover-sim libgover-fps.so libgover-fps-layer.so libgover-cl.so 32/libgover-fps.so; do
    [ -f "$B/$file" ] || continue
    case $file in *-cl.so) function=clInitLayer ;; *.so) function=connection_poll ;; *) function=main ;; esac
    ok "$file is hardened" hardened "$B/$file"
    case $file in
    gover-arbiter | *.so) ok "$file does not end if memory is exhausted" survives_without_memory "$B/$file" ;;
    *) ok "$file ends if memory is exhausted" ends_without_memory "$B/$file" ;;
    esac
    case $(uname -m) in x86_64 | i?86) ok "$file marks the targets of indirect branches" tracked "$B/$file" $function ;; esac
  done
  is "gover-d replaces no function that receives bytes" "$(nm -D "$B/gover-d" | grep -E ' T (recv|gnutls_)')" ""
else
  n=$((n + 1))
  echo "ok $n - hardened programs # SKIP these programs have sanitizers, or readelf is missing"
fi

# --- the state directory ---

umask 022
printf '[daemon]\nsocket = %s\nstate_dir = %s/new/state\n[gpu]\nbackend = sim\n' "$sock" "$dir" >"$conf"
start || exit 1
mode() { stat -c %a "$dir/new/state/$1" | tr '\n' ' '; }
is "only the group of the daemon may read the state directory" "$(mode .)" "750 "
is "only its group may read the history" "$(mode history.db)" "640 "
is "files that sqlite adds have the same mode" "$(mode history.db-wal)" "640 "
finish
