#!/bin/sh
# Physical utilisation out of intel_gpu_top -J, a child process whose output is no reliable JSON: its newest sample
# is shown, it is started again when it dies, and goes with the daemon.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

cat >"$dir/igt" <<'EOF'
#!/bin/sh
# A fake intel_gpu_top: there is no Intel GPU here. Speaks as 1.27.1 does: no brackets, no comma where clients is {}.
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
ok "the busiest engine of the newest sample is the GPU's utilisation" until_ok 10 that /v1/gpus '.gpus[0].util_pct == 73.25'
kill "$(head -n 1 "$dir/igt.pids")"
ok "it died: nothing old is shown as new" until_ok 10 that /v1/gpus '.gpus[0].util_pct == null'
ok "it is started again" until_ok 20 sh -c "test \"\$(wc -l <'$dir/igt.pids')\" -ge 2"
ok "and read again" until_ok 10 that /v1/gpus '.gpus[0].util_pct == 73.25'
stop
ok "it goes with the daemon" until_ok 10 sh -c "! kill -0 \"\$(tail -n 1 '$dir/igt.pids')\""
finish
