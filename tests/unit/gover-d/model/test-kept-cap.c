/* SPDX-License-Identifier: MIT */
/* Tests which caps show that a driver did not keep a write, and the pauses between two writes. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "gover-d/model/kept-cap.h"
#include "tests/unit/unit.h"

#define T0 (1000 * NS_PER_S)

TEST(only_the_old_cap_or_the_initial_cap_shows_a_lost_write)
{
	static const struct {
		int writes[3]; /* caps written one after another from 25 % on; 0: none */
		int readings;  /* that have shown the last written cap */
		int cap_pct;
		bool initial, lost;
	} rows[] = {
		{{40}, 0, 25, false, true},	 {{40}, 2, 25, false, true},
		{{40}, 3, 25, false, false},	 {{40}, 0, 39, false, false},
		{{40}, 0, 12, true, true},	 {{40}, 3, 12, true, false},
		{{40, 50}, 0, 40, false, true},	 {{40, 50}, 0, 25, false, true},
		{{40, 50}, 0, 41, false, false}, {{40, 50, 60}, 0, 40, false, false},
		{{25}, 0, 25, false, false},	 {{0}, 0, 25, false, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct kept_cap kept = {.open = false};
		int before = 25;

		for (size_t k = 0; k < 3 && rows[i].writes[k]; before = rows[i].writes[k++])
			kept_cap_note_write(&kept, before, rows[i].writes[k]);
		for (int k = 0; k < rows[i].readings; k++)
			kept_cap_note_reading(&kept);
		if (kept_cap_is_lost(&kept, rows[i].cap_pct, rows[i].initial) != rows[i].lost)
			fail_msg("row %zu", i);
	}
}

TEST(pauses_double_up_to_a_minute)
{
	static const unsigned int pauses_s[] = {1, 2, 4, 8, 16, 32, 60, 60, 60};
	struct kept_cap kept = {.open = false};
	uint64_t now_ns = T0;

	for (size_t i = 0; i < ARRAY_SIZE(pauses_s); i++) {
		assert_false(kept_cap_waits(&kept, now_ns));
		kept_cap_note_loss(&kept, 40, now_ns);
		assert_true(kept_cap_waits(&kept, now_ns));
		now_ns += pauses_s[i] * NS_PER_S;
		assert_true(kept_cap_waits(&kept, now_ns - 1));
	}
}

TEST(a_write_that_is_kept_ends_the_pauses)
{
	struct kept_cap kept = {.open = false};

	kept_cap_note_loss(&kept, 40, T0);
	kept_cap_note_write(&kept, 25, 40);
	for (int i = 0; i < KEPT_CAP_READINGS; i++) {
		assert_true(kept_cap_waits(&kept, T0 + 100 * NS_PER_S));
		kept_cap_note_reading(&kept);
	}
	assert_int_equal(kept.n_lost, 0);
	assert_false(kept_cap_waits(&kept, T0));
}
