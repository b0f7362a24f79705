#!/bin/sh
# The files of the web page as the daemon serves them, without a browser: contents, types and ETags. No other file is
# served.
. "$(dirname "$0")/../lib.sh"

conf_extra='[gpu gpu1]
backend = sim
speed = 10
sharing = hard
[gpu gpu2]
backend = sim
speed = 10
sharing = hard
[offer]
max_vgpus = 100' sim_conf
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


# Every file, compressed.
gzip='Accept-Encoding: gzip, deflate, br'
encoding() { # encoding CURL-ARGUMENT...: the status and the headers that depend on Accept-Encoding
  echo "$(code "$@") $(header Content-Encoding) $(header Vary | paste -s -d " ")"
}
unpacks() { gzip -dc "$dir/body" | cmp - "$1"; }
for file in index.html "$B/web/dygraph.min.js" gover.css; do
  case $file in index.html) path=/ ;; *) path=/web/${file##*/} ;; esac
  case $file in /*) ;; *) file=$top/gover-d/web/$file ;; esac
  is "$path is compressed on request" "$(encoding -H "$gzip" "http://gover$path")" "200 gzip Accept-Encoding"
  ok "$path is the same after decompression" unpacks "$file"
  is "HEAD $path has the same length" "$(header Content-Length)" \
    "$(page -I -H "$gzip" "http://gover$path" | tr -d '\r' | sed -n 's/^Content-Length: //p')"
done
is "without Accept-Encoding, the page is not compressed" "$(encoding http://gover/)" "200  Accept-Encoding"
is "gzip with a weight does not select it" "$(encoding -H 'Accept-Encoding: gzip;q=0, *' http://gover/)" "200  Accept-Encoding"
is "the compressed page has its own ETag" "$(code -H "$gzip" -H "If-None-Match: $etag" http://gover/)" 200
packed_etag=$(header ETag)
is "the ETag of the compressed page is answered with 304" \
  "$(encoding -H "$gzip" -H "If-None-Match: $packed_etag" http://gover/)" "304  Accept-Encoding"
is "this ETag is not current for the uncompressed page" "$(code -H "If-None-Match: $packed_etag" http://gover/)" 200

is "the description of REST is compressed on request" "$(encoding -H "$gzip" http://gover/openapi.json)" "200 gzip Accept-Encoding"
ok "the description is the same after decompression" unpacks "$top/gover-d/openapi/openapi.json"
is "no other answer is compressed" "$(encoding -H "$gzip" http://gover/metrics)" "200  Accept"

is "a file that is not embedded is not found" "$(code http://gover/web/embed.S)" 404
is "a path with .. is not found" "$(code --path-as-is 'http://gover/web/../Makefile')" 404
is "an escaped path with .. is not found" "$(code --path-as-is 'http://gover/web/%2e%2e%2fMakefile')" 404
is "POST / is not allowed" "$(code -X POST http://gover/)" 405
finish
