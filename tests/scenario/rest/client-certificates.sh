#!/bin/sh
# A client certificate gives the scope of the section [client NAME] that has its subject. A certificate that is expired,
# made for servers, weak, or issued by another CA gives no rights. An unknown subject gives none either. A changed file of CAs
# applies without a restart, also to open connections.
. "$(dirname "$0")/../lib.sh"
command -v openssl >/dev/null || skip_all "no openssl to create a certificate"

ca() { # ca NAME: creates a CA
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" -keyout "$dir/$1.key" -out "$dir/$1.pem" 2>/dev/null
}

leaf() { # leaf NAME CA SUBJECT EXTENSION [OPTION...]: creates a certificate; OPTIONS are those of openssl x509
  leaf_name=$1 leaf_ca=$2 leaf_subject=$3
  echo "$4" >"$dir/extension"
  shift 4
  # shellcheck disable=SC2086 # several words
  openssl req -newkey ${algorithm:-ec -pkeyopt ec_paramgen_curve:P-256} -nodes -subj "$leaf_subject" -keyout "$dir/$leaf_name.key" -out "$dir/csr" 2>/dev/null
  openssl x509 -req -in "$dir/csr" -CA "$dir/$leaf_ca.pem" -CAkey "$dir/$leaf_ca.key" -CAcreateserial -extfile "$dir/extension" \
    -out "$dir/$leaf_name.pem" "$@" 2>/dev/null
}

client='extendedKeyUsage=clientAuth'
ca ours
ca theirs
leaf server ours /CN=localhost 'subjectAltName=DNS:localhost' -days 2
leaf monitor ours /O=Example/CN=monitor "$client" -days 2
leaf nova ours /CN=nova "$client" -days 2
leaf stranger ours /CN=stranger "$client" -days 2
leaf expired ours /CN=nova "$client" -days 0
leaf wrong ours /CN=nova 'extendedKeyUsage=serverAuth' -days 2
leaf foreign theirs /CN=nova "$client" -days 2
algorithm=rsa:1024 leaf weak ours /CN=nova "$client" -days 2
# a CA below the CA, and a client of it that sends both
leaf below ours /CN=below 'basicConstraints=critical,CA:TRUE' -days 2
leaf deep below /CN=nova "$client" -days 2
cat "$dir/below.pem" >>"$dir/deep.pem"
# no extended key usage: every purpose is allowed
leaf every ours /CN=nova 'basicConstraints=CA:FALSE' -days 2
# an expired certificate that is not on the way to the CA
cp "$dir/nova.key" "$dir/extra.key"
cat "$dir/nova.pem" "$dir/expired.pem" >"$dir/extra.pem"
# a certificate without the right to issue others, and one that it has issued
leaf usurper monitor /CN=nova "$client" -days 2
cat "$dir/monitor.pem" >>"$dir/usurper.pem"

tcp
url=https://localhost:$port
cacert=$dir/ours.pem
cp "$dir/ours.pem" "$dir/cas.pem"
daemon_extra="$daemon_extra
tls_certificate = $dir/server.pem
tls_key = $dir/server.key
tls_client_ca = $dir/cas.pem
[client monitoring]
subject = CN=monitor,O=Example
[client openstack]
subject = cn=nova
scope = operate" sim_conf
start || exit 1

with() { # with NAME METHOD PATH [OPTION...]: sends a request with this certificate and prints the status
  with_name=$1 with_method=$2 with_path=$3
  shift 3
  curl -sS -m 20 --cacert "$dir/ours.pem" --cert "$dir/$with_name.pem" --key "$dir/$with_name.key" -X "$with_method" -o "$dir/body" \
    -w '%{http_code}' "$@" "$url$with_path"
}
detail() { gojq -r .detail "$dir/body"; }
json='Content-Type: application/json'

is "a client with scope read reads" "$(with monitor GET /v1/host)" 200
is "it may not change anything" "$(with monitor POST /v1/vgpus -H "$json" -d '{"id": "a"}'): $(detail)" \
  "403: client monitoring has scope read, POST /v1/vgpus requires operate: set scope = operate in [client monitoring] of gover.conf(5)"
is "a client with scope operate changes" "$(with nova POST /v1/vgpus -H "$json" -d '{"id": "a", "initial_cap_pct": 30}')" 201
is "it may not read the audit log" "$(with nova GET /v1/audit)" 403
is "the audit log names the client" "$(get /v1/audit '[.audit[] | select(.path == "/v1/vgpus" and .status == 201)][0].who')" "client openstack"
is "the same over TLS 1.2" "$(with nova GET /v1/host --tls-max 1.2)" 200
is "a chain up to the CA is accepted" "$(with deep GET /v1/host)" 200
is "a certificate for every purpose is accepted" "$(with every GET /v1/host)" 200
is "a further certificate that is not needed changes nothing" "$(with extra GET /v1/host)" 200
is "without a certificate a token is required" "$(ask '' GET /v1/host)" 401

# With its usual configuration, curl itself refuses a weak key.
printf '%s\n' 'openssl_conf = all' '[all]' 'ssl_conf = ssl' '[ssl]' 'system_default = any' '[any]' 'CipherString = DEFAULT@SECLEVEL=0' \
  >"$dir/any-key.cnf"
# shellcheck disable=SC2016 # the words of the answer
untrusted='client certificate: expired, or not issued for clients by a CA of tls_client_ca (GET /v1/host requires scope read: create a token with `gover-ctl token add NAME --scope read`)'
for name in expired wrong foreign weak usurper; do
  is "the certificate '$name' gives no rights" "$(OPENSSL_CONF=$dir/any-key.cnf with "$name" GET /v1/host): $(detail)" "401: $untrusted"
done
is "an unknown subject gives no rights, and the answer names the subject" "$(with stranger GET /v1/host): $(detail)" \
  "403: client certificate CN=stranger: no section [client NAME] of gover.conf(5) has this subject"
is "a route for every caller stays open" "$(with foreign GET /healthz)" 200

token viewer read
is "a token has priority over the certificate" "$(with nova POST /v1/vgpus -H "@$dir/viewer.header" -H "$json" -d '{"id": "b"}')" 403
is "a token is accepted with an untrusted certificate" "$(with foreign GET /v1/host -H "@$dir/viewer.header")" 200
is "the page of another host cannot use the certificate" "$(with nova DELETE /v1/vgpus/a -H 'Origin: https://evil.example')" 403
is "the page of this host can use it" "$(with nova GET /v1/vgpus/a -H "Origin: $url")" 200

# --- gover-ctl ---

over_tcp() { "$B/gover-ctl" --url "$url" --cacert "$cacert" "$@"; }
is "gover-ctl presents a certificate" "$(over_tcp --cert "$dir/monitor.pem" --cert-key "$dir/monitor.key" -o json vgpu list | gojq -c '[.vgpus[].id]')" '["a"]'
cat "$dir/nova.pem" "$dir/nova.key" >"$dir/both.pem"
ok "gover-ctl reads the key from the file of the certificate" over_tcp --cert "$dir/both.pem" vgpu hold a
is "gover-ctl reads the certificate from the environment" \
  "$(GOVER_CERT=$dir/nova.pem GOVER_CERT_KEY=$dir/nova.key over_tcp -o json vgpu show a | gojq .initial_cap_pct)" 30
over_tcp --cert "$dir/nova.pem" --cert-key "$dir/monitor.key" status >"$dir/out" 2>"$dir/err"
is "a key of another certificate is an error that names both files" "$?: $(sed 's/(.*/(/' "$dir/err")" \
  "2: gover-ctl: client certificate '$dir/nova.pem' with the key in '$dir/monitor.key': cannot be used ("
over_tcp --cert "$dir/none.pem" status >"$dir/out" 2>"$dir/err"
is "a missing certificate is an error" "$?: $(cat "$dir/err")" "2: gover-ctl: --cert '$dir/none.pem': No such file or directory"
over_tcp --cert-key "$dir/nova.key" status >"$dir/out" 2>"$dir/err"
is "a key without a certificate is an error" "$?: $(cat "$dir/err")" "2: gover-ctl: --cert-key is given without --cert"

# --- changed CAs ---

mkfifo "$dir/lines"
curl -sSN --cacert "$dir/ours.pem" --cert "$dir/nova.pem" --key "$dir/nova.key" "$url/v1/events?kinds=tick" >"$dir/heard" 2>/dev/null &
follower=$!
ok "a client follows the events" until_ok 20 grep -q '^event: tick' "$dir/heard"
openssl s_client -quiet -connect "localhost:$port" -CAfile "$dir/ours.pem" -cert "$dir/nova.pem" -key "$dir/nova.key" \
  <"$dir/lines" >"$dir/answers" 2>/dev/null &
exec 4>"$dir/lines"
cleanup="kill $follower $! 2>/dev/null"
request() { printf 'GET /v1/host HTTP/1.1\r\nHost: localhost\r\n\r\n' >&4; }
answered() { [ "$(grep -o "HTTP/1.1 $1" "$dir/answers" | wc -l)" = "$2" ]; }
request
ok "an open connection is authenticated once" until_ok 20 answered 200 1
cp "$dir/theirs.pem" "$dir/new.pem" && mv "$dir/new.pem" "$dir/cas.pem"
status_is() { [ "$(with "$1" GET /v1/host)" = "$2" ]; }
ok "a certificate of a new CA is accepted without a restart" until_ok 30 status_is foreign 200
is "a certificate of the removed CA is not" "$(with nova GET /v1/host)" 401
request
ok "nor on a connection that was open" until_ok 20 answered 401 1
ended() { ! kill -0 "$follower" 2>/dev/null; }
ok "the open event stream of its client ends" until_ok 30 ended
echo nonsense >"$dir/cas.pem"
ok "a file of CAs that cannot be used raises an alert" until_ok 30 alerts 1 certificate_unreadable
is "the previous CAs stay in use" "$(with foreign GET /v1/host) $(with nova GET /v1/host)" "200 401"
cp "$dir/ours.pem" "$dir/cas.pem"
ok "a repaired file is used, and the alert clears" until_ok 30 alerts 0 certificate_unreadable
is "the first CA is trusted again" "$(with nova GET /v1/host)" 200
exec 4>&-
stop
is "the daemon stops with status 0" "$stopped" 0

# --- faults of the configuration ---

refused() { # refused TEXT MESSAGE SUBJECT: the daemon does not start with this subject, and with the CAs in $dir/cas.pem
  daemon_extra="listen = 127.0.0.1:$port
tls_certificate = $dir/server.pem
tls_key = $dir/server.key
tls_client_ca = $dir/cas.pem
[client one]
subject = $3" sim_conf
  "$B/gover-d" --config "$conf" >"$dir/out" 2>&1
  is "$1" "$?: $(tail -n 1 "$dir/out" | cut -c 10-)" "1: $2"
}
refused "a subject that is not a distinguished name is rejected" "[client one] subject = NOTYPE=a: not a distinguished name: Error in \
parsing. (allowed: TYPE=VALUE pairs with commas, in the order of RFC 4514: CN=prometheus,O=Example)" NOTYPE=a
echo >"$dir/cas.pem"
refused "a file without a CA is rejected" "[daemon] tls_client_ca = $dir/cas.pem: not a list of CA certificates in PEM format: No certificate was found." CN=a
rm "$dir/cas.pem"
refused "a missing file is rejected" "[daemon] tls_client_ca = $dir/cas.pem: cannot be read: No such file or directory" CN=a
finish
