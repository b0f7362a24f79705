#!/bin/sh
# Ten thousand external operations on two GPUs while the daemon ticks: vGPUs are created and removed, and their loads
# and caps are set. In the end the state of the daemon equals the files of the GPUs, every cap can be set, and no alert
# or open file is left.
GOVER_HOST=fuse
. "$(dirname "$0")/../host.sh"

operations=10000 seed=${GOVER_SEED:-1}
fuse_mount "$dir/sys" --gpus 2 --vgpus 24 --speed "$speed"
bus=$dir/sys/bus/mdev/devices
gpus=$dir/sys/class/mdev_bus
cat >"$conf" <<EOF
[daemon]
socket = $sock
state_dir = $dir/state
period_ms = $period_ms
[gpu gpu0]
backend = gvt
root = $dir/sys
parent = 0000:00:02.0
speed = $speed
[gpu gpu1]
backend = gvt
root = $dir/sys
parent = 0000:01:00.0
speed = $speed
[fps]
socket = $dir/fps.sock
EOF
start || exit 1
periods 2
files_open() { find "/proc/$daemon_pid/fd" -type l | wc -l; }
files_at_first=$(files_open)

# Choose all operations before the run, so that each is possible: 64 names, at most 24 vGPUs on a GPU.
awk -v n="$operations" -v seed="$seed" '
  BEGIN {
    srand(seed)
    while (done < n) {
      i = int(rand() * 64)
      gpu = i % 2 ? "0000:01:00.0" : "0000:00:02.0"
      what = int(rand() * 8)
      if (there[i] && what == 0) { print "remove", i, gpu, 1; there[i] = 0; on[gpu]-- }
      else if (there[i] && what <= 2) print "cap", i, gpu, int(rand() * 101)
      else if (there[i]) print "load", i, gpu, int(rand() * 101)
      else if (on[gpu] < 24) { print "create", i, gpu, 0; there[i] = 1; on[gpu]++ }
      else continue
      done++
    }
  }' >"$dir/operations"
is "operations of each kind were made" "$(cut -d ' ' -f 1 "$dir/operations" | sort -u | xargs)" "cap create load remove"

uuid_of() { printf 'dddddddd-0000-4000-8000-%012d' "$1"; }
failed=0 count=0
while read -r what i gpu value; do
  uuid=dddddddd-0000-4000-8000-0000000000$((i / 10))$((i % 10))
  case $what in
  create) echo "$uuid" >"$gpus/$gpu/mdev_supported_types/i915-GVTg_V5_8/create" ;;
  remove) echo 1 >"$gpus/$gpu/$uuid/remove" ;;
  cap) echo "$value" >"$gpus/$gpu/$uuid/intel_vgpu/cap" ;;
  load) echo "$value" >"$gpus/$gpu/$uuid/load" ;;
  esac || failed=$((failed + 1))
  count=$((count + 1))
  # Sometimes a vGPU gets a contract, whether it exists or not.
  [ $((count % 200)) -ne 0 ] || api POST /v1/vgpus \
    "{\"id\": \"$(uuid_of $((count / 200 % 64)))\", \"gpu\": \"gpu$((count / 200 % 2))\", \"initial_cap_pct\": 10}" >/dev/null
  [ $((count % 25)) -ne 0 ] || sleep 0.01
done <"$dir/operations"
is "$count operations without an error" "$count $failed" "$operations 0"
ok "some periods pass" periods 8

find "$bus" -mindepth 1 -printf '%f\n' | sort >"$dir/tree"
vgpus() { get /v1/vgpus "[.vgpus[] | select($1) | .id] | .[]" | sort; }
vgpus '.state != "missing"' >"$dir/known"
ok "the bus has vGPUs" test -s "$dir/tree"
ok "the daemon has exactly these vGPUs" cmp "$dir/tree" "$dir/known"
get /v1/vgpus '.vgpus[] | select(.state != "missing") | "\(.id) \(.cap_pct)"' | sort >"$dir/caps"
while read -r uuid; do
  cap=$(cat "$bus/$uuid/intel_vgpu/cap")
  [ "$cap" -gt 0 ] || cap=100 # 0 means no limit
  echo "$uuid $cap"
done <"$dir/tree" >"$dir/caps-there"
ok "the vGPUs have the same caps" cmp "$dir/caps" "$dir/caps-there"
all_sampled() { [ "$(vgpus '.state != "missing" and .load_pct == null' | wc -l)" -eq 0 ]; }
# A late tick of a busy machine gives no reading for one period.
ok "each is sampled" until_ok 10 all_sampled
vgpus true >"$dir/all"
gojq -r '.vgpus[].id' "$dir/state/contracts.json" | sort >"$dir/contracts"
ok "the contracts on disk equal those in memory" cmp "$dir/all" "$dir/contracts"
cut -d ' ' -f 1 "$dir/state/caps" | grep . | sort >"$dir/journal"
ok "the cap journal has the same vGPUs" cmp "$dir/all" "$dir/journal"
vgpus '.found and .state == "missing"' >"$dir/ghosts"
ok "removed vGPUs without a contract are forgotten" test ! -s "$dir/ghosts"

alerts() { get /v1/alerts "[.alerts[] | select(.name == \"$1\") | .vgpu] | .[]" | sort; }
alerts foreign_write >"$dir/reported"
vgpus .held >"$dir/held"
ok "exactly the held vGPUs have an alert" cmp "$dir/held" "$dir/reported"
ok "some vGPUs are on hold" test -s "$dir/held"
alerts vgpu_missing >"$dir/reported"
vgpus '.state == "missing"' >"$dir/missing"
ok "exactly the missing vGPUs have an alert" cmp "$dir/missing" "$dir/reported"
unreported() {
  sqlite3 -readonly "$dir/state/history.db" "SELECT count(*) FROM decision d WHERE d.kind = 'foreign_write' AND NOT EXISTS
    (SELECT 1 FROM alert a WHERE a.name = 'foreign_write' AND a.vgpu = d.vgpu AND a.raised_ms <= d.ts_ms
      AND (a.cleared_ms IS NULL OR a.cleared_ms = 0 OR a.cleared_ms >= d.ts_ms))"
}
foreign() { sqlite3 -readonly "$dir/state/history.db" "SELECT count(*) FROM decision WHERE kind = 'foreign_write'"; }
is "every detected foreign write has an alert" "$(unreported)" 0
echo "# $(foreign) foreign writes, $(wc -l <"$dir/tree") vGPUs at the end, $(get /v1/host .ticks) ticks, $(get /v1/host .late_ticks) late"

# The caps of missing vGPUs are reserved until their contracts are removed.
while read -r uuid; do
  api DELETE "/v1/vgpus/$uuid" >/dev/null
done <"$dir/missing"
stuck=0
while read -r uuid; do
  api PATCH "/v1/vgpus/$uuid" '{"held": false}' >/dev/null
done <"$dir/tree"
while read -r uuid; do
  api PATCH "/v1/vgpus/$uuid" '{"held": true, "held_cap_pct": 2}' >/dev/null
  [ "$(status) $(cat "$bus/$uuid/intel_vgpu/cap")" = "200 2" ] || stuck=$((stuck + 1))
done <"$dir/tree"
is "every cap can be set" "$stuck" 0

while read -r uuid; do
  echo 1 >"$bus/$uuid/remove"
done <"$dir/tree"
ok "all are removed and reported as missing" until_ok 30 that /v1/vgpus '[.vgpus[] | select(.state != "missing")] | length == 0'
for uuid in $(vgpus true); do
  api DELETE "/v1/vgpus/$uuid" >/dev/null
done
ok "no contract remains" that /v1/vgpus '.vgpus == []'
ok "no file remains open" until_ok 10 sh -c "[ \$(find /proc/$daemon_pid/fd -type l | wc -l) -le $files_at_first ]"
is "the cap journal is empty" "$(grep -c '[^ ]' "$dir/state/caps")" 0
ok "the alerts are cleared" until_ok 20 that /v1/alerts '[.alerts[] | select(.vgpu != null)] == []'
stop
is "the daemon ends normally" "$stopped" 0
fuse_unmount
is "gover-sim ends normally" "$unmounted" 0
finish
