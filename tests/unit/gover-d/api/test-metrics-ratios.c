/* SPDX-License-Identifier: MIT */
/* GET /metrics: each metric in percent has one that is a fraction. */
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

static void each_percentage_has_a_ratio(void **state)
{
	static const char suffix[] = "_percent gauge";
	struct vgpu *vgpu = stand_in_find("a");
	const struct api_reply *reply;
	int n = 0;

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_percentage_has_a_ratio, stand_in_begin,
						stand_in_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
