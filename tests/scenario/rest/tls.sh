#!/bin/sh
# TLS is required for an address other than loopback. curl and gover-ctl connect with a test certificate. Plain HTTP
# and versions before TLS 1.2 are rejected. Certificates are reloaded while the daemon runs.
. "$(dirname "$0")/../lib.sh"
command -v openssl >/dev/null || skip_all "no openssl to create a certificate"

certificate() { # certificate NAME DAYS: creates a key and a self-signed certificate for this host
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days "$2" -subj "/CN=$1" \
    -addext "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1" -keyout "$dir/$1.key" -out "$dir/$1.pem" 2>/dev/null
}
certificate one 2
certificate two 3
tcp
plain=$daemon_extra

refused() { # refused TEXT MESSAGE LINE...: the daemon does not start with these lines in [daemon]
  text=$1 sentence=$2
  shift 2
  daemon_extra=$(printf '%s\n' "$@") sim_conf
  "$B/gover-d" --config "$conf" >"$dir/out" 2>&1
  is "$text" "$?: $(tail -n 1 "$dir/out" | cut -c 10-)" "1: $sentence"
}

refused "a non-loopback address requires TLS" "[daemon] listen = 0.0.0.0:$port: an address other than loopback requires TLS (set \
tls_certificate and tls_key, or listen on 127.0.0.1 or [::1])" "listen = 0.0.0.0:$port"
refused "a certificate without a key is rejected" "[daemon] tls_certificate is set without tls_key (allowed: both or neither)" \
  "tls_certificate = $dir/one.pem"
refused "a missing key file is rejected" "[daemon] tls_key = $dir/none.key: cannot be read: No such file or directory" \
  "tls_certificate = $dir/one.pem" "tls_key = $dir/none.key"
refused "a key of another certificate is rejected" "[daemon] tls_certificate = $dir/one.pem and tls_key = $dir/two.key: not a certificate and its \
private key in PEM format: The certificate and the given key do not match." "tls_certificate = $dir/one.pem" "tls_key = $dir/two.key"
echo nonsense >"$dir/bad.pem"
refused "a file that is not PEM is rejected" "[daemon] tls_certificate = $dir/bad.pem and tls_key = $dir/one.key: not a certificate and its \
private key in PEM format: Base64 decoding error." "tls_certificate = $dir/bad.pem" "tls_key = $dir/one.key"
is "gover-ctl config check reports it too" \
  "$(printf '[daemon]\nlisten = [::]:1\n' >"$dir/c" && ctl config check "$dir/c" 2>&1 | grep -c 'an address other than loopback requires TLS')" 1

chmod 644 "$dir/two.key"
daemon_extra="listen = 0.0.0.0:$port
tls_certificate = $dir/two.pem
tls_key = $dir/two.key" sim_conf
start || exit 1
ok "a key that every user can read is logged" grep -q "two.key: private key is readable by every user of this host" "$dir/log"
ok "with TLS the daemon listens on every address" sh -c "curl -sS --cacert '$dir/two.pem' 'https://127.0.0.1:$port/healthz' >/dev/null"
stop

chmod 600 "$dir/one.key"
daemon_extra="$plain
tls_certificate = $dir/one.pem
tls_key = $dir/one.key" sim_conf
start || exit 1
url=https://localhost:$port
cacert=$dir/one.pem
token viewer read
is "requests over TLS are answered" "$(ask '' GET /healthz) $(ask '' GET /v1/host) $(ask viewer GET /v1/host)" "200 401 200"
is "gover-ctl uses TLS" "$("$B/gover-ctl" --url "$url" --cacert "$cacert" --token-file "$dir/viewer.token" --json vgpu list | gojq -c .vgpus)" "[]"
is "gover-ctl reads the certificate from the environment" "$(GOVER_CACERT=$cacert GOVER_TOKEN_FILE=$dir/viewer.token "$B/gover-ctl" --url "$url" --json vgpu list | gojq -c .vgpus)" "[]"
"$B/gover-ctl" --url "$url" --token-file "$dir/viewer.token" status >"$dir/out" 2>"$dir/err"
is "gover-ctl refuses an untrusted certificate" "$?" 3
ok "the error names --cacert" grep -q 'certificate not trusted (.*); pass the CA.s certificate with --cacert' "$dir/err"
"$B/gover-ctl" --url "$url" --cacert "$dir/two.pem" status >"$dir/out" 2>"$dir/err"
is "a certificate that --cacert does not contain is refused" "$?" 3
"$B/gover-ctl" --url "$url" --cacert "$dir/none.pem" status >"$dir/out" 2>"$dir/err"
is "a missing file of --cacert is an error" "$?: $(cat "$dir/err")" "2: gover-ctl: --cacert '$dir/none.pem': No such file or directory"
"$B/gover-ctl" --url "http://10.255.255.1:$port" --token-file "$dir/viewer.token" status >"$dir/out" 2>"$dir/err"
is "a token is not sent unencrypted over a network" "$?: $(cat "$dir/err")" \
  "2: gover-ctl: URL 'http://10.255.255.1:$port': the token would be sent unencrypted; use https://"
ok "plain HTTP is not answered on the TLS port" sh -c "! curl -sS -m 5 'http://localhost:$port/healthz' >/dev/null 2>&1"
ok "TLS 1.1 is refused" sh -c "! curl -sS -m 5 --cacert '$cacert' --tls-max 1.1 --tlsv1.0 --ciphers 'DEFAULT:@SECLEVEL=0' '$url/healthz' >/dev/null 2>&1"
ok "TLS 1.2 is accepted" curl -sSf -m 5 --cacert "$cacert" --tls-max 1.2 -o /dev/null "$url/healthz"
ok "TLS 1.3 is accepted" curl -sSf -m 5 --cacert "$cacert" --tlsv1.3 -o /dev/null "$url/healthz"
suite() { # suite NAME: requests with this cipher suite of TLS 1.2
  curl -sSf -m 20 --cacert "$cacert" --tls-max 1.2 --ciphers "$1:@SECLEVEL=0" -o /dev/null "$url/healthz"
}
refuses() { # refuses NAME: the handshake fails (status 35 of curl)
  suite "$1" 2>/dev/null
  [ $? -eq 35 ]
}
for name in ECDHE-ECDSA-AES128-GCM-SHA256 ECDHE-ECDSA-AES256-GCM-SHA384 ECDHE-ECDSA-CHACHA20-POLY1305; do
  ok "TLS 1.2 with $name is accepted" suite "$name"
done
for name in ECDHE-ECDSA-AES128-SHA ECDHE-ECDSA-AES128-SHA256 ECDHE-ECDSA-AES256-SHA384; do
  ok "CBC is refused: $name" refuses "$name"
done

seq 1 300 | sed "s|.*|url = \"$url/v1/host\"\noutput = \"/dev/null\"|" >"$dir/urls"
ok "300 requests on one connection" sh -c "curl -sS -K '$dir/urls' -H '@$dir/viewer.header' --cacert '$cacert' -w '%{http_code} %{num_connects}\n' >'$dir/many'"
is "are all answered" "$(sort "$dir/many" | uniq -c | tr -s ' \n' ' ')" " 299 200 0 1 200 1 "
is "a large reply is complete" "$(curl -sS --cacert "$cacert" -H "@$dir/viewer.header" "$url/metrics" | tail -c 1 | od -An -c | tr -d ' ')" '\n'

# An unfinished handshake does not delay other clients.
waiting=''
for begun in '' '\026\003\001\002\000' '' '\026\003\001\002\000' ''; do
  bash -c "exec 3<>/dev/tcp/127.0.0.1/$port; printf '$begun' >&3; exec sleep 60" &
  waiting="$waiting $!"
done
ok "unfinished handshakes delay no tick" periods 5
is "a bad TLS client does not affect other requests" "$(ask viewer GET /v1/host)" 200
# shellcheck disable=SC2086 # a list
kill $waiting 2>/dev/null
stop
is "the daemon stops with status 0" "$stopped" 0
ok "the log contains no part of a key" sh -c "! grep -Ff '$dir/one.key' '$dir/log'"

# --- renewed certificates ---

chmod 600 "$dir/two.key"
cat "$dir/one.pem" "$dir/two.pem" >"$dir/both.pem"
cacert=$dir/both.pem
use() { ln -sfn "$1.pem" "$dir/tls.pem" && ln -sfn "$1.key" "$dir/tls.key"; } # use NAME: replaces the certificate
shown() { openssl s_client -connect "127.0.0.1:$port" </dev/null 2>/dev/null | openssl x509 -noout -subject | sed 's/.*= *//'; }
shows() { [ "$(shown)" = "$1" ]; }
expiry() { # expiry NAME: succeeds if the metric has the expiry of this certificate
  [ "$(curl -sS --unix-socket "$sock" http://gover/metrics | sed -n 's/^gover_tls_certificate_expiry_timestamp_seconds //p')" = \
    "$(date -d "$(openssl x509 -noout -enddate -in "$dir/$1.pem" | cut -d= -f2)" +%s)" ]
}
logged() { [ "$(grep -c "$1" "$dir/log")" = "$2" ]; } # logged WORDS TIMES
stream_continues() { # succeeds if the first event stream receives more events
  heard=$(grep -c '^event: tick' "$dir/heard")
  until_ok 10 eval "[ \"\$(grep -c '^event: tick' '$dir/heard')\" -gt $heard ]"
}
use one
daemon_extra="$plain
tls_certificate = $dir/tls.pem
tls_key = $dir/tls.key" sim_conf
start || exit 1
curl -sSN --cacert "$cacert" -H "@$dir/viewer.header" "$url/v1/events?kinds=tick" >"$dir/heard" 2>/dev/null &
follower=$!
ok "an event stream runs over TLS" until_ok 10 grep -q '^event: tick' "$dir/heard"
is "the configured certificate is used" "$(shown)" one
ok "its expiry is a metric" expiry one
use two
ok "a renewed certificate is used without a restart" until_ok 20 shows two
ok "the metric has the new expiry" expiry two
ok "the reload is logged" logged 'tls.pem: new certificate in use' 1
ok "existing connections continue" stream_continues
is "new connections are accepted" "$(ask viewer GET /v1/host)" 200
ln -sfn one.pem "$dir/tls.pem"
unfit='gover-d: the previous certificate stays in use: .*tls.pem and tls_key = .*/tls.key: not a certificate and its private key'
ok "a certificate that does not match the key is logged" until_ok 20 logged "$unfit" 1
is "a pair that does not match is not used" "$(shown)" two
periods 30
ok "it is logged once" logged "$unfit" 1
ok "an alert names the files" that /v1/alerts '.alerts | any(.name == "certificate_unreadable" and (.text | contains("tls.pem and tls_key = ")))'
ln -sfn one.key "$dir/tls.key"
ok "with the matching key the new pair is used" until_ok 20 shows one
ok "the alert clears" until_ok 20 alerts 0 certificate_unreadable
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=leaf -keyout "$dir/leaf.key" -out "$dir/leaf.csr" 2>/dev/null
echo subjectAltName=DNS:localhost >"$dir/leaf.ext"
openssl x509 -req -in "$dir/leaf.csr" -CA "$dir/one.pem" -CAkey "$dir/one.key" -CAcreateserial -days 2 -extfile "$dir/leaf.ext" \
  -out "$dir/leaf.crt" 2>/dev/null
cat "$dir/leaf.crt" "$dir/one.pem" >"$dir/leaf.pem"
use leaf
ok "a certificate signed by another one is used" until_ok 20 shows leaf
is "together with its issuer" "$(openssl s_client -connect "127.0.0.1:$port" -showcerts </dev/null 2>/dev/null | grep -c BEGIN)" 2
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=rsa -addext subjectAltName=DNS:localhost \
  -keyout "$dir/rsa.key" -out "$dir/rsa.pem" 2>/dev/null
cat "$dir/rsa.pem" >>"$dir/both.pem"
use rsa
ok "a certificate with an RSA key is used" until_ok 20 shows rsa
for name in ECDHE-RSA-AES128-GCM-SHA256 ECDHE-RSA-CHACHA20-POLY1305; do
  ok "TLS 1.2 with $name is accepted" suite "$name"
done
for name in AES128-GCM-SHA256 AES256-GCM-SHA384 AES128-SHA; do ok "RSA key exchange is refused: $name" refuses "$name"; done
ok "CBC with an RSA key is refused" refuses ECDHE-RSA-AES256-SHA384
use leaf
ok "the certificate with an EC key is used again" until_ok 20 shows leaf
rm "$dir/tls.key"
ok "a deleted file is logged" until_ok 20 logged 'gover-d: the previous certificate stays in use: .*/tls.key: cannot be read: No such file or directory' 1
is "new connections are still accepted" "$(ask viewer GET /v1/host)" 200
ok "the event stream continues through all of this" stream_continues
kill "$follower"
stop
is "the daemon stops with status 0 again" "$stopped" 0
ok "the log contains no part of either key" sh -c "! grep -Ff '$dir/one.key' '$dir/log' && ! grep -Ff '$dir/two.key' '$dir/log'"
finish
