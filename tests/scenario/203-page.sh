#!/bin/sh
# The files of the web page as the daemon serves them, without a browser: contents, types and ETags. No other file is
# served.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

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
is "gzip;q=0 forbids the compression" "$(encoding -H 'Accept-Encoding: gzip;q=0, *' http://gover/)" "200  Accept-Encoding"
is "an invalid Accept-Encoding is ignored" "$(encoding -H 'Accept-Encoding: gzip;q=high' http://gover/)" "200  Accept-Encoding"
is "the compressed page has its own ETag" "$(code -H "$gzip" -H "If-None-Match: $etag" http://gover/)" 200
packed_etag=$(header ETag)
is "the ETag of the compressed page is answered with 304" \
  "$(encoding -H "$gzip" -H "If-None-Match: $packed_etag" http://gover/)" "304  Accept-Encoding"
is "this ETag is not current for the uncompressed page" "$(code -H "If-None-Match: $packed_etag" http://gover/)" 200

# Answers of REST.
is "the description of REST is compressed on request" "$(encoding -H "$gzip" http://gover/openapi.json)" "200 gzip Accept-Encoding"
ok "the description is the same after decompression" unpacks "$top/gover-d/openapi/openapi.json"
is "metrics are compressed on request" "$(encoding -H "$gzip" http://gover/metrics)" "200 gzip Accept Accept-Encoding"
ok "metrics are complete after decompression" sh -c "gzip -dc '$dir/body' | grep -q '^gover_'"
is "a short answer is not compressed" "$(encoding -H "$gzip" http://gover/healthz)" "200  Accept-Encoding"
long=$(printf 'x%.0s' $(seq 230))
comma=''
long_labels=$(for i in $(seq 8); do printf '%s"l%s":"%s"' "$comma" "$i" "$long"; comma=,; done)
is "the answer to POST is not compressed" "$(encoding -H "$gzip" -H 'Content-Type: application/json' http://gover/v1/vgpus \
  -d "{\"id\":\"a\",\"gpu\":\"gpu0\",\"initial_cap_pct\":10,\"labels\":{$long_labels}}")" "201  "
ok "this answer is longer than answers to GET that are compressed" test "$(wc -c <"$dir/body")" -ge 1400
is "an object with an ETag for If-Match is not compressed" "$(encoding -H "$gzip" http://gover/v1/vgpus/a)" "200  "
is "the list that contains it is compressed" "$(encoding -H "$gzip" http://gover/v1/vgpus)" "200 gzip Accept-Encoding"
# More than 512 KiB are compressed while they are sent. The labels do not change, so their text can be compared.
for i in $(seq 200); do
  sell "v$i" 1 '' "\"gpu\": \"gpu$((i % 2 + 1))\", \"labels\": {$long_labels}"
done
all_labels() { jq -c '[.vgpus[] | [.id, .labels]]' | cksum; }
plain=$(page http://gover/v1/vgpus | all_labels)
ok "their list is longer than 512 KiB" test "$(page http://gover/v1/vgpus | wc -c)" -gt 524288
is "it is compressed" "$(encoding -H "$gzip" http://gover/v1/vgpus) $(header Transfer-Encoding)" "200 gzip Accept-Encoding chunked"
ok "it is much shorter then" test "$(wc -c <"$dir/body")" -lt 100000
is "it is the same after decompression" "$(gzip -dc "$dir/body" | all_labels)" "$plain"
is "so it is for a client of HTTP/1.0" "$(page -0 -H "$gzip" http://gover/v1/vgpus | gzip -dc | all_labels)" "$plain"
is "HEAD has the same header fields" "$(page -I -H "$gzip" http://gover/v1/vgpus | tr -d '\r' | sed -n 's/^Content-Encoding: //p')" gzip
page -s --limit-rate 2000 -m 1 -H "$gzip" -o /dev/null http://gover/v1/vgpus 2>/dev/null
ok "a client that goes away in the middle delays no tick" periods 3
is "an event stream is not compressed" "$(encoding -N -m 2 -H "$gzip" http://gover/v1/events 2>/dev/null)" "200  "

is "a file that is not embedded is not found" "$(code http://gover/web/embed.S)" 404
is "a path with .. is not found" "$(code --path-as-is 'http://gover/web/../Makefile')" 404
is "an escaped path with .. is not found" "$(code --path-as-is 'http://gover/web/%2e%2e%2fMakefile')" 404
is "POST / is not allowed" "$(code -X POST http://gover/)" 405
stop
finish
