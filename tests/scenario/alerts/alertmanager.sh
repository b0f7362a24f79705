#!/bin/sh
# An overload and its end reach a webhook through Prometheus and Alertmanager on loopback.
. "$(dirname "$0")/../lib.sh"
for program in prometheus prometheus-alertmanager promtool; do
  command -v "$program" >/dev/null || skip_all "no $program: make check-monitoring installs it"
done

python3 "$top/tests/helper/http-sink.py" "$dir/port" "$dir/bodies" "$dir/answer" &
sink=$!
cleanup="kill $sink 2>/dev/null"
until_ok 10 test -s "$dir/port" || exit 1
# If another program takes a port meanwhile, the server that cannot listen reports it.
gover=127.0.0.1:$(free_port) prom=127.0.0.1:$(free_port) am=127.0.0.1:$(free_port)

sim_conf
start --listen "$gover" || exit 1
token prometheus read

cat >"$dir/prometheus.yml" <<EOF
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [$top/dist/prometheus/gover.rules.yml]
alerting: {alertmanagers: [{static_configs: [{targets: ['$am']}]}]}
scrape_configs:
  - job_name: gover
    authorization: {credentials_file: $dir/prometheus.token}
    static_configs: [{targets: ['$gover']}]
EOF
cat >"$dir/alertmanager.yml" <<EOF
route: {receiver: night, group_by: [alertname, vgpu], group_wait: 1s, group_interval: 1s, repeat_interval: 1h}
receivers:
  - name: night
    webhook_configs: [{url: 'http://127.0.0.1:$(cat "$dir/port")/', send_resolved: true}]
EOF
example=$top/dist/prometheus/alertmanager.yml.example
ok "amtool accepts the example" amtool check-config "$example"
receiver() { amtool config routes test --config.file="$example" "severity=$1"; }
is "the example sends critical alerts to the engineer on duty, and warnings to the tickets" "$(receiver critical) $(receiver warning)" "duty tickets"
ok "promtool accepts the configuration" promtool check config "$dir/prometheus.yml"
prometheus-alertmanager --config.file="$dir/alertmanager.yml" --storage.path="$dir/am" --web.listen-address="$am" \
  --cluster.listen-address= >"$dir/alertmanager.log" 2>&1 &
cleanup="$cleanup; kill $! 2>/dev/null"
prometheus --config.file="$dir/prometheus.yml" --storage.tsdb.path="$dir/tsdb" --web.listen-address="$prom" \
  >"$dir/prometheus.log" 2>&1 &
cleanup="$cleanup; kill $! 2>/dev/null"

ask() { # ask PROMQL JQ-FILTER: succeeds if the filter is true for the result
  curl -sf -G --data-urlencode "query=$1" "http://$prom/api/v1/query" | gojq -e ".data.result | $2"
}
heard() { # heard JQ-FILTER: succeeds if the filter is true for a received alert
  gojq -es "[.[].alerts[] | select($1)] | length > 0" "$dir/bodies"
}

ok "Prometheus scrapes the daemon" until_ok 60 ask 'up{job="gover"}' '.[0].value[1] == "1"'
ok "Prometheus receives OpenMetrics with units" until_ok 30 sh -c \
  "curl -sf 'http://$prom/api/v1/metadata?metric=gover_vgpu_busy_seconds' | gojq -e '.data[\"gover_vgpu_busy_seconds\"][0].unit == \"seconds\"'"
# Two overloaded vGPUs and no donor, as in daemon/severe.sh.
sell a 100 busy '"vm": "win-1"'
api PATCH /v1/vgpus/a '{"held": true, "held_cap_pct": 20}' >/dev/null
sell b 80 busy '"vm": "win-2"'
api PATCH /v1/vgpus/b '{"held": true, "held_cap_pct": 60}' >/dev/null
sell c 60 idle
for v in a b; do api PATCH /v1/vgpus/$v '{"held": false}' >/dev/null; done
ok "an overload is raised" until_ok 30 alerts 1 severe_overload
ok "Prometheus fires" until_ok 60 ask 'ALERTS{alertname="GoverCritical",alertstate="firing"}' 'length > 0'
ok "the webhook receives the alert from Alertmanager" until_ok 60 heard '.status == "firing" and .labels.name == "severe_overload"'
vgpu=$(gojq -rs '[.[].alerts[] | select(.labels.name == "severe_overload")][0].labels.vgpu' "$dir/bodies")
is "the alert contains the vGPU, the next command and the page of the runbook" \
  "$(gojq -rs '[.[].alerts[] | select(.labels.name == "severe_overload")][0] | "\(.labels.severity) \(.annotations.next) \(.annotations.runbook_url)"' "$dir/bodies")" \
  "critical gover-ctl why $vgpu file:///usr/share/doc/gover/runbook/severe_overload.md"
ok "the next command works" ctl why "$vgpu"
load a idle
ok "the webhook receives the end of the alert" until_ok 90 heard '.status == "resolved" and .labels.name == "severe_overload"'
ok "the recorded series exist" until_ok 30 ask 'gover:tick_lateness_seconds:p99_rate5m' 'length == 1'
stop
ok "a stopped daemon raises GoverDown" until_ok 60 ask 'ALERTS{alertname="GoverDown"}' 'length == 1'
finish
