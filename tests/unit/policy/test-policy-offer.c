/* SPDX-License-Identifier: MIT */
/* policy/offer.h: the funding of an open offer, the severe periods of a probation, and the reasons
 * why offers end. */
#include "tests/unit/policy/test-policy.h"

#include "policy/offer.h"

static const struct offer_limits limits = {.min_newcomer_pct = 10, .broken_pct = 2};

TEST(test_an_offer_follows_the_funding)
{
	struct offer_life life = {.state = OFFER_OPEN};

	assert_false(offer_restate(&life, 25));
	assert_false(offer_restate(&life, 0));
	assert_int_equal(life.state, OFFER_OPEN);
	assert_true(offer_restate(&life, -1));
	assert_int_equal(life.state, OFFER_CLOSED);
	assert_int_equal(life.end, OFFER_END_UNFUNDABLE);
}

/* A period without severe overload starts the count again. */
TEST(test_only_consecutive_severe_periods_fail)
{
	struct offer_life life = {.state = OFFER_OPEN};
	struct offer_period period = {.watched_s = 1};

	offer_claim(&life, 1000);
	for (int round = 0; round < 2; round++) {
		period.severe = false;
		assert_false(offer_update(&life, &period, &limits, 1));
		period.severe = true;
		for (int i = 1; i < OFFER_SEVERE_PERIODS; i++)
			assert_false(offer_update(&life, &period, &limits, 1));
	}
	assert_true(offer_update(&life, &period, &limits, 1));
	assert_int_equal(life.state, OFFER_FAILED);
	assert_int_equal(life.end, OFFER_END_SEVERE);
}

TEST(test_a_vgpu_that_cannot_be_helped_does_not_count)
{
	static const struct {
		const char *rule;
		double load;
		int cap_pct;
		bool broken, held, counts;
	} rows[] = {
		{"a larger cap helps", .load = 0.3, .cap_pct = 30, .broken = true, .counts = true},
		{"not broken", .load = 0.3, .cap_pct = 30},
		{"the cap is the contract", .load = 0.4, .cap_pct = 50, .broken = true},
		{"a guarantee: it uses 98 % of its contract", .load = 0.49, .cap_pct = 30,
		 .broken = true},
		{"a guarantee: it uses less", .load = 0.489, .cap_pct = 30, .broken = true,
		 .counts = true},
		{"held", .load = 0.3, .cap_pct = 30, .broken = true, .held = true},
	};
	struct policy_gpu gpu = {.step_pct = 1};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct policy_vgpu vgpu = {.terms = {.initial_cap_pct = 50},
					   .load = rows[i].load,
					   .cap_pct = rows[i].cap_pct,
					   .broken = rows[i].broken,
					   .held = rows[i].held};

		if (offer_counts_broken(&gpu, &vgpu) != rows[i].counts)
			fail_msg("%s", rows[i].rule);
	}
}

TEST(test_the_reason_of_every_end)
{
	static const struct {
		enum offer_end end;
		const char *text;
	} rows[] = {
		{OFFER_NOT_ENDED, ""},
		{OFFER_END_UNCLAIMED, "not claimed in time"},
		{OFFER_END_UNFUNDABLE, "less than 10 % of the GPU can be funded now"},
		{OFFER_END_REMOVED, "vGPU n was removed during its probation"},
		{OFFER_END_SEVERE, "severe overload in 3 consecutive periods of the probation of "
				   "vGPU n"},
		{OFFER_END_BROKEN, "vGPU n failed its probation: 5.0 % of all vGPU-seconds were "
				   "broken (limit 2.0 %)"},
		{OFFER_END_PASSED, "vGPU n passed its probation: 5.0 % of all vGPU-seconds were "
				   "broken (limit 2.0 %)"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct offer_life life = {
			.end = rows[i].end, .watched_s = 100, .broken_s = 5, .severe_run = 3};
		char text[OFFER_REASON_MAX] = "an older text";

		offer_explain(&life, &limits, "n", text);
		assert_string_equal(text, rows[i].text);
	}
}
