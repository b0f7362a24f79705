#!/bin/sh
# After kill -9 of the daemon, the program continues to render under its cap, and a new daemon adopts group, contract
# and cap. Also tests a foreign write of a cap, --restore, and a removed group.
. "$(dirname "$0")/../softgpu.sh"

period_ms=500 conf_extra=$unfunded
softgpu_conf
start_x
start || exit 1
ctl vgpu add a --cap 80 >/dev/null
ctl run --vgpu b --cap 60 --fps-max 0 -- glxgears -geometry 300x300 >"$dir/gears.log" 2>&1 &
ok "steals change the caps" until_ok 30 that /v1/vgpus/b '.cap_pct > 40'
ctl freeze >/dev/null

# The cap is written in the tick that samples the third overloaded period, so both records have the same time.
first="SELECT min(ts_ms) FROM cap_write WHERE vgpu = 'b' AND cause = 'steal'"
ok "the first steal is in the history" until_ok 10 recorded "$first"
is "it is in the tick of the third overloaded period in succession" "$(history "
  SELECT group_concat(CASE WHEN util_pct > 95 THEN 'above' ELSE 'below' END, ' ') || ', ' || (max(ts_ms) - ($first)) || ' ms'
  FROM (SELECT * FROM sample s JOIN vgpu v ON v.num = s.vgpu WHERE v.id = 'b' AND s.ts_ms <= ($first)
    ORDER BY s.ts_ms DESC LIMIT 4)" | sed 's/ below,/,/')" "above above above, 0 ms"
is "the kernel's quota equals the last written cap" "$(kernel_cap b)" \
  "$(history "SELECT to_pct FROM cap_write WHERE vgpu = 'b' ORDER BY id DESC LIMIT 1")"
ok "frames are counted" until_ok 10 that /v1/vgpus/b '.frames > 0'
cap=$(get /v1/vgpus/b .cap_pct)
programs=$(get /v1/vgpus/b '.attach.cgroup_procs[0]')
gears=$(cat "$programs")
stop KILL
sleep 0.2
is "the program continues without a daemon" "$(cat "$programs")" "$gears"
start || exit 1
is "the new daemon adopts the cap" "$(get /v1/vgpus/b .cap_pct)" "$cap"
is "the kernel has the same cap" "$(kernel_cap b)" "$cap"
is "the contract is restored" "$(get /v1/vgpus/b .initial_cap_pct)" 60
is "no vGPU is on hold" "$(get /v1/vgpus '[.vgpus[].held] | any')" false
ok "the log reports the adoption" grep -q "vGPU b was adopted with its cap of $cap %" "$dir/log"
ok "frames of the running program are counted again" until_ok 20 that /v1/vgpus/b '.fps > 5'

group=$(kernel_group a)
if [ -f "$group/cpu.cfs_quota_us" ]; then
  echo 0 >"$group/cpu.cfs_burst_us" # the kernel rejects a quota below the burst
  echo $(($(cat "$group/cpu.cfs_period_us") * 30 / 100)) >"$group/cpu.cfs_quota_us"
else
  echo "30000 100000" >"$group/cpu.max"
fi
ok "a foreign write is detected" until_ok 10 that /v1/vgpus/a '.held and .cap_pct == 30'
stop
"$B/gover-d" --config "$conf" --restore >"$dir/out" 2>&1
is "--restore" "$?" 0
start || exit 1
is "after a restore the next daemon sets the last caps" "$(get /v1/vgpus '[.vgpus[].cap_pct] | join(" ")')" "30 $cap"
xargs kill <"$(get /v1/vgpus/b '.attach.cgroup_procs[0]')"
ok "b can be removed" until_ok 20 ctl vgpu remove b
find /sys/fs/cgroup -depth -type d -path "*/$root/gpu0/a" -exec rmdir {} + 2>/dev/null
ok "an alert names the removed group" until_ok 10 alerts 1 vgpu_missing a
ctl vgpu remove a >/dev/null
finish
