/* SPDX-License-Identifier: MIT */
/*
 * GET /metrics: the text is valid for Prometheus, and the values equal those of the host; each
 * percentage has a fraction, and frame times are a histogram.
 */
#include "tests/unit/gover-d/api/test-api.h"

#include <ctype.h>

#include "gover-d/api/handler.h"
#include "gover-d/api/metrics.h"

static const char *scrape(void)
{
	const struct api_reply *reply = ask("GET /metrics", NULL);

	assert_int_equal(reply->status, 200);
	assert_string_equal(reply->type, "text/plain; version=0.0.4; charset=utf-8");
	return reply->text->data;
}

static bool has_line(const char *text, const char *line)
{
	bool found = false;

	/* @line may also occur within another line. */
	for (const char *at = text; !found && (at = strstr(at, line)); at++)
		found = (at == text || at[-1] == '\n') && at[strlen(line)] == '\n';
	if (!found)
		print_error("no line %s\n", line);
	return found;
}

/* Checks that the labels {name="value",...} at @at are valid and escaped; returns their end. */
static const char *skip_labels(const char *at)
{
	if (*at != '{')
		return at;
	do {
		at++;
		assert_true(islower((unsigned char)*at));
		at += strspn(at, "abcdefghijklmnopqrstuvwxyz_");
		assert_true(at[0] == '=' && at[1] == '"');
		for (at += 2; *at != '"'; at++) {
			assert_true(*at != '\0' && *at != '\n');
			if (*at == '\\')
				assert_non_null(strchr("\\\"n", *++at));
		}
		at++;
	} while (*at == ',');
	assert_int_equal(*at, '}');
	return at + 1;
}

static void assert_head(const char *help, const char *type_line, char name[128], char type[16])
{
	char name_again[128];
	int end = 0;

	assert_int_equal(sscanf(help, "# HELP %127[a-z0-9_] %*[A-Z0-9a-z]%n", name, &end), 1);
	assert_int_equal(help[strlen(help) - 1], '.');
	assert_int_equal(sscanf(type_line, "# TYPE %127[a-z0-9_] %15s", name_again, type), 2);
	assert_string_equal(name_again, name);
	assert_true(strncmp(name, "gover_", 6) == 0 || strncmp(name, "process_", 8) == 0);
	assert_true(strcmp(type, "gauge") == 0 || strcmp(type, "counter") == 0 ||
		    strcmp(type, "histogram") == 0);
	assert_int_equal(strcmp(type, "counter") == 0,
			 strlen(name) > 6 && strcmp(name + strlen(name) - 6, "_total") == 0);
}

static void assert_sample(const char *line, const char *name)
{
	static const char *const suffixes[] = {"_bucket{", "_sum ", "_count "};
	const char *at = line + strlen(name);
	char *end;

	assert_int_equal(strncmp(line, name, strlen(name)), 0);
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (strncmp(at, suffixes[i], strlen(suffixes[i])) == 0)
			at += strlen(suffixes[i]) - 1;
	at = skip_labels(at);
	assert_int_equal(*at, ' ');
	assert_true(isfinite(strtod(at + 1, &end)));
	assert_int_equal(*end, '\0');
}

/*
 * Checks that each metric has one header, followed by the lines of this metric, and that no line is
 * repeated.
 */
static void assert_wellformed(const char *text)
{
	CLEANUP_FREE char *copy = strdup(text);
	char *lines[2048], name[128] = "", type[16];
	size_t n = 0;

	assert_int_equal(text[strlen(text) - 1], '\n');
	for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n")) {
		assert_true(n < ARRAY_SIZE(lines));
		lines[n++] = line;
	}
	for (size_t i = 0; i < n; i++) {
		if (lines[i][0] == '#') {
			assert_true(i + 1 < n);
			assert_head(lines[i], lines[i + 1], name, type);
			i++;
		} else {
			assert_sample(lines[i], name);
		}
		for (size_t k = 0; k < i; k++)
			assert_false(strncmp(lines[k], lines[i], strcspn(lines[i], " ") + 1) == 0 &&
				     lines[i][0] != '#');
	}
}

FIXTURE(stand_in_begin, stand_in_end)

TEST(the_text_is_well_formed)
{
	assert_wellformed(scrape());
	stand_in_find("a")->row = (struct monitor_row){
		.sample.busy_valid = true,
		.sample.load = INFINITY,
		.sample.util = NAN,
		.sample.fps_valid = true,
		.sample.fps = 1e9,
		.sample.p99_valid = true,
		.sample.frame_p99_ms = 16.7,
		.fps_seen = true,
		.frames = 123456789,
	};
	manager->host.gpus[0].telemetry_valid = true;
	manager->host.gpus[0].view.total_load = 0.5;
	tick_api();
	assert_wellformed(scrape());
}

TEST(values_equal_those_of_the_host)
{
	static const char *const lines[] = {
		"gover_build_info{version=\"" GOVER_VERSION "\"} 1",
		"gover_ticks_total 1234567890123",
		"gover_late_ticks_total 2",
		"gover_gaps_total 3",
		"gover_period_seconds 1",
		"gover_history_enabled 0",
		"gover_fps_sources 0",
		"gover_gpu_cap_percent{gpu=\"gpu0\"} 37",
		"gover_gpu_initial_cap_percent{gpu=\"gpu0\"} 50",
		"gover_gpu_utilization_percent{gpu=\"gpu0\"} 61.5",
		"gover_gpu_acting{gpu=\"gpu0\"} 1",
		"gover_gpu_frozen{gpu=\"gpu0\"} 0",
		"gover_vgpu_cap_percent{gpu=\"gpu0\",vgpu=\"a\",vm=\"vm-a\"} 37",
		"gover_vgpu_initial_cap_percent{gpu=\"gpu0\",vgpu=\"a\",vm=\"vm-a\"} 50",
		"gover_vgpu_load_percent{gpu=\"gpu0\",vgpu=\"a\",vm=\"vm-a\"} 30",
		"gover_vgpu_busy_seconds_total{gpu=\"gpu0\",vgpu=\"a\",vm=\"vm-a\"} 2.5",
		"gover_vgpu_frames_total{gpu=\"gpu0\",vgpu=\"a\",vm=\"vm-a\"} 77",
		"gover_vgpu_target_fps{gpu=\"gpu0\",vgpu=\"a\",vm=\"vm-a\"} 60",
		"gover_vgpu_broken_seconds_total{gpu=\"gpu0\",vgpu=\"a\",vm=\"vm-a\"} 4.5",
		"gover_offers{state=\"open\"} 1",
		"gover_offers{state=\"kept\"} 0",
		"gover_alerts{name=\"sum_over_100\",severity=\"warning\"} 0",
	};
	struct vgpu *vgpu = stand_in_find("a");

	manager->host.ticks = 1234567890123;
	manager->host.late_ticks = 2;
	manager->host.gaps = 3;
	manager->host.gpus[0].util_pct = 61.5;
	vgpu->cap.pct = 37;
	vgpu->row = (struct monitor_row){
		.sample.busy_valid = true,
		.sample.load = 0.3,
		.reading.busy_ns = 2500000000,
		.fps_seen = true,
		.frames = 77,
	};
	vgpu->tally.broken_s = 4.5;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_true(has_line(scrape(), lines[i]));
}

static const char vgpu_a[] = "{gpu=\"gpu0\",vgpu=\"a\",vm=\"vm-a\"}";

TEST(metrics_for_dashboards_are_present)
{
	static const char *const lines[] = {
		"gover_vgpus 1",
		("gover_vgpu_info{gpu=\"gpu0\",vgpu=\"a\",vm=\"vm-a\",flavor=\"default\","
		 "project=\"\",server=\"\"} 1"),
		"gover_overbooking_ratio 0.5",
		"gover_gpu_overbooking_ratio{gpu=\"gpu0\"} 0.5",
		"gover_tick_lateness_seconds_bucket{le=\"0.0005\"} 0",
		"gover_tick_lateness_seconds_bucket{le=\"0.001\"} 1",
		"gover_tick_lateness_seconds_bucket{le=\"0.5\"} 1",
		"gover_tick_lateness_seconds_bucket{le=\"1.0\"} 2",
		"gover_tick_lateness_seconds_bucket{le=\"+Inf\"} 3",
		"gover_tick_lateness_seconds_sum 3.701",
		"gover_tick_lateness_seconds_count 3",
		"gover_tick_duration_seconds_bucket{le=\"0.001\"} 0",
		"gover_tick_duration_seconds_bucket{le=\"0.0025\"} 1",
		"gover_tick_duration_seconds_bucket{le=\"+Inf\"} 1",
		"gover_tick_duration_seconds_sum 0.002",
		"gover_tick_duration_seconds_count 1",
		"gover_hook_runs_total{hook=\"on_alert\"} 7",
		"gover_hook_runs_total{hook=\"on_migrate\"} 9",
		"gover_hook_failures_total{hook=\"on_offer\"} 3",
		"gover_hook_kills_total{hook=\"on_offer\"} 2",
		"gover_hook_drops_total{hook=\"on_offer\"} 1",
	};
	static const struct {
		const char *name, *value;
	} of_vgpu[] = {
		{"gover_vgpu_share_error_ratio", "0.02"},
		{"gover_vgpu_share_error_seconds_total", "0.2"},
		{"gover_vgpu_saturated_seconds_total", "10"},
		{"gover_vgpu_fps_age_seconds", "1.5"},
	};
	struct vgpu *vgpu = stand_in_find("a");
	char line[128];

	host_count_delay(&manager->host.tick_duration, 0.002);
	host_count_delay(&manager->host.lateness, 0.001);
	host_count_delay(&manager->host.lateness, 0.7);
	host_count_delay(&manager->host.lateness, 3);
	for (int hook = 0; hook < HOOKS; hook++)
		manager->hook_stats[hook] = (struct hook_stats){
			.run = 7 + (uint64_t)hook, .failed = 3, .killed = 2, .dropped = 1};
	vgpu->tally.cap_error_s = 10;
	vgpu->tally.cap_error_pct_s = 20;
	vgpu->row.fps_seen = true;
	vgpu->row.fps_age_s = 1.5;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_true(has_line(scrape(), lines[i]));
	for (size_t i = 0; i < ARRAY_SIZE(of_vgpu); i++) {
		snprintf(line, sizeof(line), "%s%s %s", of_vgpu[i].name, vgpu_a, of_vgpu[i].value);
		assert_true(has_line(scrape(), line));
	}
	assert_wellformed(scrape());
}

TEST(webhook_metrics_need_a_webhook)
{
	static const char *const lines[] = {
		"gover_webhook_messages_total{result=\"sent\"} 4",
		"gover_webhook_messages_total{result=\"refused\"} 5",
		"gover_webhook_messages_total{result=\"dropped\"} 6",
		"gover_webhook_retries_total 8",
		"gover_webhook_queued 2",
		"gover_webhook_failing 1",
	};

	assert_null(strstr(scrape(), "gover_webhook_messages_total{"));
	manager->view.webhook = &webhook;
	manager->webhook_stats = (struct webhook_stats){.sent = 4,
							.refused = 5,
							.dropped = 6,
							.retried = 8,
							.waiting = 2,
							.failed_tries = 1};
	manager->generation++;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_true(has_line(scrape(), lines[i]));
}

TEST(requests_are_counted_by_route_and_status)
{
	static const char *const lines[] = {
		"gover_http_requests_total{method=\"GET\",route=\"/v1/vgpus/{id}\",status=\"200\"} "
		"2",
		"gover_http_requests_total{method=\"GET\",route=\"/v1/vgpus/{id}\",status=\"404\"} "
		"1",
		"gover_http_requests_total{method=\"POST\",route=\"/v1/vgpus\",status=\"415\"} 1",
		"gover_http_requests_total{method=\"DELETE\",route=\"/v1/vgpus/"
		"{id}\",status=\"204\"} 1",
		"gover_http_requests_total{method=\"other\",route=\"none\",status=\"404\"} 2",
		"gover_http_requests_total{method=\"other\",route=\"none\",status=\"405\"} 1",
	};

	(void)ask("GET /v1/vgpus/a", NULL);
	(void)ask("HEAD /v1/vgpus/a", NULL);
	(void)ask("GET /v1/vgpus/none", NULL);
	(void)ask("POST /v1/vgpus", NULL);
	(void)ask("GET /v1/no/such/thing", NULL);
	(void)ask("GET /\"}", NULL);
	(void)ask("PUT /v1/vgpus", NULL);
	(void)ask("DELETE /v1/vgpus/a", NULL); /* the reply is deferred */
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_true(has_line(scrape(), lines[i]));
	assert_wellformed(scrape());
}

TEST(flavours_and_owners_are_labels)
{
	struct vgpu *vgpu = stand_in_find("a");

	strcpy(manager->config.flavors[0].name, "half");
	manager->config.n_flavors = 1;
	strcpy(vgpu->contract.flavor, "half");
	json_decref(vgpu->contract.labels);
	vgpu->contract.labels = json_pack("{s:s, s:s}", "project", "shop", "instance", "web \"1\"");
	manager->generation++;
	assert_true(has_line(scrape(), "gover_vgpu_info{gpu=\"gpu0\",vgpu=\"a\",vm=\"vm-a\","
				       "flavor=\"half\",project=\"shop\","
				       "server=\"web \\\"1\\\"\"} 1"));
	assert_true(has_line(scrape(), "gover_open_offers{gpu=\"gpu0\",flavor=\"default\"} 0"));
	assert_true(has_line(scrape(), "gover_open_offers{gpu=\"gpu0\",flavor=\"half\"} 1"));
	assert_wellformed(scrape());
}

static const char *scrape_as(const char *accept, const char *type)
{
	static struct api_request request;

	api_request_fini(&request);
	request = (struct api_request){
		.method = "GET",
		.path = "/metrics",
		.accept = accept,
		.principal = {.scope = ACCESS_READ},
	};
	api_serve(api, &request);
	assert_int_equal(request.reply.status, 200);
	assert_true(strncmp(request.reply.type, type, strlen(type)) == 0);
	return request.reply.text->data;
}

TEST(the_format_follows_the_accept_header)
{
	static const char open[] = "application/openmetrics-text; version=1.0.0";
	static const char text[] = "text/plain; version=0.0.4";
	static const struct {
		const char *accept, *type;
	} rows[] = {
		{NULL, text},
		{"", text},
		{"*/*", text},
		{"text/html", text},
		{"application/openmetrics-text", open},
		{"Application/OpenMetrics-Text; version=1.0.0", open},
		{"application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
		 "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		 open},
		{"text/plain;version=0.0.4;q=1,*/*;q=0.1", text},
		{"text/plain;version=0.0.4;q=0.9,application/openmetrics-text;q=0.2", text},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		(void)scrape_as(rows[i].accept, rows[i].type);
}

/* OpenMetrics also requires metric families, units and the last line "# EOF". */
TEST(openmetrics_has_families_units_and_eof)
{
	static const char *const lines[] = {
		"# TYPE gover_build info",
		"gover_build_info{version=\"" GOVER_VERSION "\"} 1",
		"# TYPE gover_ticks counter",
		"# HELP gover_ticks Number of ticks.",
		"gover_ticks_total 0",
		"# TYPE gover_vgpu_broken_seconds counter",
		"# UNIT gover_vgpu_broken_seconds seconds",
		"# UNIT gover_gpu_cap_percent percent",
		"# UNIT gover_overbooking_ratio ratio",
		"# TYPE gover_tick_lateness_seconds histogram",
		"# TYPE gover_alerts gauge",
	};
	const char *text =
		scrape_as("application/openmetrics-text", "application/openmetrics-text");

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_true(has_line(text, lines[i]));
	assert_string_equal(text + strlen(text) - 7, "\n# EOF\n");
	assert_null(strstr(scrape(), "# EOF"));
	assert_null(strstr(scrape(), "# UNIT"));
	for (const char *at = text; (at = strstr(at, "\n# TYPE ")); at++) {
		char name[128], type[16], total[160];

		assert_int_equal(sscanf(at, "\n# TYPE %127s %15s", name, type), 2);
		snprintf(total, sizeof(total), "\n%s_total", name);
		if (strcmp(type, "counter") != 0)
			assert_null(strstr(text, total));
		assert_int_equal(strlen(name) > 6 && strcmp(name + strlen(name) - 6, "_total") == 0,
				 0);
	}
}

TEST(each_active_alert_has_a_line)
{
	static const char line[] = "gover_alert_active{name=\"write_failed\",severity=\"critical\","
				   "gpu=\"gpu0\",vgpu=\"a\",vm=\"vm-a\",silenced=\"false\"} 1";

	alerts_hold(manager->alerts, ALERT_WRITE_FAILED, "gpu0", stand_in_find("a"), 1, "no");
	alerts_end_tick(manager->alerts, 1, false);
	assert_true(has_line(scrape(), line));
	for (int i = 0; i < 10; i++)
		alerts_end_tick(manager->alerts, 2, false);
	manager->generation++;
	assert_null(strstr(scrape(), "gover_alert_active{"));
}

TEST(tick_times_cover_the_newest_ticks)
{
	struct host *host = &manager->host;

	assert_true(isnan(metrics_tick(host).p50_us));
	for (uint32_t i = 1; i <= 100; i++)
		host->tick_us[host->n_tick_us++] = 101 - i;
	assert_true(metrics_tick(host).p50_us == 51 && metrics_tick(host).p99_us == 100);
	assert_true(has_line(scrape(), "gover_tick_p99_seconds 0.0001"));
	for (uint32_t i = 0; i < 3 * TICKS_TIMED; i++)
		host->tick_us[host->n_tick_us++ % TICKS_TIMED] = 7;
	assert_true(metrics_tick(host).p50_us == 7 && metrics_tick(host).p99_us == 7);
}

TEST(an_invalid_value_has_no_line)
{
	static const char *const names[] = {
		"gover_vgpu_load_percent",
		"gover_vgpu_utilization_percent",
		"gover_vgpu_busy_seconds_total",
		"gover_vgpu_frames_total",
		"gover_vgpu_fps",
		"gover_vgpu_frame_p50_seconds",
		"gover_vgpu_frame_p99_seconds",
		"gover_vgpu_frame_max_seconds",
		"gover_vgpu_frame_gpu_seconds",
		"gover_gpu_utilization_percent",
		"gover_gpu_load_percent",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char begin[64];

		snprintf(begin, sizeof(begin), "\n# TYPE %s ", names[i]);
		assert_non_null(strstr(scrape(), begin));
		snprintf(begin, sizeof(begin), "\n%s{", names[i]);
		assert_null(strstr(scrape(), begin));
	}
}

TEST(labels_are_escaped)
{
	strcpy(stand_in_find("a")->contract.vm, "a\"b\\c\nd");
	assert_wellformed(scrape());
	assert_true(has_line(scrape(), "gover_vgpu_missing{gpu=\"gpu0\",vgpu=\"a\","
				       "vm=\"a\\\"b\\\\c?d\"} 0"));
}

TEST(active_alerts_are_counted)
{
	static const char up[] = "gover_alerts{name=\"write_failed\",severity=\"critical\"} 1";
	static const char down[] = "gover_alerts{name=\"write_failed\",severity=\"critical\"} 0";

	alerts_hold(manager->alerts, ALERT_WRITE_FAILED, "gpu0", stand_in_find("a"), 1, "no");
	alerts_end_tick(manager->alerts, 1, false);
	assert_true(has_line(scrape(), up));
	for (int i = 0; i < 10; i++)
		alerts_end_tick(manager->alerts, 2, false);
	manager->generation++;
	assert_true(has_line(scrape(), down));
}

TEST(a_gpu_that_counts_work_has_rates)
{
	static const struct {
		const char *name, *value; /* value NULL: no line */
	} rows[] = {
		{"gover_vgpu_work_units_total", "77"},
		{"gover_vgpu_rate", "31.5"},
		{"gover_vgpu_target_rate", "40"},
		{"gover_vgpu_frames_total", NULL},
		{"gover_vgpu_fps", NULL},
		{"gover_vgpu_target_fps", NULL},
		{"gover_vgpu_fps_age_seconds", NULL},
		{"gover_vgpu_memory_bytes", "3145728"},
		{"gover_vgpu_memory_limit_bytes", "4194304"},
	};
	struct vgpu *vgpu = stand_in_find("a");

	manager->host.gpus[0].state = GPU_OPEN;
	manager->host.gpus[0].traits.unit = GPU_WORK;
	vgpu->contract.target_rate = 40;
	vgpu->contract.memory_mib = 4;
	vgpu->row.reading.memory_valid = true;
	vgpu->row.reading.memory_bytes = 3 << 20;
	vgpu->row.frames = 77;
	vgpu->row.fps_seen = vgpu->row.sample.fps_valid = true;
	vgpu->row.sample.fps = 31.5;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char line[128];

		snprintf(line, sizeof(line), "%s{gpu=\"gpu0\",vgpu=\"a\",vm=\"vm-a\"} %s",
			 rows[i].name, rows[i].value ? rows[i].value : "");
		if (rows[i].value)
			assert_true(has_line(scrape(), line));
		else
			assert_null(strstr(scrape(), line));
	}
	/* the limit of the host, if the contract has none */
	vgpu->contract.memory_mib = 0;
	vgpu->row.reading.memory_max_valid = true;
	vgpu->row.reading.memory_max_bytes = 5 << 20;
	manager->generation++;
	assert_true(has_line(scrape(), "gover_vgpu_memory_limit_bytes{gpu=\"gpu0\",vgpu=\"a\","
				       "vm=\"vm-a\"} 5242880"));
}

static void decide(enum decision_kind kind)
{
	struct decision decision = {.kind = kind, .numbers = json_object(), .moves = json_array()};

	add_decided(&decision);
}

TEST(decisions_no_longer_in_memory_are_counted)
{
	char line[64];

	assert_true(has_line(scrape(), "gover_decisions_total{kind=\"steal\"} 0"));
	for (int i = 0; i < 2 * DECISIONS_MAX; i++) {
		decide((enum decision_kind)POLICY_STEAL);
		if (i % 100 == 0)
			tick_api();
	}
	decide(DECISION_HOLD);
	tick_api();
	snprintf(line, sizeof(line), "gover_decisions_total{kind=\"steal\"} %d", 2 * DECISIONS_MAX);
	assert_true(has_line(scrape(), line));
	assert_true(has_line(scrape(), "gover_decisions_total{kind=\"hold\"} 1"));
}

/* --- fractions for percentages, and the histogram of frame times --- */

/* Returns the value of the first line that begins with @name and has labels. */
static double value_of(const char *text, const char *name)
{
	char begin[160], *end;
	const char *at;
	double value;

	snprintf(begin, sizeof(begin), "\n%s{", name);
	at = strstr(text, begin);
	if (!at)
		print_error("no line of %s\n", name);
	assert_non_null(at);
	at = strstr(at, "} ");
	assert_non_null(at);
	value = strtod(at + 2, &end);
	assert_int_equal(*end, '\n');
	return value;
}

TEST(each_percentage_has_a_ratio)
{
	static const char suffix[] = "_percent gauge";
	struct vgpu *vgpu = stand_in_find("a");
	const struct api_reply *reply;
	int n = 0;

	manager->host.gpus[0].util_pct = 61.5;
	manager->host.gpus[0].telemetry_valid = true;
	manager->host.gpus[0].view.total_load = 0.25;
	vgpu->cap.pct = 37;
	vgpu->row = (struct monitor_row){
		.sample.busy_valid = true, .sample.load = 0.3, .sample.util = 0.7};
	vgpu->promise.track.seen = true;
	vgpu->promise.track.want_pct = 31;
	vgpu->promise.track.burn[PROMISE_HOST] = (struct promise_burn){
		.fast = {.slot_s = 1, .bad_s = {30}},
		.slow = {.slot_s = 60, .bad_s = {60}},
	};
	reply = ask("GET /metrics", NULL);
	for (const char *at = reply->text->data; (at = strstr(at, "\n# TYPE ")); at++) {
		char name[128], ratio[160], hint[192];
		size_t length = strcspn(at + 8, "\n");

		if (length < strlen(suffix) ||
		    strncmp(at + 8 + length - strlen(suffix), suffix, strlen(suffix)) != 0)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(length - strlen(" gauge")), at + 8);
		snprintf(ratio, sizeof(ratio), "%.*s_ratio", (int)(length - strlen(suffix)),
			 at + 8);
		snprintf(hint, sizeof(hint), " Deprecated: use %s.\n", ratio);
		assert_non_null(strstr(reply->text->data, hint));
		assert_float_equal(value_of(reply->text->data, ratio),
				   value_of(reply->text->data, name) / 100, 1e-12);
		n++;
	}
	assert_int_equal(n, 11);
	assert_float_equal(value_of(reply->text->data, "gover_vgpu_cap_ratio"), 0.37, 1e-12);
	assert_float_equal(value_of(reply->text->data, "gover_vgpu_broken_fast_ratio"), 0.5, 1e-12);
}

TEST(frame_times_are_a_histogram)
{
#define LABELS "gpu=\"gpu0\",vgpu=\"a\",vm=\"vm-a\""
	static const char *const lines[] = {
		"\n# TYPE gover_vgpu_frame_seconds histogram\n",
		"\ngover_vgpu_frame_seconds_bucket{" LABELS ",le=\"0.0016\"} 1\n",
		"\ngover_vgpu_frame_seconds_bucket{" LABELS ",le=\"0.0128\"} 1\n",
		"\ngover_vgpu_frame_seconds_bucket{" LABELS ",le=\"0.018101934\"} 101\n",
		"\ngover_vgpu_frame_seconds_bucket{" LABELS ",le=\"0.4096\"} 101\n",
		"\ngover_vgpu_frame_seconds_bucket{" LABELS ",le=\"+Inf\"} 103\n",
		"\ngover_vgpu_frame_seconds_count{" LABELS "} 103\n",
	};
#undef LABELS
	struct vgpu *vgpu = stand_in_find("a");
	uint64_t *frame_time = vgpu->monitor.fps_last.frame_time;
	const struct api_reply *reply;
	double sum_s;

	assert_null(strstr(ask("GET /metrics", NULL)->text->data, "gover_vgpu_frame_seconds_"));
	frame_time[fps_wire_bucket(10000)] = 1; /* shorter than all bounds */
	frame_time[fps_wire_bucket(16700000)] = 100;
	frame_time[fps_wire_bucket(9000000000)] = 2; /* longer than all bounds */
	manager->generation++;
	reply = ask("GET /metrics", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		if (!strstr(reply->text->data, lines[i]))
			print_error("no line %s\n", lines[i]);
		assert_non_null(strstr(reply->text->data, lines[i]));
	}
	sum_s = value_of(reply->text->data, "gover_vgpu_frame_seconds_sum") -
		2 * 0.0001 * exp2(63.5 / 4);
	assert_true(sum_s > 1.67 * 0.91 && sum_s < 1.67 * 1.09);
}
