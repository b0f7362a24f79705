#!/bin/sh
# Threads, children, exec and kill: each frame is counted exactly once.
. "$(dirname "$0")/../fps/lib.sh"

is "16 threads, more than the library has lanes" "$(counted threads 1000)" \
  "frames 16000 programs 1 refused 0 exit 0"
is "parent and forked child have separate pages" "$(counted fork 1000)" "frames 3000 programs 2 refused 0 exit 0"
is "a child created by clone() directly" "$(counted clone 1000)" "frames 3000 programs 2 refused 0 exit 0"
is "a child that does not draw closes the connection of its parent" "$(counted orphan 10)" \
  "frames 10 programs 1 refused 0 exit 0"
is "exec: counting continues" "$(counted exec 1000)" "frames 2000 programs 1 refused 0 exit 0"
is "the last frames of a killed program are counted" "$(counted killed 1000)" "frames 1000 programs 1 refused 0 exit 137"

many=300
cat >"$dir/many" <<EOF
#!/bin/sh
i=0
while [ \$i -lt $many ]; do
  "$B/tests/fps-draw" direct-glx 10 &
  i=\$((i + 1))
done
wait
EOF
chmod +x "$dir/many"
from=$(date +%s%N)
is "$many programs started at once all report" \
  "$("$B/tests/fps-sink" "$fps" env LD_LIBRARY_PATH="$gl" LD_PRELOAD="$preload" GOVER_FPS="unix:$fps" "$dir/many")" \
  "frames $((many * 10)) programs $many refused 0 exit 0"
echo "# they took $((($(date +%s%N) - from) / 1000000)) ms to start, draw, report and end (load: $(cut -d ' ' -f 1-3 /proc/loadavg))"
finish
