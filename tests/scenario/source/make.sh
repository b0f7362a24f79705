#!/bin/sh
# Checks the rules of the Makefile without building anything: a program of the tests is linked again when one of its sources
# changes, or a header of such a source.
. "$(dirname "$0")/../lib.sh"
cd "$top" || exit 1
B=${B#"$top"/} # as in the dependency files of make

linked() { # linked FILE PROGRAM...: prints the programs that make would link if FILE had changed
  changed=$1
  shift
  make -n ${changed:+-W "$changed"} B="$B" SANITIZE="${GOVER_ASAN:+-fsanitize=address,undefined -fsanitize-undefined-trap-on-error}" \
    "$@" 2>/dev/null | sed -n "s|.*\"  LD    $B/tests/\(.*\)\"\$|\1|p" | sort | paste -sd ' '
}
cat >"$dir/sources" <<'END'
cl-arbiter compute/channel/reading.c
cl-arbiter compute/channel/wire.h
cl-conformance tests/workloads/kernels/device.c
cl-scribble base/preload/sealed-memfd.c
compute-ctl compute/channel/control.c
double-truth tests/double/store.c
double-truth tests/double/device/device.c
fleet-hosts gover-fleet/model/mapping.c
fps-sink base/xalloc.c
test-base base/parse.c
test-base tests/unit/unit.c
test-base tests/unit/unit.h
END
# shellcheck disable=SC2046 # words
[ -z "$(linked '' $(sed "s|^|$B/tests/|; s| .*||" "$dir/sources" | sort -u))" ] || skip_all "a source is newer than its program"
while read -r program source; do
  [ -x "$B/tests/$program" ] || continue # it cannot be built on this machine
  is "$program is linked again after a change of $source" "$(linked "$source" "$B/tests/$program")" "$program"
done <"$dir/sources"
finish
