/* SPDX-License-Identifier: MIT */
/* GET /metrics: each metric in percent has one that is a fraction, and frame times are a histogram.
 */
#include "tests/unit/gover-d/api/test-api.h"

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

FIXTURE(stand_in_begin, stand_in_end)

TEST(each_percentage_has_a_ratio)
{
	static const char suffix[] = "_percent gauge";
	struct vgpu *vgpu = stand_in_find("a");
	const struct api_reply *reply;
	int n = 0;

	manager->host.gpus[0].util_pct = 61.5;
	manager->host.gpus[0].telemetry_valid = true;
	manager->host.gpus[0].view.total_load = 0.25;
	vgpu->cap_pct = 37;
	vgpu->row = (struct monitor_row){.busy_valid = true, .load = 0.3, .util = 0.7};
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
