#!/bin/sh
# Control characters in texts: C0, DEL, C1, separators of lines, and controls of the direction of a text. Each text of a
# request is refused with the name of the character. A contracts file of an earlier version may contain them: metrics,
# hooks and the log contain none of them.
. "$(dirname "$0")/../lib.sh"

printf '#!/bin/sh\n{ cat; env; } >>"%s/hook.out"\n' "$dir" >"$dir/hook"
chmod +x "$dir/hook"
daemon_extra="on_alert = $dir/hook"
conf_extra='[alerts]
notify = info'
start_sim
sell a 50

# Each row is a method, a path and a body in which @ is the character.
cat >"$dir/texts" <<'END'
POST /v1/vgpus {"id": "x", "initial_cap_pct": 10, "vm": "v@"}
POST /v1/vgpus {"id": "x", "initial_cap_pct": 10, "flavor": "v@"}
POST /v1/vgpus {"id": "x", "initial_cap_pct": 10, "labels": {"team": "v@"}}
POST /v1/vgpus {"id": "x", "initial_cap_pct": 10, "labels": {"te@m": "v"}}
PATCH /v1/vgpus/a {"vm": "v@"}
PATCH /v1/vgpus/a/contract {"vm": "v@"}
POST /v1/silences {"alert": "fps_missing", "until": "2099-01-01T00:00:00Z", "reason": "v@"}
POST /v1/offers/1/hold {"holder": "v@", "for_s": 60}
POST /v1/offers/1/claim {"id": "x", "vm": "v@"}
PUT /v1/fleet {"state": "connected", "cloud": "v@", "unverified": 0, "leaks": [], "ttl_s": 60}
PUT /v1/fleet {"state": "unreachable", "cloud": "c", "problem": "v@", "unverified": 0, "leaks": [], "ttl_s": 60}
POST /v1/vgpus/a/migration {"state": "requested", "to": "v@"}
POST /v1/vgpus/a/migration {"state": "requested", "reason": "v@"}
END
refuses() { # refuses CODE: each text with this character is refused, and the answer names the character
  while read -r method path body; do
    api "$method" "$path" "$(echo "$body" | sed "s/@/\\\\u$1/")" >"$dir/answer"
    [ "$(status)" = 422 ] && grep -q "U+$1 is not allowed" "$dir/answer" && continue
    echo "$method $path $body: $(status) $(cat "$dir/answer")"
    return 1
  done <"$dir/texts"
}
codes='001B 007F 0080 0085 009B 009F 061C 200E 200F 2028 2029 202A 202E 2066 2069'
for code in $codes; do ok "U+$code is refused in each text" refuses "$code"; done
api PATCH /v1/vgpus/a '{"vm": "Zoë 東京 🙂", "labels": {"project": "p", "instance": "i"}, "target_fps": 60}' >/dev/null
is "other characters are accepted" "$(status)" 200
stop

# The texts that an earlier version stored
gojq '.vgpus[0].vm = "v\u009b\u202e\u2028m" | .vgpus[0].labels = {"instance": "i\u0085\u2066", "pro\u200fject": "x"}' \
  "$dir/state/contracts.json" >"$dir/changed"
cp "$dir/changed" "$dir/state/contracts.json"
start || exit 1
ok "a file of an earlier version is loaded" that /v1/vgpus/a '.vm | test("^v[?]+m$")'
ok "its labels are loaded" that /v1/vgpus/a '.labels.instance | test("^i[?]+$")'
ok "the log says so" grep -q 'control characters are replaced' "$dir/log"
ok "a hook runs" until_ok 60 grep -q '^GOVER_VM=v' "$dir/hook.out"
curl -sS --unix-socket "$sock" http://gover/metrics >"$dir/metrics"
ok "the metrics name the virtual machine" grep -q 'vm="v?*m"' "$dir/metrics"
for file in metrics hook.out log; do
  is "no such character is in: $file" \
    "$(LC_ALL=C.UTF-8 grep -cP '[\x{80}-\x{9f}\x{61c}\x{200e}\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}]' "$dir/$file")" 0
done

conf_extra=$(printf '[alerts]\nrunbook_url = https://\302\233x') sim_conf
"$B/gover-d" --check-config --config "$conf" >"$dir/check" 2>&1
ok "the configuration names the character" grep -q 'U+009B' "$dir/check"
finish
