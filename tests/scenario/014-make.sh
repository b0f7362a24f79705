#!/bin/sh
# Checks the rules of the Makefile without building anything: a helper program is rebuilt when a source on its line "Link:"
# changes, or a header of such a source.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$top" || exit 1
B=${B#"$top"/} # as in the dependency files of make

rebuilt() { # rebuilt FILE PROGRAM...: prints the helpers that make would build if FILE had changed
  changed=$1
  shift
  make -n ${changed:+-W "$changed"} B="$B" SANITIZE="${GOVER_ASAN:+-fsanitize=address,undefined -fsanitize-undefined-trap-on-error}" \
    "$@" 2>/dev/null | sed -n 's|.*"  HELP  tests/helper/\(.*\)\.c"$|\1|p' | sort | paste -sd ' '
}
awk '/^ \* Link: / { for (i = 3; i <= NF; i++) if ($i ~ /\.c$/) last[FILENAME] = $i }
  END { for (file in last) print file, last[file] }' tests/helper/*.c |
  sed 's|^tests/helper/||; s|\.c | |' >"$dir/linked"
# shellcheck disable=SC2046 # words
[ -z "$(rebuilt '' $(sed "s|^|$B/tests/|; s| .*||" "$dir/linked" | sort -u))" ] || skip_all "a source is newer than its program"
ok "helpers with linked sources are found" test -s "$dir/linked"
while read -r helper source; do
  [ -x "$B/tests/$helper" ] || continue # it cannot be built on this machine
  is "$helper is rebuilt after a change of $source" "$(rebuilt "$source" "$B/tests/$helper")" "$helper"
done <"$dir/linked"
[ ! -x "$B/tests/cl-arbiter" ] || is "and after a change of a header" "$(rebuilt compute/channel/wire.h "$B/tests/cl-arbiter")" cl-arbiter
finish
