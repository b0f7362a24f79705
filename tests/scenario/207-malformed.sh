#!/bin/sh
# Malformed requests on the unix socket, on TCP and on TLS: each gets one error reply and the end of its connection. A
# request that is hidden in the body of another one gets no reply.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

refused() { # refused KIND PLACE: every malformed request is refused
  "$B/tests/http-malformed" "$@" >"$dir/refused" 2>&1 && return
  cat "$dir/refused"
  return 1
}

tcp
sim_conf
start || exit 1
ok "malformed requests on the unix socket are refused" refused unix "$sock"
ok "malformed requests on TCP are refused" refused tcp "$port"
is "the table has requests" "$(grep -cE '^[1-9][0-9]+ requests, 0 failed$' "$dir/refused")" 1
is "normal requests are answered" "$(ask '' GET /healthz) $(get /v1/host .vgpus)" "200 []"
ok "the refusals are counted" sh -c "curl -sS --unix-socket '$sock' http://gover/metrics |
  grep -q '^gover_http_requests_total{.*status=\"431\"} [1-9]'"
api GET "/v1/host?$(seq -s '&' 300)" >/dev/null
is "300 query parameters are answered" "$(status)" 414
is "the answer is a problem document" "$(jq -r '"\(.status) \(.title): \(.detail)"' "$dir/body")" \
  "414 URI Too Long: query: too many parameters (limit 64)"
stop
is "the daemon stops with status 0" "$stopped" 0

if command -v openssl >/dev/null; then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
    -keyout "$dir/tls.key" -out "$dir/tls.pem" 2>/dev/null
  chmod 600 "$dir/tls.key"
  daemon_extra="$daemon_extra
tls_certificate = $dir/tls.pem
tls_key = $dir/tls.key" sim_conf
  start || exit 1
  ok "malformed requests on TLS are refused" refused tls "$port"
  ok "malformed requests on the unix socket are still refused" refused unix "$sock"
  stop
  is "the daemon stops with status 0 again" "$stopped" 0
else
  ok "malformed requests on TLS are refused # SKIP no openssl to create a certificate" true
fi
finish
