#!/bin/sh
# Exit codes of gover-ctl. Every error is one line on standard error that names its subject.
. "$(dirname "$0")/../lib.sh"

start_sim
sell a 50 idle

exits() { # exits CODE PART argument...: gover-ctl ends with CODE, prints nothing on stdout, and PART on stderr
  code=$1 part=$2
  shift 2
  "$B/gover-ctl" --socket "$sock" "$@" >"$dir/out" 2>"$dir/err"
  got=$?
  n=$((n + 1))
  if [ "$got" -eq "$code" ] && [ ! -s "$dir/out" ] && grep -q "^gover-ctl: .*$part" "$dir/err"; then
    echo "ok $n - $* exits with $code"
  else
    failures=$((failures + 1))
    echo "not ok $n - $* exits with $code"
    sed "s/^/# $got: /" "$dir/out" "$dir/err"
  fi
}

exits 1 "a" vgpu add a --cap 40
exits 1 "nix" vgpu show nix
exits 1 "nix" vgpu remove nix
exits 1 "nix" why nix
exits 1 "nix" history nix
exits 1 "nix" freeze nix
exits 1 "90" vgpu hold a --cap 90
exits 1 "9999" ack 9999
exits 1 "9999" claim 9999 --id new
exits 1 "--cap: 100 is not allowed" vgpu hold a --cap 100
exits 1 "overload_pct" policy set overload_pct=900
exits 1 "/none.conf" config check /none.conf

exits 2 "--cap '0'" vgpu add b --cap 0
exits 2 "--cap '-1'" vgpu add b --cap -1
exits 2 "--cap '101'" vgpu add b --cap 101
exits 2 "--cap 'NaN'" vgpu add b --cap NaN
exits 2 "--cap 'ten'" vgpu add b --cap ten
for term in '--weight 0' '--weight 101' '--target-fps 10001' '--cid 2'; do
  # shellcheck disable=SC2086 # an option and its value
  exits 2 "${term% *} '${term#* }': not allowed (allowed: " vgpu set a $term
done
exits 2 "--cap PCT or --flavor NAME required" vgpu add b
exits 2 "ID required" vgpu add --cap 5
exits 2 "../b" vgpu add ../b --cap 5
exits 2 "no option" vgpu set a
exits 2 "did you mean 'status'" staus
exits 2 "list, show, add" vgpu
exits 2 "did you mean 'vgpu list'" vgpu lst
exits 2 "did you mean 'vgpu list' or 'silence list' or 'token list'" list
exits 2 "did you mean 'vgpu show'" show a
exits 2 "did you mean 'vgpu add'" add b --cap 5
exits 2 "a group of verbs" selling
exits 2 "allowed: table, wide, json, name" vgpu list -o yaml
exits 2 "allowed: table, json" vgpu show a --output wide
exits 2 "allowed: table)" top -o json
exits 2 "-o: value missing" vgpu list -o
exits 2 "-x: unknown option" vgpu list -x
exits 2 "allowed: vgpu, gpu, vm, promise, sold" vgpu list --sort size
exits 2 "--selector 'a,,b': not allowed (allowed: KEY=VALUE" vgpu list --selector a,,b
exits 2 "--selector 'team in (a,b)': not allowed (allowed: KEY=VALUE" vgpu list -l 'team in (a,b)'
exits 2 "--selector: unknown option" alerts --selector a
exits 2 "did you mean --label" vgpu set a --lable x=y
exits 2 "did you mean overload_pct" policy set overlod_pct=90
exits 2 "--from 'soon'" history a --from soon
exits 2 "ten" ack ten
exits 2 "--json is not supported" top --json
exits 2 "not a terminal" top
exits 2 "mutually exclusive" status --url http://localhost
is "no vGPU was created" "$(get /v1/vgpus '.vgpus | length')" 1

for term in 'weight 0.01' 'weight 100' 'target_fps 0' 'target_fps 10000' 'cid 3' 'cid 4294967294'; do
  option=$(echo "--$term" | tr _ -)
  # shellcheck disable=SC2086 # an option and its value
  ok "the daemon accepts $option" ctl vgpu set a $option
  is "the daemon stores the value" "$(get /v1/vgpus/a ".${term% *}")" "${term#* }"
done

stop
exits 3 "$sock" status
exits 3 "systemctl status gover-d" vgpu list
exits 3 "" run --vgpu a --cap 5 -- true
finish
