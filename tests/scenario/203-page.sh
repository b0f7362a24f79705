#!/bin/sh
# The page's files out of the daemon, without a browser (that is make check-web): every file of gover-d/web/ as it is, its type,
# asked for again for nothing, and nothing that was not built in.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

sim_conf
start || exit 1
page() { curl -sS --unix-socket "$sock" "$@"; }
code() { page -o "$dir/body" -D "$dir/head" -w '%{http_code}' "$@"; }
header() { tr -d '\r' <"$dir/head" | sed -n "s/^$1: //Ip"; }

is "the page is at /" "$(code http://gover/)" 200
ok "as it stands in gover-d/web/" cmp "$dir/body" "$top/gover-d/web/index.html"
is "it is HTML" "$(header Content-Type)" "text/html; charset=utf-8"
ok "no script stands in it, and none may come from elsewhere" \
  sh -c "grep -q \"default-src 'none'; script-src 'self'; style-src 'self'\" '$dir/head' && ! grep -qE '<script>|<style|style=| on[a-z]+=' '$dir/body'"
etag=$(header ETag)
is "asked for again it is not sent again" \
  "$(page -o "$dir/none" -w '%{http_code} %{size_download}' -H "If-None-Match: $etag" http://gover/)" "304 0"
is "another one is" "$(code -H 'If-None-Match: "other"' http://gover/)" 200

for file in "$top"/gover-d/web/*; do
  name=${file##*/}
  case $name in
  index.html | embed.S) continue ;;
  *.js) type='text/javascript; charset=utf-8' ;;
  *.css) type='text/css; charset=utf-8' ;;
  *.svg) type=image/svg+xml ;;
  *) type=unknown ;;
  esac
  is "$name" "$(code "http://gover/web/$name") $(header Content-Type) $(cmp "$dir/body" "$file" && echo same)" "200 $type same"
done
is "the chart library too, or nothing in its place" "$(code http://gover/web/dygraph.min.js) $(wc -c <"$dir/body")" \
  "200 $(wc -c <"$B/web/dygraph.min.js")"

is "what was not built in is not there" "$(code http://gover/web/embed.S)" 404
is "nor what lies beside" "$(code --path-as-is 'http://gover/web/../Makefile')" 404
is "nor by another way of writing it" "$(code --path-as-is 'http://gover/web/%2e%2e%2fMakefile')" 404
is "the page is only read" "$(code -X POST http://gover/)" 405
stop
finish
