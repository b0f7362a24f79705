#!/bin/sh
# The file VERSION is the only place of the version: each program prints it, and each document that repeats it agrees.
. "$(dirname "$0")/../lib.sh"
cd "$top" || exit 1
version=$(cat VERSION)

ok "VERSION is three numbers" expr "$version" : '[0-9][0-9]*\.[0-9][0-9]*\.[0-9][0-9]*$'
for program in gover-d gover-ctl gover-sim gover-arbiter gover-fleet; do
  [ ! -x "$B/$program" ] || is "$program prints it" "$("$B/$program" --version)" "$program $version"
done
recompiled() { # recompiled FILE: make would compile it if VERSION had changed
  make -n -W VERSION B="$B" "$B/obj/${1%.c}.o" 2>/dev/null | grep -qF "CC    $1"
}
ok "a change of it compiles gover-d again" recompiled gover-d/main.c
is "the REST description has it" "$(gojq -r .info.version gover-d/openapi/openapi.json)" "$version"
is "it is the newest version in CHANGELOG.md" "$(sed -n 's/^## \([0-9][0-9.]*\).*/\1/p' CHANGELOG.md | head -n 1)" "$version"
[ ! -d debian ] || is "it is the upstream version of the packages" "$(sed -n '1s/^gover (\(.*\)-[^-]*) .*/\1/p' debian/changelog)" "$version"
finish
