/* SPDX-License-Identifier: MIT */
/* GET /metrics: text that Prometheus reads without a complaint, and values that are what is known.
 */
#include "tests/unit/test-api.h"

#include <ctype.h>

#include "gover-d/metrics.h"

static const char *scrape(void)
{
	const struct api_reply *reply = ask("GET /metrics", NULL);

	assert_int_equal(reply->status, 200);
	assert_string_equal(reply->type, "text/plain; version=0.0.4; charset=utf-8");
	return reply->text->data;
}

static bool has_line(const char *text, const char *line)
{
	const char *at = strstr(text, line);
	bool found = at && (at == text || at[-1] == '\n') && at[strlen(line)] == '\n';

	if (!found)
		print_error("no line %s\n", line);
	return found;
}

/* The end of {name="value",...} that begins at @at; labels are well formed and escaped. */
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
	assert_int_equal(strncmp(name, "gover_", 6), 0);
	assert_true(strcmp(type, "gauge") == 0 || strcmp(type, "counter") == 0);
	assert_int_equal(strcmp(type, "counter") == 0,
			 strlen(name) > 6 && strcmp(name + strlen(name) - 6, "_total") == 0);
}

static void assert_sample(const char *line, const char *name)
{
	const char *at = line + strlen(name);
	char *end;

	assert_int_equal(strncmp(line, name, strlen(name)), 0);
	at = skip_labels(at);
	assert_int_equal(*at, ' ');
	assert_true(isfinite(strtod(at + 1, &end)));
	assert_int_equal(*end, '\0');
}

/* Every metric has its head once, then only its own lines, none twice. */
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

static void the_text_is_well_formed(void **state)
{
	(void)state;
	assert_wellformed(scrape());
	stand_in_find("a")->row = (struct monitor_row){
		.busy_valid = true,
		.load = INFINITY,
		.util = NAN,
		.fps_valid = true,
		.fps = 1e9,
		.p99_valid = true,
		.frame_p99_ms = 16.7,
		.fps_seen = true,
		.frames = 123456789,
	};
	manager->host.gpus[0].telemetry_valid = true;
	manager->host.gpus[0].view.total_load = 0.5;
	api_tick(api);
	assert_wellformed(scrape());
}

static void values_are_what_is_known(void **state)
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

	(void)state;
	manager->host.ticks = 1234567890123;
	manager->host.late_ticks = 2;
	manager->host.gaps = 3;
	manager->host.gpus[0].util_pct = 61.5;
	vgpu->cap_pct = 37;
	vgpu->row = (struct monitor_row){
		.busy_valid = true,
		.load = 0.3,
		.busy_ns = 2500000000,
		.fps_seen = true,
		.frames = 77,
	};
	vgpu->tally.broken_s = 4.5;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_true(has_line(scrape(), lines[i]));
}

static void tick_times_are_of_the_newest_ticks(void **state)
{
	struct host *host = &manager->host;

	(void)state;
	assert_true(isnan(metrics_tick(host).p50_us));
	for (uint32_t i = 1; i <= 100; i++)
		host->tick_us[host->n_tick_us++] = 101 - i;
	assert_true(metrics_tick(host).p50_us == 51 && metrics_tick(host).p99_us == 100);
	assert_true(has_line(scrape(), "gover_tick_p99_seconds 0.0001"));
	for (uint32_t i = 0; i < 3 * TICKS_TIMED; i++)
		host->tick_us[host->n_tick_us++ % TICKS_TIMED] = 7;
	assert_true(metrics_tick(host).p50_us == 7 && metrics_tick(host).p99_us == 7);
}

static void what_is_not_valid_has_no_line(void **state)
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

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char begin[64];

		snprintf(begin, sizeof(begin), "\n# TYPE %s ", names[i]);
		assert_non_null(strstr(scrape(), begin));
		snprintf(begin, sizeof(begin), "\n%s{", names[i]);
		assert_null(strstr(scrape(), begin));
	}
}

static void labels_are_escaped(void **state)
{
	(void)state;
	strcpy(stand_in_find("a")->contract.vm, "a\"b\\c\nd");
	assert_wellformed(scrape());
	assert_true(has_line(scrape(), "gover_vgpu_missing{gpu=\"gpu0\",vgpu=\"a\","
				       "vm=\"a\\\"b\\\\c\\nd\"} 0"));
}

static void alerts_are_counted_while_they_hold(void **state)
{
	static const char up[] = "gover_alerts{name=\"write_failed\",severity=\"critical\"} 1";
	static const char down[] = "gover_alerts{name=\"write_failed\",severity=\"critical\"} 0";

	(void)state;
	alerts_hold(manager->alerts, ALERT_WRITE_FAILED, "gpu0", stand_in_find("a"), 1, "no");
	alerts_end_tick(manager->alerts, 1, false);
	assert_true(has_line(scrape(), up));
	for (int i = 0; i < 10; i++)
		alerts_end_tick(manager->alerts, 2, false);
	manager->generation++;
	assert_true(has_line(scrape(), down));
}

static void decide(const char *kind)
{
	struct decision decision = {.numbers = json_object(), .moves = json_array()};

	strcpy(decision.kind, kind);
	assert_non_null(decisions_add(manager->decisions, &decision));
}

static void decisions_are_counted_beyond_those_kept(void **state)
{
	char line[64];

	(void)state;
	assert_true(has_line(scrape(), "gover_decisions_total{kind=\"steal\"} 0"));
	for (int i = 0; i < 2 * DECISIONS_KEPT; i++) {
		decide("steal");
		if (i % 100 == 0)
			api_tick(api);
	}
	decide("hold");
	api_tick(api);
	snprintf(line, sizeof(line), "gover_decisions_total{kind=\"steal\"} %d",
		 2 * DECISIONS_KEPT);
	assert_true(has_line(scrape(), line));
	assert_true(has_line(scrape(), "gover_decisions_total{kind=\"hold\"} 1"));
}

static void kinds_are_bounded(void **state)
{
	struct metrics_tally tally;
	char kind[24];

	(void)state;
	metrics_tally_begin(&tally, manager->decisions);
	for (int i = 0; i < 2 * METRICS_KINDS_MAX; i++) {
		snprintf(kind, sizeof(kind), "kind-%d", i);
		decide(kind);
	}
	metrics_tally_decisions(&tally, manager->decisions);
	assert_int_equal(tally.n, METRICS_KINDS_MAX);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, stand_in_begin, stand_in_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_text_is_well_formed),
		TEST(values_are_what_is_known),
		TEST(tick_times_are_of_the_newest_ticks),
		TEST(what_is_not_valid_has_no_line),
		TEST(labels_are_escaped),
		TEST(alerts_are_counted_while_they_hold),
		TEST(decisions_are_counted_beyond_those_kept),
		TEST(kinds_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
