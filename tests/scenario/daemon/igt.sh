#!/bin/sh
# Physical utilisation from the child process intel_gpu_top -J: the daemon reports the newest sample, restarts the
# child when it exits, and kills the child when the daemon stops. If there are no samples, an alert says why.
. "$(dirname "$0")/../lib.sh"

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

says() { # says TEXT: an alert of this kind contains TEXT
  that /v1/alerts ".alerts | any(.name == \"utilization_unknown\" and .gpu == \"gpu0\" and (.text | contains(\"$1\")))"
}
mv "$dir/igt" "$dir/good"
run() { # run COMMAND: from now on, the fake program is COMMAND
  printf '#!/bin/sh\necho $$ >>"%s/igt.pids"\n%s\n' "$dir" "$1" >"$dir/igt.new"
  chmod +x "$dir/igt.new"
  mv "$dir/igt.new" "$dir/igt"
  kill "$(tail -n 1 "$dir/igt.pids")"
}
ok "with samples there is no alert" until_ok 30 alerts 0 utilization_unknown
run "echo starting >&2; echo no device >&2; exit 3"
ok "a program that exits: an alert names it, its status and its last message" until_ok 30 says "$dir/igt: exited with status 3: no device"
mv "$dir/good" "$dir/igt"
ok "the alert clears when the program works again" until_ok 60 alerts 0 utilization_unknown
cp "$dir/igt" "$dir/good"
run "while :; do echo garbage; sleep 0.1; done"
ok "a program that prints garbage: an alert says so" until_ok 30 says "prints no valid samples"
ok "it names the program" says "$dir/igt: process $(tail -n 1 "$dir/igt.pids")"
mv "$dir/good" "$dir/igt"
kill "$(tail -n 1 "$dir/igt.pids")"
ok "the alert clears" until_ok 60 alerts 0 utilization_unknown
cp "$dir/igt" "$dir/good"
run "exec sleep 600"
ok "a program that prints nothing is killed" until_ok 60 says "$dir/igt: killed after 10 s without a valid sample"
mv "$dir/good" "$dir/igt"
ok "the alert clears when the program works again" until_ok 60 alerts 0 utilization_unknown
stop
ok "the program is killed when the daemon stops" until_ok 10 sh -c "! kill -0 \"\$(tail -n 1 '$dir/igt.pids')\""

mv "$dir/igt" "$dir/good"
ok "a daemon starts without the program" start
ok "an alert says so" until_ok 30 says "$dir/igt: cannot start: No such file or directory"
mv "$dir/good" "$dir/igt"
ok "a program that is installed later is started" until_ok 60 that /v1/gpus '.gpus[0].util_pct == 73.25'
finish
