/* SPDX-License-Identifier: MIT */
/* Tests the demand that is estimated from a recording of a GPU whose caps were guarantees. */
#include <math.h>

#include "sim/experiment/recording.h"
#include "tests/unit/unit.h"

static void add(struct recording *recording, const char *id, int second, int cap_pct,
		double load_pct)
{
	struct recording_row row = {
		.at_ms = 1000000 + 1000 * (int64_t)second,
		.dt_s = 1,
		.cap_pct = cap_pct,
		.contract_pct = 50,
		.load_pct = load_pct,
		.util_pct = 100 * load_pct / cap_pct,
		.fps = NAN,
	};
	struct err err = {""};

	assert_int_equal(recording_add(recording, recording_vgpu(recording, id), &row, &err), 0);
}

TEST(a_load_above_the_cap_is_the_demand_unless_the_gpu_is_full)
{
	struct recording *recording;
	struct err err = {""};

	recording = recording_new();
	for (int i = 0; i < 30; i++) {
		add(recording, "a", i, 10, 40);
		add(recording, "b", i, 50, i < 20 ? 10 : 58); /* full for 10 s */
	}
	assert_int_equal(recording_finish(recording, &err), 0);
	assert_true(fabs(recording_facts(recording).censored_s - 10) < 1e-6);
	recording_free(recording);
}
