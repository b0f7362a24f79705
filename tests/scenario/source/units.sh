#!/bin/sh
# Installs gover into a folder and checks the units: systemd accepts every line, the sandbox is tight, and every
# reference exists.
. "$(dirname "$0")/../lib.sh"
command -v systemd-analyze >/dev/null || skip_all "no systemd-analyze"

root=$dir/root
ok "make install writes below DESTDIR" \
  make -s -C "$top" B="$B" SANITIZE="${GOVER_ASAN:+-fsanitize=address,undefined -fsanitize-undefined-trap-on-error}" \
  install DESTDIR="$root" PREFIX=/usr
units=$root/usr/lib/systemd/system
fleet=$([ -x "$B/gover-fleet" ] && echo gover-fleet.service)

verify() { # verify WORD...: checks the unit files in $dir/verify
  mkdir -p "$dir/verify"
  # shellcheck disable=SC2086 # no word or one
  for unit in gover-d.service gover-restore.service $fleet gover.socket gover-tcp.socket; do
    sed "s|=/usr/sbin|=$root/usr/sbin|" "$units/$unit" >"$dir/verify/$unit"
  done
  # Ignore messages about other units of this machine.
  systemd-analyze verify --man=no --recursive-errors=no "$dir"/verify/*.service "$dir"/verify/*.socket >"$dir/verify.log" 2>&1 ||
    grep -q gover "$dir/verify.log" || : >"$dir/verify.log"
  cat "$dir/verify.log"
  [ ! -s "$dir/verify.log" ]
}
ok "systemd accepts the units" verify
for unit in gover-d gover-restore ${fleet%.service}; do
  ok "$unit has an exposure of at most 1.5" \
    systemd-analyze security --offline=yes --threshold=15 --no-pager "$dir/verify/$unit.service"
done
seconds() { # seconds KEY: prints a time of gover-d.service
  systemd-analyze timespan "$(sed -n "s/^$1=//p" "$units/gover-d.service")" | awk '/s: [0-9]+$/ { print $NF / 1000000 }'
}
starts=$(sed -n 's/^StartLimitBurst=//p' "$units/gover-d.service")
printf '[gpu gpu0]\nbackend = gvt\n' >"$dir/gvt.conf"
lease_s=$("$B/gover-d" --config "$dir/gvt.conf" --print-config | awk '$1 == "lease_ms" { print $3 / 1000 }')
cycle() { # cycle KEY: time from a start to the next start if the daemon hangs, in seconds
  echo "$(seconds "$1") + $(seconds TimeoutAbortSec) + $(seconds RestartSec)"
}
figures() { awk "BEGIN { exit !($1) }"; }
for hang in WatchdogSec TimeoutStartSec; do
  ok "a hang that is ended by $hang reaches the start limit" \
    figures "$starts * ($(cycle $hang)) < $(seconds StartLimitIntervalSec)"
done
ok "the contracts are restored before the default lease expires" \
  figures "$(cycle WatchdogSec) + $(seconds StartLimitIntervalSec) < $lease_s"
# systemd waits in four phases, each with this limit, before it gives up a process that cannot be killed.
ok "a restart ends before the default lease expires, also if a file of a GPU hangs and its thread cannot be killed" \
  figures "4 * $(seconds TimeoutStopSec) + $(seconds RestartSec) < $lease_s"
ok "five restarts do not reach the start limit" figures "$starts > 5"
is "a step of the start has the time of TimeoutStartSec" \
  "$(sed -n 's/^#define START_STEP_US \([0-9]*\)$/\1/p' "$top/gover-d/main.c")" "$(seconds TimeoutStartSec)000000"
dropped_in() { # dropped_in EXAMPLE: installs a drop-in as its comment describes, then verifies the units
  in=$(sed -n "s|^#   install .*/\\(gover-.*\\.service\\.d\\) .*|$dir/verify/\\1|p" "$1")
  mkdir -p "${in:?}" && cp "$1" "$in" && verify
}
for example in "$root"/usr/share/gover/examples/*.conf; do
  ok "$(basename "$example") is accepted as a drop-in" dropped_in "$example"
done
ok "the arbiter of backend lib outlives the daemon" grep -qx KillMode=process "$root/usr/share/gover/examples/lib.conf"
rm -r "$dir"/verify/*.d
sed -i 's/^LockPersonality/LockPersonalty/' "$dir/verify/gover-d.service"
ok "an unknown key is reported" \
  sh -c "! systemd-analyze verify --man=no --recursive-errors=no '$dir/verify/gover-d.service'"

pages_exist() {
  sed -n 's/^Documentation=//p' "$units"/* | tr ' ' '\n' | sed 's/^man:\(.*\)(\(.\))$/\1.\2/' | sort -u |
    while read -r page; do ls "$root/usr/share/man/man${page##*.}/$page" || exit; done
}
ok "each manual page in Documentation= is installed" pages_exist
ok "no placeholder is left" sh -c "! grep -rE '@[A-Z]+@' '$root/usr/lib' '$root/usr/share/gover' --include=*.conf --include=*.service"
for example in "$root"/usr/share/gover/examples/*.ini; do
  ok "$(basename "$example") is a valid configuration" "$B/gover-d" --config "$example" --check-config
done

if [ -n "$fleet" ]; then
  ok "fleet.conf.example is a valid configuration" \
    "$B/gover-fleet" --config "$root/usr/share/doc/gover-fleet/fleet.conf.example" --check-config
fi

ok "sysusers.d creates the user and both groups" sh -c "mkdir -p '$root/etc' && systemd-sysusers --root='$root' &&
  grep -q '^gover:' '$root/etc/passwd' && grep -q '^gover:' '$root/etc/group' && grep -q '^gover-read:' '$root/etc/group'"
made() { systemd-tmpfiles --root="$root" --create gover.conf && stat -c '%a %G' "$root/run/gover"; }
if [ "$(id -u)" -eq 0 ]; then
  ok "tmpfiles.d creates the folder of the sockets" made
  is "and the folder that containers mount" "$(stat -c %a "$root/run/gover/tenant")" 755
fi

# The only installed header. A program of a customer needs no other file of gover.
header_compiles() { # header_compiles LANGUAGE: with warnings as errors
  # shellcheck disable=SC2086 # CC may have arguments
  printf '#include <gover-slice.h>\nint f(cl_platform_id p, cl_kernel k);\nint f(cl_platform_id p, cl_kernel k) { %s }\n' \
    'return gover_slice_declare(p, k, 0);' | ${CC:-cc} -x "$1" -Wall -Wextra -Werror -I"$root/usr/include" -c -o "$dir/header.o" -
}
if [ -e "$B/libgover-cl.so" ]; then
  for language in c c++; do
    ${CC:-cc} -x $language -c -o "$dir/empty.o" /dev/null || continue # no compiler for this language
    ok "a program that includes only gover-slice.h compiles as $language" header_compiles $language
  done
fi

ok "the runbook is installed" diff -r "$top/docs/runbook" "$root/usr/share/doc/gover/runbook"

if [ -e "$B/gover-fleet" ] && [ -e "$B/libgover-cl.so" ]; then # otherwise some manual pages are not installed
  ok "each reference in installed files leads to an installed file" "$top/tests/check-links" "$root"
fi

uninstalled() {
  make -s -C "$top" B="$B" SANITIZE="${GOVER_ASAN:+-fsanitize=address,undefined -fsanitize-undefined-trap-on-error}" \
    uninstall DESTDIR="$root" PREFIX=/usr >"$dir/uninstall.log" && touch "$root/usr/share/kept" &&
    [ "$(find "$root/usr" ! -type d)" = "$root/usr/share/kept" ] && [ ! -e "$root/usr/share/gover" ] &&
    [ ! -e "$root/usr/share/doc/gover" ]
}
ok "make uninstall removes every installed file and keeps others" uninstalled
uninstall_fails() { ! TMPDIR=$dir/missing make -s -C "$top" B="$B" uninstall DESTDIR="$root" PREFIX=/usr 2>/dev/null; }
ok "make uninstall fails if it cannot determine the installed files" uninstall_fails

finish
