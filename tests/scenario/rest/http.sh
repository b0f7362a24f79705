#!/bin/sh
# HTTP semantics of REST (RFC 9110): types and codings of bodies, conditions, and forms of
# the request target.
. "$(dirname "$0")/../lib.sh"

send() { # send METHOD PATH [OPTION...]: prints the status; $dir/head and $dir/body contain the answer
  method=$1 path=$2
  shift 2
  rm -f "$dir/body" # curl keeps the file if an answer has no body
  curl -sS --unix-socket "$sock" -X "$method" -D "$dir/head" -o "$dir/body" -w '%{http_code}' "$@" "http://gover$path"
}
header() { tr -d '\r' <"$dir/head" | sed -n "s/^$1: //Ip"; }
json='Content-Type: application/json'
merge='Content-Type: application/merge-patch+json'

tcp
daemon_extra="$daemon_extra
[access]
anonymous = read"
start_sim
sell a 50 '' '"labels": {"team": "red", "tier": "gold"}, "target_fps": 30, "cid": 7'

is "another content type is answered with 415" "$(send PATCH /v1/vgpus/a -H 'Content-Type: text/plain' -d '{}')" 415
is "the answer names both types of a PATCH" "$(gojq -r .detail "$dir/body")" \
  "Content-Type: text/plain is not supported (allowed: application/json, application/merge-patch+json)"
is "Accept-Patch names them" "$(header Accept-Patch)" "application/json, application/merge-patch+json"
is "a POST allows only JSON" "$(send POST /v1/vgpus -H "$merge" -d '{}') $(header Accept) $(header Accept-Patch)" \
  "415 application/json "
printf '{"weight": 7}' | gzip >"$dir/body.gz"
is "a coded body is answered with 415" \
  "$(send PATCH /v1/vgpus/a -H "$json" -H 'Content-Encoding: gzip' --data-binary "@$dir/body.gz")" 415
is "the answer names the coding" "$(header Accept-Encoding): $(gojq -r .detail "$dir/body")" \
  "identity: Content-Encoding: gzip is not supported (allowed: identity)"
is "a body whose coding is only named is not read" \
  "$(send PATCH /v1/vgpus/a -H "$json" -H 'Content-Encoding: deflate' -d '{"weight": 7}') $(get /v1/vgpus/a .weight)" "415 1"
is "the coding identity is allowed" \
  "$(send PATCH /v1/vgpus/a -H "$json" -H 'Content-Encoding: Identity' -d '{"weight": 2}') $(get /v1/vgpus/a .weight)" "200 2"

is "a merge patch changes only its members" \
  "$(send PATCH /v1/vgpus/a -H "$merge" -d '{"labels": {"tier": null, "rack": "7"}, "weight": 3}') \
$(get /v1/vgpus/a '"\(.labels | tojson) \(.weight) \(.target_fps)"')" '200 {"rack":"7","team":"red"} 3 30'
is "null in a merge patch removes a member" \
  "$(send PATCH /v1/vgpus/a -H "$merge" -d '{"cid": null, "target_fps": null, "weight": null}') \
$(get /v1/vgpus/a '"\(.cid) \(.target_fps) \(.weight)"')" "200 null 0 1"
is "a required member cannot be removed" "$(send PATCH /v1/vgpus/a -H "$merge" -d '{"initial_cap_pct": null}')" 422
is "null removes all labels" "$(send PATCH /v1/vgpus/a -H "$merge" -d '{"labels": null}') $(get /v1/vgpus/a '.labels | tojson')" "200 {}"
is "a JSON body replaces all labels" "$(send PATCH /v1/vgpus/a -H "$json" -d '{"labels": {"team": "blue"}}') \
$(send PATCH /v1/vgpus/a -H "$json" -d '{"labels": {"rack": "8"}}') $(get /v1/vgpus/a '.labels | tojson')" '200 200 {"rack":"8"}'
is "null in a JSON body is still rejected" "$(send PATCH /v1/vgpus/a -H "$json" -d '{"weight": null}')" 422
is "a merge patch changes a GPU" "$(send PATCH /v1/gpus/gpu0 -H "$merge" -d '{"selling": "off"}') $(get /v1/gpus/gpu0 .selling)" "200 off"
is "a merge patch changes the policy" \
  "$(send PATCH /v1/policy -H "$merge" -d '{"ttl_s": 70}') $(get /v1/policy .params.ttl_s)" "200 70"
is "null in it restores the configuration" "$(send PATCH /v1/policy -H "$merge" -d '{"ttl_s": null}') $(get /v1/policy '.differs | length')" "200 0"

tag() { send GET "$1" >/dev/null && header ETag; }
with() { send PATCH "$1" -H "$json" -H "$2" -d '{"burst": true}'; }
weak=$(tag /v1/vgpus/a)
is "the tag of an answer with measurements is weak" "${weak%\"*\"}" W/
is "no cache may store this answer" "$(header Cache-Control)" no-store
is "the tag that a client got matches in If-Match" "$(with /v1/vgpus/a "If-Match: $weak")" 200
is "after the change it does not match" "$(with /v1/vgpus/a "If-Match: $weak") $(gojq -r .title "$dir/body")" "412 Precondition Failed"
strong=$(tag /v1/vgpus/a/contract)
is "a tag without W/ matches too" "$(with /v1/vgpus/a "If-Match: $strong")" 200
cp "$dir/body" "$dir/vgpu"
send GET /v1/vgpus/a/contract >/dev/null
cp "$dir/body" "$dir/contract"
periods 2
is "a strong tag means equal bytes" "$(tag /v1/vgpus/a/contract) $(cmp "$dir/body" "$dir/contract")" "$strong "
is "the contract contains the changeable fields of the vGPU" \
  "$(gojq -c --slurpfile vgpu "$dir/vgpu" '[to_entries[] | select(.key != "held_cap_pct" and .value != $vgpu[0][.key])]' "$dir/contract")" "[]"
is "a current tag is answered with 304" \
  "$(send GET /v1/vgpus/a/contract -H "If-None-Match: $strong") $(find "$dir" -name body | wc -l) $(header ETag)" "304 0 $strong"
is "so is a weak one" "$(send GET /v1/vgpus/a -H "If-None-Match: $(tag /v1/vgpus/a)") $(header Cache-Control)" "304 no-store"
is "* in If-Match matches an object that exists" \
  "$(with /v1/vgpus/a 'If-Match: * ') $(with /v1/vgpus/never 'If-Match: *')" "200 404"
is "* in If-None-Match prevents a change" "$(with /v1/vgpus/a 'If-None-Match: *') $(with /v1/vgpus/a "If-None-Match: $strong")" "412 412"
is "another tag in it does not" "$(with /v1/vgpus/a 'If-None-Match: "x"')" 200

is "a cache keeps the formats of metrics apart" "$(send GET /metrics) $(header Vary)" "200 Accept"

target() { send "$1" / --request-target "$2"; }
is "a target in absolute form is served" "$(target GET http://gover/v1/host) $(gojq -r .vgpus[0].id "$dir/body")" "200 a"
is "its query is read" "$(target GET 'HTTPS://gover/v1/vgpus?limit=1') $(gojq -r .vgpus[0].id "$dir/body")" "200 a"
is "without a path it is the page" "$(target GET http://gover) $(header Content-Type)" "200 text/html; charset=utf-8"
is "an empty authority is rejected" "$(target GET http:///v1/host) $(gojq -r .status "$dir/body")" "400 400"
is "another scheme is no route" "$(target GET ftp://gover/v1/host)" 404
anonymous() { curl -s -o /dev/null -w '%{http_code}' --request-target "$1" -H "Host: $2" "$url/"; }
is "a target of another host than that of the Host header is rejected" \
  "$(anonymous http://elsewhere/v1/host localhost) $(anonymous http://localhost/v1/host elsewhere)" "400 400"
is "the host of both must be this one" \
  "$(anonymous http://elsewhere/v1/host elsewhere) $(anonymous http://localhost/v1/host localhost)" "403 200"
is "an encoded slash is not a separator" \
  "$(target GET /v1%2Fhost) $(target GET /v1/vgpus/a%2fhistory) $(target GET /v1/vgpus/a%2Fcontract)" "404 404 404"
is "other escapes of a path are decoded" "$(target GET /v1/vgpu%73/%61) $(gojq -r .id "$dir/body")" "200 a"
is "escapes of parameters are decoded" "$(target GET '/v1/vgpus?gp%75=gpu%30&%6cimit=1') $(gojq -r .vgpus[0].id "$dir/body")" "200 a"
is "an encoded slash of a parameter is decoded" \
  "$(target GET '/v1/vgpus?gpu=a%2Fb') $(gojq -r .detail "$dir/body")" "404 GPU a/b: not found on this host"

finish
