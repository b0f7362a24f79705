#!/bin/sh
# `gover-ctl fleet status` with three daemons over TCP: tokens, hosts that do not answer, the time limit, and the slots in
# a stand-in for Placement.
# shellcheck disable=SC2317 # functions that "ok" calls
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

folder=$dir pids=''
add_pid() { # ends this process at exit
  pids="$pids $1" cleanup="kill $pids $1 2>/dev/null"
}
: >"$folder/hosts"

host() { # host NAME: starts a daemon in a folder of its own, and adds it to the file of hosts
  dir=$folder/$1 sock=$folder/$1/gover.sock conf=$folder/$1/gover.conf
  mkdir "$dir"
  tcp
  sim_conf
  start || exit 1
  add_pid "$daemon_pid"
  token viewer read
  echo "$1 $url $dir/viewer.token" >>"$folder/hosts"
}

fleet() { # fleet ARG...: prints JSON, sets $code
  "$B/gover-ctl" fleet status --hosts "$folder/hosts" "$@" >"$folder/out" 2>"$folder/err"
  code=$?
  cat "$folder/out"
}

of() { # of NAME FILTER: prints a value of the row of the host
  jq -r ".hosts[] | select(.host == \"$1\") | $2" "$folder/out"
}

row_is() { # row_is NAME FILTER: succeeds if the filter returns true for the row of the host
  fleet -o json >/dev/null
  of "$1" "$2" | grep -qx true
}

daemon_extra=''
host gpu1
sell a 60 frame:gpu_ms=8,cpu_ms=1 '"target_fps": 60'
sell b 60 idle
api PATCH /v1/vgpus/a '{"held": true, "held_cap_pct": 10}' >/dev/null
host gpu2
sell d 40 idle
host gpu3
dir=$folder

fleet -o json >/dev/null
is "each host has a line, in the order of the file" "$(jq -r '[.hosts[].host] | join(" ")' "$folder/out")" "gpu1 gpu2 gpu3"
is "all hosts have answered" "$code $(jq -r '[.hosts[].answered] | unique | join(" ")' "$folder/out")" "0 true"
is "a line has what the host sold" "$(of gpu1 '"\(.gpus) \(.vgpus) \(.sold_pct)"') $(of gpu3 .sold_pct)" "1 2 120 0"
is "and its policy" "$(of gpu2 .policy)" gover
ok "broken promises of a host are counted" until_ok 20 row_is gpu1 '.broken == 1'
ok "and only there" row_is gpu3 '.broken == 0 and .alerts.critical == 0'
ok "alerts are counted" until_ok 20 row_is gpu1 '.alerts.critical > 0'
ok "an open offer is counted" until_ok 20 row_is gpu2 '.offers == 1'
is "the slots of the offer have the class of its flavour" "$(of gpu2 '.slots[0] | "\(.class) \(.offers) \(.total)"')" "CUSTOM_GOVER_SLOT_DEFAULT 1 null"
fleet --sort -sold --output name >/dev/null
is "hosts are sorted by a column" "$(tr '\n' ' ' <"$folder/out")" "gpu1 gpu2 gpu3 "
fleet --sort sold --no-headers >/dev/null
is "or in the other order" "$(cut -d ' ' -f 1 "$folder/out" | tr '\n' ' ')" "gpu3 gpu2 gpu1 "

# --- hosts that do not answer ---

is "a list of URLs needs the token of the command line" \
  "$("$B/gover-ctl" fleet status --hosts "$url" --token-file "$folder/gpu3/viewer.token" -o json | jq -r '.hosts[0].answered')" true
"$B/gover-ctl" fleet status --hosts "$url" -o json >"$folder/out" 2>"$folder/err"
is "without a token the host is a line with the reason" "$? $(jq -r '.hosts[0] | "\(.answered) \(.problem)"' "$folder/out" | cut -c 1-25)" "1 false a token is required"

# A program that accepts connections and never answers.
python3 -c 'import socket, time
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
time.sleep(300)' >"$folder/silent" &
add_pid $!
until_ok 20 test -s "$folder/silent"
{
  echo "silent http://127.0.0.1:$(cat "$folder/silent") $folder/gpu1/viewer.token"
  echo "closed http://127.0.0.1:$(free_port)"
} >>"$folder/hosts"
begun=$(date +%s%N)
fleet --timeout 2 -o json >/dev/null
took_ms=$((($(date +%s%N) - begun) / 1000000))
is "a silent host is a failure" "$code" 1
is "the others have answered" "$(jq -r '[.hosts[] | select(.answered) | .host] | join(" ")' "$folder/out")" "gpu1 gpu2 gpu3"
ok "the silent host has its reason" test "$(of silent .problem | cut -c 1-14)" = "no answer from"
ok "the closed one, too" sh -c "jq -r '.hosts[4].problem' '$folder/out' | grep -q 'Connection refused'"
ok "the time limit was in force, and no host waited for another" test "$took_ms" -ge 1500 -a "$took_ms" -lt 30000
fleet --timeout 2 >/dev/null
is "the table has the reason in a note" "$(grep -c '^silent .* no answer from gover-d at http' "$folder/out")" 1

# --- Placement ---

python3 "$top/tests/fleet/fake-placement.py" >"$folder/placement" 2>"$folder/placement.err" &
add_pid $!
placement() { # placement METHOD PATH BODY
  curl -sS -o "$folder/body" -w '%{http_code}' -X "$1" -H 'X-Auth-Token: admin' -H 'OpenStack-API-Version: placement 1.36' \
    -H 'Content-Type: application/json' -d "$3" "$placement_url$2"
}
until_ok 20 test -s "$folder/placement"
placement_url=http://127.0.0.1:$(cut -d ' ' -f 2 "$folder/placement")
control() { curl -sS -X POST -H 'Content-Type: application/json' -d "$2" "$placement_url/_fake/$1"; }
sed -i '/^silent\|^closed/d' "$folder/hosts"
for name in gpu1 gpu2 gpu3; do
  control root "{\"name\": \"$name\"}" >"$folder/$name.root"
done
slots() { # slots NAME TOTAL RESERVED: publishes slots for the host, as gover-fleet does
  uuid=00000000-0000-4000-8000-00000000000${1#gpu}
  placement POST /resource_providers "{\"name\": \"$1_gover_gpu0\", \"uuid\": \"$uuid\",
    \"parent_provider_uuid\": $(jq .uuid "$folder/$1.root")}" >/dev/null
  placement PUT /resource_classes/CUSTOM_GOVER_SLOT_DEFAULT '{}' >/dev/null
  placement PUT "/resource_providers/$uuid/inventories" "{\"resource_provider_generation\": 0,
    \"inventories\": {\"CUSTOM_GOVER_SLOT_DEFAULT\": {\"total\": $2, \"reserved\": $3}}}" >/dev/null
}
slots gpu2 1 0
slots gpu3 1 1
fleet --placement "$placement_url" -o json >/dev/null
is "all hosts are known to Placement" "$code" 0
is "a published slot is compared with the offer" "$(of gpu2 '.slots[0] | "\(.contracts) \(.offers) \(.total) \(.used)"')" "0 1 1 0"
is "an empty class has no slots" "$(of gpu3 '.slots[0].total')" 0
fleet --placement "$placement_url" >/dev/null
is "the table has used and all slots" "$(awk 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "SLOTS") at = i } $1 == "gpu2" { print $at }' "$folder/out")" 0/1
placement PUT /resource_providers/00000000-0000-4000-8000-000000000003/inventories '{"resource_provider_generation": 1,
  "inventories": {"CUSTOM_GOVER_SLOT_DEFAULT": {"total": 5, "reserved": 0}}}' >/dev/null
fleet --placement "$placement_url" >/dev/null
ok "a total that differs from the wanted one is shown" grep -q '^gpu3 .* 0/5, wants [01]' "$folder/out"
curl -sS -X DELETE "$placement_url/_fake/root?name=gpu1" >/dev/null
fleet --placement "$placement_url" >/dev/null
is "a host without a provider is a failure with its reason" "$code $(grep -c '^gpu1 .* Placement has no provider gpu1$' "$folder/out")" "1 1"
fleet --placement http://127.0.0.1:1 -o json >/dev/null
is "so is a Placement that does not answer" "$code $(of gpu2 '"\(.answered) \(.problem | test("no answer from Placement"))"')" "1 true true"

# --- wrong usage ---

"$B/gover-ctl" fleet status >"$folder/out" 2>"$folder/err"
is "hosts are required" "$? $(head -n 1 "$folder/err")" "2 gover-ctl: fleet status: --hosts FILE required"
echo "gpu1 nowhere" >"$folder/hosts"
fleet >/dev/null
is "a wrong file is named with its line" "$code $(cat "$folder/err")" \
  "2 gover-ctl: $folder/hosts:1: 'nowhere': not an address (allowed: a URL, or the path of a unix socket)"
for daemon_pid in $pids; do kill "$daemon_pid" 2>/dev/null; done
finish
