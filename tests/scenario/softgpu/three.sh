#!/bin/sh
# Three tenants that need 108 % of the GPU, with real OpenGL programs and policy qos: a and b need 30 % each for 60 FPS,
# c needs 48 %, and each contract is 50 %. The caps stop changing. No tenant gets less than the smaller of its demand and
# its share of the contracts (a third each), so c alone is short, and not by more than the excess. Tested with hard caps
# and with guarantees.
. "$(dirname "$0")/../softgpu.sh"

conf_extra='[policy]
name = qos' period_ms=500
softgpu_conf
need_steps
start || exit 1

tenant() { # tenant ID BODY_US: sells a vGPU and starts its program
  # c fits when the use of a and b is known
  until_ok 60 ctl vgpu add "$1" --cap 50 --target-fps 60 || { ok "$1 is created" ctl vgpu add "$1" --cap 50 --target-fps 60; finish; }
  draw_steps "$1" 60 "$2"
}

last() { # last VGPU SECONDS COLUMNS: a query on the samples of the last SECONDS of a vGPU
  history "SELECT $3 FROM sample JOIN vgpu ON num = vgpu WHERE id = '$1' AND
    ts_ms > (SELECT max(ts_ms) FROM sample) - $2 * 1000 AND fps IS NOT NULL"
}

never_below() { # never_below VGPU PCT: the least cap from 5 s after the first sample on
  least=$(history "SELECT min(cap_pct) FROM sample JOIN vgpu ON num = vgpu WHERE id = '$1' AND
    ts_ms > (SELECT min(ts_ms) FROM sample JOIN vgpu ON num = vgpu WHERE id = '$1') + 5000")
  echo "least cap of $1: $least %"
  [ "$least" -ge "$2" ]
}

at_rest() { # succeeds if no cap has changed by more than one step of 1 % in the last 10 s
  for v in a b c; do
    [ "$(last "$v" 10 'count(*) >= 15 AND max(cap_pct) - min(cap_pct) <= 1')" = 1 ] || return 1
  done
}

shortfall_pct() { # shortfall_pct VGPU: over the last 10 s
  last "$1" 10 "round(100 * avg(max(0, 1 - fps / target_fps)), 1)"
}

less() { # less A B: A <= B, of decimals
  awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && a <= b) }'
}

contend() { # contend SHARING
  tenant a 5000
  tenant b 5000
  tenant c 8000
  ok "$1: the caps stop changing" until_ok 90 at_rest
  echo "# caps of a, b and c in percent, every 5 s:"
  history "SELECT group_concat(cap_pct, '/') FROM (SELECT ts_ms, cap_pct FROM sample JOIN vgpu ON num = vgpu ORDER BY ts_ms, id)
    GROUP BY ts_ms / 5000" | awk -F / 'NF >= 3 { print "#   " $(NF - 2), $(NF - 1), $NF }'
  for v in a b c; do
    echo "# $v: cap $(get /v1/vgpus/$v .cap_pct) %, $(last "$v" 10 'round(avg(fps), 1)') FPS, shortfall $(shortfall_pct "$v") %"
  done
  # A group gets up to 2 points less than its cap (base/linux/cgroup-limit.c), and less than that on a busy host.
  for v in a b; do
    ok "$1: the shortfall of $v is small" less "$(shortfall_pct "$v")" 10
  done
  ok "$1: the shortfall of c is little more than the excess of 8 in 48" less "$(shortfall_pct c)" 30
  ok "$1: the cap of c never falls below half of its demand to keep the number of short vGPUs low" never_below c 25
  ok "$1: the cap of c is at least its share of the contracts" test "$(get /v1/vgpus/c .cap_pct)" -ge 33
}

contend hard
stop
end_softgpu
rm -rf "$dir/state"
sed -i 's/^sharing = .*/sharing = guarantee/' "$conf"
if start; then
  contend guarantee
elif grep -q "$no_guarantees" "$dir/log"; then
  n=$((n + 1))
  echo "ok $n - guarantee # SKIP $(tail -n 1 "$dir/log")"
else
  ok "a daemon with guarantees starts" false
fi
finish
