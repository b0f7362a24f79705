#!/bin/sh
# Checks the source tree: headers of files, the order of includes, sizes of functions.
# Reads the sources only and prints file and line of each violation.
# shellcheck disable=SC2016 # text in single quotes is for awk
. "$(dirname "$0")/../lib.sh"
cd "$top" || exit 1

none() { # none "text": passes if $dir/complaints is empty
  ok "$1" test ! -s "$dir/complaints"
  sed 's/^/# /' "$dir/complaints"
}

files() { # files PATTERN...: prints the files in the folders of the project
  for pattern; do
    find .ci base compute db dist fps-preload gover-ctl gover-d gover-fleet gpu kernel monitor policy sim tests \
      -type f -name "$pattern" 2>/dev/null
  done
}

files '*.[ch]' >"$dir/c"
files '*' | xargs grep -Ham 1 '' | sed -nE 's/^([^:]*):#!.*\b(ba)?sh$/\1/p' >"$dir/scripts"
ok "sources and scripts are found" test -s "$dir/c" -a -s "$dir/scripts"

# --- how files begin ---

xargs awk '
  function file_ends() {
    if (file && !licence) print file ":1: no licence"
    if (file && !purpose) print file ":2: no word on what it is for"
  }
  FNR == 1 { file_ends(); file = FILENAME; licence = purpose = 0 }
  FNR == 1 && /^\/\* SPDX-License-Identifie[r]: .*MIT.* \*\/$/ { licence = 1 }
  FNR > 1 && FNR < 9 && /^( \*|\/\*) / && length($0) > 22 { purpose = 1 }
  END { file_ends() }' <"$dir/c" >"$dir/complaints"
none "every C file begins with its licence and its purpose"

xargs awk 'FNR == 2 && !(/^# / && length($0) > 21) { print FILENAME ":2: no word on what it is for" }' \
  <"$dir/scripts" >"$dir/complaints"
none "every script states its purpose"

while read -r file; do
  [ -x "$file" ] || echo "$file: not executable"
done <"$dir/scripts" >"$dir/complaints"
none "every script is executable"

# --- order of includes ---

# Headers in quotation marks without a folder belong to the kernel or to the folder of the file.
ok "CONTRIBUTING.md shows LAYERS" sh -c 'test -s LAYERS && grep -v "^#" LAYERS | sed "s/^/    /" >"$0" &&
  grep "^    [a-z]" CONTRIBUTING.md | grep -Fxf "$0" | cmp -s - "$0"' "$dir/layers"
grep -v '^#' LAYERS | tr ' ' '\n' | while read -r folder; do [ -d "$folder" ] || echo "LAYERS: $folder: does not exist"; done >"$dir/complaints"
none "LAYERS lists folders that exist"
xargs grep -Hn '^#include "' <"$dir/c" | awk -F : '
  function folder(path) { # the listed folder that contains the file; "": none
    while (!(path in level) && sub(/\/[^\/]*$/, "", path)) continue
    return path in level ? path : ""
  }
  BEGIN { # these folders use only files with such names
    only["fps-preload"] = "^(base/preload|fps-preload)/"
    only["gover-ctl"] = "^(base|gover-ctl)/|^gover-d/(config/config-path|model/contract).h$"
    only["gover-fleet"] = "^(base|gover-fleet)/"
    only["kernel"] = "^kernel/"
  }
  NR == FNR { for (i = split($0, name, " "); i > 0; i--) if (!/^#/) level[name[i]] = NR; next }
  {
    split($0, part, "\"")
    from = folder($1)
    to = folder(part[2])
    top = $1
    sub(/^tests\/kernel\/gover_.*/, "kernel/", top)
    sub(/\/.*/, "", top)
    other = part[2]
    sub(/\/.*/, "", other)
    if (part[2] !~ /\//) { if (top !~ /^(kernel|tests)$/) print; next }
    if (top in only && part[2] !~ only[top] || top != "tests" && other != top && other ~ /^(gover-ctl|gover-fleet|tests)$/) print
    else if (!from && top ~ /^(kernel|tests)$/ || from == to && from) next
    else if (!from || !to || level[to] >= level[from]) print
    else if (from == "monitor" && to == "fps-preload" && part[2] !~ /\/(wire|message)\.h$/) print
  }' LAYERS - >"$dir/complaints"
none "includes point to an earlier line of LAYERS; some folders use even fewer"

grep -l ' gpu/' "$B"/obj/gover-d/config/*.d >"$dir/complaints" 2>&1
none "gover-d/config/ includes no file of gpu/, also not through another header"

# A module is a .c file and its .h file. tsort prints each cycle of modules on stderr.
grep -E '^(base|compute|db|fps-preload|gover-ctl|gover-d|gover-fleet|gpu|kernel/sched|monitor|policy|sim|tests/(bench|double|workloads))/' "$dir/c" |
  xargs awk -F '"' '/^#include "/ {
    from = FILENAME
    to = $2
    sub(/\.[ch]$/, "", from)
    sub(/\.[ch]$/, "", to)
    if (from != to) print from, to
  }' | tsort 2>"$dir/complaints" >/dev/null
none "no include circle between modules"

# The same for the symbols of the objects. The objects of sources that were removed or moved stay in $B.
git_sources() { git ls-files --cached --others --exclude-standard '*.c' '*.S' 2>/dev/null || find . -name '*.[cS]'; }
git_sources | grep -v '^tests/' | sed "s|^\./||; s|\.[cS]$|.o|; s|^|$B/obj/|" | while read -r object; do [ ! -f "$object" ] || echo "$object"; done |
  xargs nm -A | awk -v prefix="$B/obj/" '
  function folder(path) {
    while (!(path in level) && sub(/\/[^\/]*$/, "", path)) continue
    return path in level ? path : ""
  }
  NR == FNR { for (i = split($0, name, " "); i > 0; i--) if (!/^#/) level[name[i]] = NR; next }
  { object = substr($1, length(prefix) + 1); sub(/\.o:.*/, "", object) }
  $(NF - 1) == "U" { uses[object, $NF]; next }
  $(NF - 1) ~ /^[TDBRVC]$/ { n_defined[$NF]++; defined[$NF] = object }
  END {
    for (use in uses) {
      split(use, part, SUBSEP)
      to = defined[part[2]]
      if (n_defined[part[2]] != 1 || to == part[1]) continue
      print part[1], to
      a = folder(part[1])
      b = folder(to)
      if (a && b && a != b && level[b] >= level[a]) print part[1] " uses " part[2] " of " to >"/dev/stderr"
    }
  }' LAYERS - 2>"$dir/complaints" | sort -u >"$dir/uses"
ok "objects are found" test -s "$dir/uses"
none "symbols point to an earlier line of LAYERS"
# Each of these files has a table of operations, and these functions use the file again.
grep -vE '^(compute/arbiter/turn|compute/cl/layer|gover-ctl/main/table|gpu/gvt/gvt) ' "$dir/uses" | tsort 2>"$dir/complaints" >/dev/null
none "no circle of objects, except through a table of operations"

# From Linux 6.8 on, <linux/vm_sockets.h> uses a type of <sys/socket.h>.
xargs awk '
  FNR == 1 { socket = 0 }
  /^#include <sys\/socket.h>/ { socket = 1 }
  /^#include <linux\/vm_sockets.h>/ && !socket { print FILENAME ":" FNR ": no <sys/socket.h> before <linux/vm_sockets.h>" }' \
  <"$dir/c" >"$dir/complaints"
none "headers of Linux that need one of libc come after it"

grep -Hn '^#include <' kernel/sched/*.[ch] | grep -vE '<std(int|def|bool)\.h>' >"$dir/complaints"
none "kernel/sched/ is freestanding"

grep -Hn '^#include <' compute/arbiter/*.[ch] | grep -vE '<std(int|def|bool)\.h>' >"$dir/complaints"
for file in compute/arbiter/*.c; do
  # gcc copies a struct by memcpy() or memset().
  "${CC:-gcc}" -std=gnu11 -ffreestanding -mgeneral-regs-only -Wall -Wextra -Werror -Os -I. -c -o "$dir/part.o" "$file" &&
    nm -u "$dir/part.o" | grep -vE ' (arbiter_[a-z_]+|memcpy|memset|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_)$' | sed "s|^|$file:|"
done >>"$dir/complaints" 2>&1
none "compute/arbiter/ calls no function of libc and uses no floating point"

# Compile these sources as in a kernel: no libc header, no floating point, no undefined symbol. The 32-bit build finds
# divisions of 64-bit numbers, because they call a libgcc function there.
# shellcheck disable=SC2086 # no word or one
for machine in "" $(echo "int x;" | "${CC:-gcc}" -m32 -xc -c -o /dev/null - 2>/dev/null && echo -m32); do
  for file in kernel/sched/*.c; do
    "${CC:-gcc}" $machine -std=gnu11 -ffreestanding -nostdinc -isystem "$("${CC:-gcc}" -print-file-name=include)" \
      -mgeneral-regs-only -Wall -Wextra -Wdeclaration-after-statement -Werror -Os -fno-pic -I. -c -o "$dir/part.o" "$file" &&
      nm -u "$dir/part.o" | grep -vE ' (sched|quanta)_[a-z_]+$' | sed "s|^|$file $machine:|"
  done
done >"$dir/complaints" 2>&1
none "kernel/sched/ compiles without libc, floating point and 64-bit division"

grep -nE '#include <(time|sys/|unistd|fcntl|pthread|signal|poll)' policy/*.[ch] policy/*/*.[ch] sim/model/*.[ch] sim/experiment/*.[ch] \
  tests/double/device/*.[ch] tests/bench/compute/*.[ch] >"$dir/complaints"
none "policy/, sim/model/, sim/experiment/, tests/double/device/ and tests/bench/compute/ include no system header: time is a parameter"

grep -nE '(^|[^a-z_])(exit|_exit|abort|printf|fprintf|puts|fputs|perror|syslog|sd_journal_[a-z]*)\(' \
  base/*.[ch] base/config/*.[ch] base/gpu/*.[ch] base/http/*.[ch] base/linux/*.[ch] policy/*.[ch] policy/*/*.[ch] kernel/sched/*.[ch] compute/arbiter/*.[ch] db/*.[ch] sim/model/*.[ch] tests/double/device/*.[ch] sim/experiment/*.[ch] \
  tests/bench/compute/*.[ch] gpu/*.[ch] gpu/*/*.[ch] \
  monitor/*.[ch] monitor/*/*.[ch] compute/channel/*.[ch] compute/tenant/*.[ch] compute/cl/*.[ch] |
  grep -vE '^(sim/experiment/report|base/xalloc)\.c:' >"$dir/complaints"
none "no library folder logs or exits, except when memory is exhausted"

grep -rnE '#include "base/xalloc.h"' base/preload compute fps-preload policy kernel --include='*.[ch]' >"$dir/complaints"
none "gover-arbiter and the libraries in customers' programs do not end when memory is exhausted"

# --- sizes ---

xargs awk '
  FNR == 1 { head = body = 0 }
  /^[A-Za-z_].*[^;]$/ && !body { if (!head) head = FNR }
  /^$/ && !body { head = 0 }
  /^[^ \t].*;$/ && !body { head = 0 }
  /^\{$/ { body = 1 }
  /^\}/ {
    if (body && FNR - head >= 60) print FILENAME ":" head ": a function of " FNR - head + 1 " lines"
    head = body = 0
  }' <"$dir/c" >"$dir/complaints"
none "no function is longer than 60 lines"

awk 'FNR > 350 || length > 110 { print FILENAME ":" FNR ": " $0 }' Makefile >"$dir/complaints"
none "the Makefile has at most 350 lines of 110 columns"

# --- forbidden contents ---

xargs awk '{ gsub(/"([^"\\]|\\.)*"/, "") } /\/\// { print FILENAME ":" FNR ": " $0 }' <"$dir/c" >"$dir/complaints"
none "no // comment"

cat "$dir/c" "$dir/scripts" | grep -v 'source/house' | xargs grep -nwE 'TODO|FIXME|XXX' >"$dir/complaints"
none "no TODO is left"

{
  [ -f "$B/libgover.a" ] || echo "$B/libgover.a is not built"
  objdump -t "$B/libgover.a" "$B"/obj/gover-*/main.o "$B"/obj/gover-ctl/main/main.o "$B"/obj/compute/server/main.o "$B"/obj/sim/host/main.o |
    awk '$2 == "g" && $3 == "O" && $4 ~ /^\.(data|bss)/ && $4 !~ /^\.data\.rel\.ro/ && $NF !~ /^__/ { print $NF }'
} >"$dir/complaints" 2>&1
none "there is no public mutable variable"

find gover-d -name '*.c' ! -path gover-d/model/cap.c -exec grep -nHE '(->|\.)cap(\.[a-z_]+)+ *([-+|&]?=([^=]|$)|\+\+|--)|(v|vgpu)(->|\.)cap =' {} + >"$dir/complaints"
none "only gover-d/model/cap.c changes a struct cap"

# The comments in struct vgpu and struct host_gpu name the files that change the members below them.
awk '
  /^struct (vgpu|host_gpu) \{$/ { inside = 1 }
  /^\};$/ { inside = 0 }
  inside && / --- .* --- / { owners = $0; gsub(/^[^a-z]*(changed by )?| ---.*|,/, "", owners) }
  inside && /^\t(}|[a-z].*;)/ {
    sub(/;.*/, ""); gsub(/\[[^]]*\]/, "")
    for (n = split($0, member, ","); n > 0; n--) { sub(/.*[^a-z0-9_]/, "", member[n]); print member[n], owners }
  }' gover-d/model/host.h >"$dir/owners"
ok "the members of struct vgpu and struct host_gpu have owners" test "$(wc -l <"$dir/owners")" -gt 60
find gover-d -name '*.c' -exec grep -nHoE \
  '\b(v|vgpu|gpu|host_gpu)->[a-z_0-9]+(\[[^]]*\]|\.[a-z_0-9]+)* *([-+|&]?=([^=]|$)|\+\+|--)' {} + >"$dir/writes"
awk '
  NR == FNR { owners[$1] = owners[$1] " " $0 " "; next }
  { split($0, at, ":"); member = at[3]; sub(/^[a-z_]+->/, "", member); sub(/[^a-z_0-9].*/, "", member)
    file = at[1]; sub(/^gover-d\//, "", file)
    if (member in owners && !index(owners[member], " " file " ")) print $0 ": another file than" owners[member] }
' "$dir/owners" "$dir/writes" >"$dir/complaints"
none "each member of struct vgpu and struct host_gpu is changed by its owner only"

for guide in docs/threats.md docs/sriov.md; do
  grep -oE '`[a-z]+/[^` ]+\.(c|sh|pml)`' $guide | tr -d '`' | sort -u >"$dir/named"
  ok "$guide names tests" test -s "$dir/named"
  while read -r file; do
    [ -f "tests/$file" ] || [ -f "$file" ] || echo "$guide: tests/$file: does not exist"
  done <"$dir/named" >"$dir/complaints"
  none "$guide names only tests that exist"
done

if git rev-parse --git-dir >/dev/null 2>&1; then
  git ls-files --cached --others --exclude-standard | grep -E '\.(o|a|so|d|tap|gcda|gcno)$|^build/' >"$dir/complaints"
  none "git tracks no built file"
else
  ok "git sees nothing that was built # SKIP not a git work tree" true
fi
finish
