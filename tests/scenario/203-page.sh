#!/bin/sh
# The files of the web page as the daemon serves them, without a browser: contents, types and ETags. No other file is
# served.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

sim_conf
start || exit 1
page() { curl -sS --unix-socket "$sock" "$@"; }
code() { page -o "$dir/body" -D "$dir/head" -w '%{http_code}' "$@"; }
header() { tr -d '\r' <"$dir/head" | sed -n "s/^$1: //Ip"; }

is "/ is served" "$(code http://gover/)" 200
ok "/ is index.html" cmp "$dir/body" "$top/gover-d/web/index.html"
is "/ has the type HTML" "$(header Content-Type)" "text/html; charset=utf-8"
ok "the page contains no inline script and allows none from other hosts" \
  sh -c "grep -q \"default-src 'none'; script-src 'self'; style-src 'self'\" '$dir/head' && ! grep -qE '<script>|<style|style=| on[a-z]+=' '$dir/body'"
etag=$(header ETag)
is "a matching ETag is answered with 304" \
  "$(page -o "$dir/none" -w '%{http_code} %{size_download}' -H "If-None-Match: $etag" http://gover/)" "304 0"
is "another ETag is answered with the page" "$(code -H 'If-None-Match: "other"' http://gover/)" 200

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
is "the chart library is served, or empty if it was not built in" "$(code http://gover/web/dygraph.min.js) $(wc -c <"$dir/body")" \
  "200 $(wc -c <"$B/web/dygraph.min.js")"

is "a file that is not embedded is not found" "$(code http://gover/web/embed.S)" 404
is "a path with .. is not found" "$(code --path-as-is 'http://gover/web/../Makefile')" 404
is "an escaped path with .. is not found" "$(code --path-as-is 'http://gover/web/%2e%2e%2fMakefile')" 404
is "POST / is not allowed" "$(code -X POST http://gover/)" 405
stop
finish
