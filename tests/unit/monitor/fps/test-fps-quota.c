/* SPDX-License-Identifier: MIT */
/* Which connections the quotas of the FPS sockets admit. */
#include "base/cleanup.h"
#include "monitor/fps/totals.h"
#include "tests/unit/unit.h"

TEST(a_connection_is_admitted_below_all_limits)
{
	static const struct {
		const char *what;
		int used, held;
		bool admitted;
	} rows[] = {
		{"first", 0, 0, true},
		{"below the limit of a holder", 50, 19, true},
		{"at the limit of a holder", 50, 20, false},
		{"last that is not reserved", 69, 10, true},
		{"reserved, holder with many", 70, 10, false},
		{"reserved, holder with as many as few", 70, 5, false},
		{"reserved, holder with few", 70, 4, true},
		{"last reserved", 99, 0, true},
		{"all used", 100, 0, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fps_quota quota = {
			.all = 100, .each = 20, .reserved = 30, .few = 5, .used = rows[i].used};
		int held = rows[i].held;

		if (fps_quota_take(&quota, &held) != rows[i].admitted ||
		    quota.used != rows[i].used + rows[i].admitted ||
		    held != rows[i].held + rows[i].admitted)
			fail_msg("%s", rows[i].what);
		if (!rows[i].admitted)
			continue;
		fps_quota_give(&quota, &held);
		assert_int_equal(quota.used, rows[i].used);
		assert_int_equal(held, rows[i].held);
	}
}

/* However many connections the others want, each holder gets its few of the reserve. */
TEST(a_reserve_serves_each_holder_in_turn)
{
	struct fps_quota quota = {.all = 100, .each = 20, .reserved = 30, .few = 5};
	int held[10] = {0};

	for (size_t i = 0; i < ARRAY_SIZE(held); i++)
		while (fps_quota_take(&quota, &held[i]))
			;
	assert_int_equal(held[0], 20);
	assert_int_equal(held[2], 20);
	assert_int_equal(held[3], 10); /* 70 are not reserved */
	for (size_t i = 4; i < ARRAY_SIZE(held); i++)
		assert_int_equal(held[i], 5);
	assert_int_equal(quota.used, 100);
}

TEST(a_refusal_is_recorded)
{
	struct fps_refusals refusals = {0};

	fps_refusals_add(&refusals, 20, 1000);
	fps_refusals_add(&refusals, 7, 2000);
	assert_int_equal(refusals.n, 2);
	assert_int_equal(refusals.held, 7);
	assert_int_equal(refusals.newest_ns, 2000);
}
