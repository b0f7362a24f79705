/* SPDX-License-Identifier: MIT */
/* Silences: which alerts they match, and when they expire. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/alert/silence.h"
#include "tests/unit/unit.h"

static struct silences silences;

TEST(a_silence_matches_alerts_that_match_all_selectors)
{
	static const struct {
		struct db_silence silence;
		bool matches; /* matches the alert contract_limit of vGPU a on gpu0 */
	} rows[] = {
		{{.alert = "contract_limit"}, true},
		{{.gpu = "gpu0"}, true},
		{{.vgpu = "a"}, true},
		{{.alert = "contract_limit", .gpu = "gpu0", .vgpu = "a"}, true},
		{{.alert = "fps_missing"}, false},
		{{.gpu = "gpu1", .vgpu = "a"}, false},
		{{.gpu = "gpu0", .vgpu = "b"}, false},
		{{.vgpu = "aa"}, false},
	};
	const struct alert alert = {.name = "contract_limit", .gpu = "gpu0", .vgpu = "a"};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct db_silence silence = rows[i].silence;

		silences.n = 0;
		assert_false(silences_match(&silences, &alert));
		assert_int_equal(silences_add(&silences, &silence), 0);
		if (silences_match(&silences, &alert) != rows[i].matches)
			fail_msg("row %zu", i);
	}
}

TEST(silences_expire_and_ids_are_not_reused)
{
	struct db_silence silence = {.vgpu = "a"}, ended;

	memset(&silences, 0, sizeof(silences));
	for (int i = 1; i <= 3; i++) {
		silence.until_ms = 1000 * (4 - i);
		assert_int_equal(silences_add(&silences, &silence), 0);
		assert_int_equal(silence.id, i);
	}
	assert_false(silences_expire(&silences, 999, &ended));
	assert_true(silences_expire(&silences, 1000, &ended));
	assert_int_equal(ended.id, 3);
	assert_int_equal(silences_remove(&silences, 3, &ended), -ENOENT);
	assert_int_equal(silences_remove(&silences, 1, &ended), 0);
	assert_int_equal(ended.id, 1);
	assert_int_equal(silences_add(&silences, &silence), 0);
	assert_int_equal(silence.id, 4);
	assert_int_equal(silences.n, 2);
}

TEST(the_number_of_silences_is_limited)
{
	struct db_silence silence = {.vgpu = "a"};

	memset(&silences, 0, sizeof(silences));
	for (int i = 0; i < SILENCES_MAX; i++)
		assert_int_equal(silences_add(&silences, &silence), 0);
	assert_int_equal(silences_add(&silences, &silence), -ENOSPC);
	assert_int_equal(silences.n, SILENCES_MAX);
}
