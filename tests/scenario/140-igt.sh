#!/bin/sh
# Physical utilisation from the child process intel_gpu_top -J: the daemon reports the newest sample, restarts the
# child when it exits, and kills the child when the daemon stops.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

cat >"$dir/igt" <<'EOF'
#!/bin/sh
# A fake intel_gpu_top with the output format of 1.27.1: no enclosing brackets, and no comma after an empty "clients".
echo $$ >>"$(dirname "$0")/igt.pids"
busy=1.0
while :; do
  printf '{\n\t"period": {"duration": 16.2, "unit": "ms"},\n\t"engines": {\n\t\t"Render/3D/0": {"busy": %s, "unit": "%%"},\n\t\t"Video/1": {"busy": 3.5, "unit": "%%"}\n\t},\n\t"clients": {}\n}\n' "$busy"
  busy=73.25
  sleep 0.1
done
EOF
chmod +x "$dir/igt"
sim_conf
sed -i "s|^root = .*|&\nintel_gpu_top = $dir/igt|" "$conf"
start || exit 1
ok "the utilisation is that of the busiest engine in the newest sample" until_ok 10 that /v1/gpus '.gpus[0].util_pct == 73.25'
kill "$(head -n 1 "$dir/igt.pids")"
ok "killed: no old value is shown" until_ok 10 that /v1/gpus '.gpus[0].util_pct == null'
ok "the program is restarted" until_ok 20 sh -c "test \"\$(wc -l <'$dir/igt.pids')\" -ge 2"
ok "the output of the new program is read" until_ok 10 that /v1/gpus '.gpus[0].util_pct == 73.25'
stop
ok "the program is killed when the daemon stops" until_ok 10 sh -c "! kill -0 \"\$(tail -n 1 '$dir/igt.pids')\""
finish
