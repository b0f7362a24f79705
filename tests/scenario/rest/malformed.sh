#!/bin/sh
# Forms of requests on the unix socket, on TCP and on TLS, each with a second request behind it. A form that another program
# could read differently is refused and ends its connection, so that the second request gets no answer.
. "$(dirname "$0")/../lib.sh"

answered() { python3 "$top/tests/openapi/heads.py" "$@"; } # answered KIND PLACE [TOKEN]: each answer is as in the table

tcp
start_sim
token seller operate
ok "each form on the unix socket is answered as in the table" answered unix "$sock"
ok "each form on TCP is answered as in the table" answered tcp "$port" "$(cat "$dir/seller.token")"
is "normal requests are answered" "$(ask '' GET /healthz) $(get /v1/host .vgpus)" "200 []"
ok "the refusals are counted" sh -c "curl -sS --unix-socket '$sock' http://gover/metrics |
  grep -q '^gover_http_requests_total{.*status=\"431\"} [1-9]'"
api GET "/v1/host?$(seq -s '&' 300)" >/dev/null
is "300 query parameters are answered" "$(status)" 414
is "the answer is a problem document" "$(gojq -r '"\(.status) \(.title): \(.detail)"' "$dir/body")" \
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
  ok "each form on TLS is answered as in the table" answered tls "$port" "$(cat "$dir/seller.token")"
  stop
  is "the daemon stops with status 0 again" "$stopped" 0
else
  ok "each form on TLS is answered as in the table # SKIP no openssl to create a certificate" true
fi
finish
