#!/bin/sh
# The publisher of gover-fleet makes a stand-in for Placement equal to the wanted state: what it writes, how many requests it
# needs, and that it does so after each fault.
. "$(dirname "$0")/../lib.sh"
cd "$top" || exit 1
command -v python3 >/dev/null || skip_all "python3 is not installed"

python3 tests/fleet/fake-placement.py >"$dir/fake" 2>"$dir/fake.err" &
fake_pid=$!
cleanup="kill $fake_pid 2>/dev/null"
until_ok 20 grep -q ready "$dir/fake" || exit 1
url=http://127.0.0.1:$(cut -d ' ' -f 2 "$dir/fake")
uuid=00000000-0000-4000-8000-000000000000
slot=CUSTOM_GOVER_SLOT_

control() { # control METHOD PATH [BODY]
  curl -sS -X "$1" ${3+-d "$3"} "$url/_fake/$2"
}

open_hosts() { # open_hosts [KEYSTONE-URL SECRET-FILE]: starts the program with one host, and connects descriptor 3 to it
  rm -f "$dir/in"
  mkfifo "$dir/in"
  : >"$dir/out"
  "$B/tests/fleet-hosts" "$url" 1 1 "${timeout_ms:-5000}" 50 "$@" <"$dir/in" >"$dir/out" 2>"$dir/hosts.err" &
  hosts_pid=$!
  exec 3>"$dir/in"
}

close_hosts() { # ends the program and sets $ended to its exit status
  exec 3>&-
  wait "$hosts_pid"
  ended=$?
}

more_lines() { [ "$(wc -l <"$dir/out")" -gt "$lines" ]; }

send() { # send COMMAND...: waits for the result, which is then in $dir/line
  lines=$(wc -l <"$dir/out")
  echo "$*" >&3
  until_ok 60 more_lines || echo "# no result of: $*"
  tail -n 1 "$dir/out" >"$dir/line"
}

publish() { send "publish 0 0 0 ${tries:-0} - $1"; }
field() { gojq -r ".$1" "$dir/line"; }
requests() { control GET log | gojq -r '.requests[] | split("?")[0] | gsub("[0-9a-f]{8}-[0-9a-f-]{27}"; "U")' | paste -sd ,; }

# Prints the providers of gover: "GPU: CLASS total-reserved ..., used, traits".
state() {
  control GET state | gojq -r '[.providers[] | select(.name | startswith("host-0000_gover_")) |
    "\(.name | sub(".*_gover_"; "")): " + ([.inventories | to_entries | sort_by(.key)[] |
    "\(.key | sub("CUSTOM_GOVER_SLOT_"; "")) \(.value.total)-\(.value.reserved)"] | join(" ")) +
    " [" + ([.traits[] | sub("CUSTOM_GOVER_"; "")] | join(" ")) + "]"] | sort | join("; ")'
}

allocate() { # allocate CONSUMER GPU FLAVOUR
  number=$(control GET state | gojq -r ".providers[] | select(.name == \"host-0000_gover_$2\") | .uuid")
  curl -sS -o /dev/null -w '%{http_code}' -X PUT -H 'X-Auth-Token: admin' \
    -d "{\"allocations\": {\"$number\": {\"resources\": {\"$slot$3\": 1}}}}" "$url/allocations/$1"
}

deallocate() { curl -sS -o /dev/null -X DELETE -H 'X-Auth-Token: admin' "$url/allocations/$1"; }

root() { control POST root '{"name": "host-0000", "uuid": "'"${1:-$uuid}"'"}' >/dev/null; }

open_hosts
tries=1 publish "gpu0:25=1+2:-"
is "without nova-compute, the result is PUBLISHER_NO_ROOT" "$(field result)" 1
ok "the next try comes after a pause" test "$(field pause_ms)" -gt 0
is "a search for the root is one request" "$(requests)" "GET /resource_providers"

root
publish "gpu0:25=1+2,50=0+1:-;gpu1:50=0+0:o"
is "each GPU gets a provider with its classes and traits" "$(state)" \
  "gpu0: 25 3-0 50 1-0 [POLICY_QOS]; gpu1: 50 1-1 [OVERLOADED POLICY_QOS]"
is "the result counts slots" "$(field 'used')-$(field sold)-$(field leaks)" 0-4-0
is "a trait that a flavor can forbid is created before a GPU has it" \
  "$(requests | tr , '\n' | grep -c 'PUT /traits/CUSTOM_GOVER_DRAINING')" 1
send "check 0 0 1"
is "an unchanged state costs one request" "$(requests)-$(field writes)" "GET /resource_providers-0"
publish "gpu0:25=1+3,50=0+1:-;gpu1:50=0+0:o"
is "a changed number of offers costs one request, for its class" "$(requests)-$(field writes)" \
  "PUT /resource_providers/U/inventories/${slot}25-1"
publish "gpu0:25=2+2,50=0+1:-;gpu1:50=0+0:o"
is "a sale changes no total, and costs one request" "$(requests)-$(field writes)" "GET /resource_providers-0"

is "a slot can be allocated" "$(allocate a gpu0 50)" 204
requests >/dev/null
send "check 0 0 1"
is "a provider with another generation is read again" "$(requests)" \
  "GET /resource_providers,GET /resource_providers/U/inventories,GET /resource_providers/U/traits,GET /resource_providers/U/usages"
is "an allocation is counted, and is no leak while an offer is open" "$(field used)-$(field leaks)" 1-0
publish "gpu0:25=2+0,50=0+0:-;gpu1:50=0+0:-"
is "an allocation without contract and offer is a leak" "$(field used)-$(field leaks)" 1-1
is "a leak is not repaired, and no further slot is sold" "$(state)-$(allocate b gpu0 50)" \
  "gpu0: 25 2-0 50 1-1 [POLICY_QOS]; gpu1: 50 1-1 [POLICY_QOS]-409"

requests >/dev/null
publish "gpu0:25=2+1,50=1+0:o;gpu1:50=0+0:-"
is "a trait that stops sales is written before the inventory" "$(requests)" \
  "PUT /resource_providers/U/traits,PUT /resource_providers/U/inventories"
publish "gpu0:25=2+0,50=1+0:-;gpu1:50=0+0:-"
is "and removed after it" "$(requests)" "PUT /resource_providers/U/inventories/${slot}25,PUT /resource_providers/U/traits"

publish "gpu0:25=2+0:-"
is "a class in use is reserved, and the provider of a GPU that is gone is deleted" "$(state)" \
  "gpu0: 25 2-0 50 1-1 [POLICY_QOS]"
deallocate a
send "check 0 0 1"
is "an unused class is removed" "$(state)" "gpu0: 25 2-0 [POLICY_QOS]"
is "a slot of a contract can be allocated" "$(allocate c gpu0 25)" 204
publish "gpu1:25=0+1:-"
is "a GPU that is gone stays while it has allocations" "$(state)" "gpu0: 25 1-1 []; gpu1: 25 1-0 [POLICY_QOS]"
is "its allocation is a leak" "$(field leaks)" 1
deallocate c
send "check 0 0 1"
is "its provider is deleted after the last allocation" "$(state)" "gpu1: 25 1-0 [POLICY_QOS]"

# --- faults: one request of each kind fails, and the state converges ---

close_hosts
python3 tests/fleet/faults.py "$url" >"$dir/faults" 2>&1
is "the state converges after each fault of each request ($(tail -n 1 "$dir/faults"))" "$(sed '$d' "$dir/faults")" ""
ok "no fault is missing" grep -qE '^[6-9][0-9] faults' "$dir/faults"
control POST reset >/dev/null
root
open_hosts
publish "gpu0:NEW=0+1:o"

tries=1
control POST fault '{"kind": "409", "match": "PUT .*/inventories", "count": 1000}' >/dev/null
publish "gpu0:NEW=0+2:o"
is "if each write is refused, the result is PUBLISHER_BUSY" "$(field result)" 2
control POST reset >/dev/null
unset tries

# --- an outage that is longer than the copy counts as read ---

close_hosts
control POST reset >/dev/null
root
export FLEET_READ_MS=1
open_hosts
unset FLEET_READ_MS
publish "gpu0:25=0+1:-"
tries=1
control POST fault '{"kind": "503", "match": ".", "count": 1000000}' >/dev/null
publish "gpu0:25=0+2:-"
is "Placement is away" "$(field result)" -11
publish "gpu0:25=0+2:-"
control POST heal '{}' >/dev/null
requests >/dev/null
publish "gpu0:25=0+2:-"
is "after an outage, a change is one request" "$(requests)-$(field writes)-$(state)" \
  "PUT /resource_providers/U/inventories/${slot}25-1-gpu0: 25 2-0 [POLICY_QOS]"
ok "a read follows soon" test "$(field pause_ms)" -ge 5000 -a "$(field pause_ms)" -le 20000
send "check 0 0 1"
is "and is one request, too" "$(requests)-$(field pause_ms)" "GET /resource_providers-0"
control POST fault '{"kind": "503", "match": ".", "count": 1000000}' >/dev/null
send "check 0 0 1"
publish "gpu0:25=0+3:-"
control POST reset >/dev/null
root 99999999-0000-4000-8000-000000000001
publish "gpu0:25=0+3:-"
is "if the tree was made anew meanwhile, it is found by its name" "$(field result)-$(state)" "0-gpu0: 25 3-0 [POLICY_QOS]"
unset tries

# --- the compute node ---

close_hosts
root
open_hosts
publish "gpu0:25=1+1:-"
control DELETE root?name=host-0000 >/dev/null
send "check 0 0 1"
is "without the root, the result is PUBLISHER_NO_ROOT" "$(field result)" 1
root 99999999-0000-4000-8000-000000000000
send "check 0 0 1"
is "below a new root, the provider comes back by itself" "$(state)" "gpu0: 25 2-0 [POLICY_QOS]"
control POST fault '{"kind": "lost-root", "match": "PUT .*/inventories", "name": "host-0000"}' >/dev/null
tries=1 publish "gpu0:25=1+2:-"
root
send "check 0 0 0"
is "also if the root is lost during a write" "$(field result)-$(state)" "0-gpu0: 25 3-0 [POLICY_QOS]"

number=$(control GET state | gojq -r '.providers[] | select(.name == "host-0000_gover_gpu0") | .uuid')
curl -sS -X DELETE -H 'X-Auth-Token: admin' "$url/resource_providers/$number"
publish "gpu0:25=1+3:-"
is "a provider that was deleted comes back" "$(field result)-$(state)" "0-gpu0: 25 4-0 [POLICY_QOS]"

# --- withdrawal ---

is "a slot is allocated" "$(allocate d gpu0 25)$(allocate e gpu0 25)" 204204
send "withdraw 0 0 1"
is "a withdrawal leaves the contracts" "$(state)" "gpu0: 25 1-0 [POLICY_QOS]"
publish "gpu0:25=1+3:-"
close_hosts
is "the program ends without an error" "$ended" 0
open_hosts
send "withdraw 0 0 1"
is "a new program, which knows no contract, leaves the allocations" "$(state)" "gpu0: 25 2-0 [POLICY_QOS]"
is "after a withdrawal, no slot can be allocated" "$(allocate f gpu0 25)" 409
close_hosts

# --- Keystone ---

printf 'secret\n' >"$dir/secret"
open_hosts "$url/identity" "$dir/secret"
requests >/dev/null
publish "gpu0:25=2+0:-"
is "a token is requested once" "$(field result)-$(requests | tr , '\n' | grep -c tokens)" 0-1
control POST token '{}' >/dev/null
publish "gpu0:25=2+1:-"
is "a refused token is replaced" "$(field result)-$(requests)" \
  "0-PUT /resource_providers/U/inventories/${slot}25,POST /identity/v3/auth/tokens,PUT /resource_providers/U/inventories/${slot}25"
control POST token '{}' >/dev/null
printf 'wrong\n' >"$dir/secret"
tries=1 publish "gpu0:25=2+2:-"
is "refused credentials are an error" "$(field result)" -13
ok "the message names the file of the secret" grep -q secret_file "$dir/line"
ok "the next try comes late" test "$(field pause_ms)" -ge 30000
close_hosts
ok "no output contains a secret or a token" sh -c "! grep -hE 'wrong|\"secret\"|[0-9a-f]{32}' '$dir/out' '$dir/hosts.err'"
finish
