/* SPDX-License-Identifier: MIT */
/* The states of a cap: lost writes and the pauses after them, leases, and a device that is created
 * again. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "gover-d/model/cap.h"
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
		struct cap cap = {.expected_pct = 25};

		for (size_t k = 0; k < 3 && rows[i].writes[k]; k++) {
			cap_note_write(&cap, rows[i].writes[k], rows[i].writes[k], T0);
			cap_take(&cap, rows[i].writes[k]);
		}
		for (int k = 0; k < rows[i].readings; k++)
			cap_note_reading(&cap, cap.expected_pct);
		if (cap_write_is_lost(&cap, rows[i].cap_pct, rows[i].initial) != rows[i].lost)
			fail_msg("row %zu", i);
	}
}

static bool waits(struct cap *cap, uint64_t now_ns)
{
	cap_update_wait(cap, now_ns);
	return cap->waits;
}

TEST(pauses_double_up_to_a_minute)
{
	static const unsigned int pauses_s[] = {1, 2, 4, 8, 16, 32, 60, 60, 60};
	struct cap cap = {.expected_pct = 25};
	uint64_t now_ns = T0;

	for (size_t i = 0; i < ARRAY_SIZE(pauses_s); i++) {
		assert_false(waits(&cap, now_ns));
		cap_note_write(&cap, 40, 25, now_ns);
		assert_true(cap.waits);
		now_ns += pauses_s[i] * NS_PER_S;
		assert_true(waits(&cap, now_ns - 1));
	}
}

TEST(a_write_that_is_kept_ends_the_pauses)
{
	struct cap cap = {.expected_pct = 25};

	cap_note_write(&cap, 40, 25, T0);
	cap_note_write(&cap, 40, 40, T0 + NS_PER_S);
	for (int i = 0; i < CAP_READINGS; i++) {
		assert_true(waits(&cap, T0 + 100 * NS_PER_S));
		cap_note_reading(&cap, 40);
	}
	assert_int_equal(cap.write.n_lost, 0);
	assert_false(waits(&cap, T0));
}

TEST(a_lease_that_could_not_be_set_may_end_at_any_time)
{
	struct cap cap = {.pct = 0};

	assert_false(cap_lease_may_be_over(&cap, NS_PER_S, T0));
	assert_int_equal(cap_note_lease(&cap, 1000, -EIO, T0), -EIO);
	assert_true(cap_lease_may_be_over(&cap, NS_PER_S, T0));
	assert_int_equal(cap_note_lease(&cap, 1000, 0, T0), 0);
	assert_int_equal(cap_note_lease(&cap, 1000, -EIO, T0 + NS_PER_S), -EIO); /* it still runs */
	assert_false(cap_lease_may_be_over(&cap, NS_PER_S, T0 + NS_PER_S));
	assert_true(cap_lease_may_be_over(&cap, NS_PER_S, T0 + NS_PER_S + 1));
	assert_int_equal(cap_note_lease(&cap, 0, 0, T0), 0);
	assert_int_equal(cap.lease, CAP_LEASE_ENDED);
	assert_false(cap_lease_may_be_over(&cap, NS_PER_S, UINT64_MAX));
}

TEST(only_another_device_is_a_new_one)
{
	struct cap cap = {.pct = 40, .expected_pct = 40, .foreign = true};

	cap_begin(&cap, 7);
	assert_false(cap.anew);
	cap_begin(&cap, 7);
	assert_false(cap.anew);
	cap_begin(&cap, 8);
	assert_true(cap.anew);
	assert_true(cap.foreign);
	cap_set_unknown(&cap, true);
	cap_judged(&cap);
	assert_true(cap.anew);
	cap_set_unknown(&cap, false);
	cap_judged(&cap);
	assert_false(cap.anew);
}
