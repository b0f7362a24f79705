/* SPDX-License-Identifier: MIT */
/*
 * The ring of decisions: ids ascend, a full ring drops the oldest decision, and a walk visits every
 * decision.
 */

#include "gover-d/model/decisions.h"
#include "tests/unit/unit.h"

static const struct decision *add(struct decisions *decisions, int64_t id, const char *why)
{
	struct decision decision = {
		.id = id,
		.why = why,
		.numbers = json_pack("{s:i}", "n", 1),
		.moves = json_array(),
	};

	return decisions_add(decisions, &decision);
}

/* Walks all decisions after id @after and checks that ids ascend. Returns their number. */
static int walk(const struct decisions *decisions, int64_t after, int64_t *ret_first)
{
	const struct decision *decision;
	int n = 0;

	for (; (decision = decisions_after(decisions, after)); after = decision->id) {
		assert_true(decision->id > after);
		if (n++ == 0)
			*ret_first = decision->id;
	}
	return n;
}

TEST(test_an_empty_ring_returns_no_decision)
{
	struct decisions *decisions = decisions_new(41);

	assert_non_null(decisions);
	assert_null(decisions_after(decisions, 0));
	assert_null(decisions_after(decisions, INT64_MAX));
	assert_int_equal(decisions_last_id(decisions), 41);
	assert_null(decisions_free(decisions));
	assert_null(decisions_free(NULL));
}

TEST(test_ids_continue_after_the_last_run)
{
	struct decisions *decisions = decisions_new(41);

	assert_int_equal(add(decisions, 0, "first")->id, 42);
	assert_int_equal(add(decisions, 0, "second")->id, 43);
	assert_int_equal(decisions_last_id(decisions), 43);
	assert_string_equal(decisions_after(decisions, 41)->why, "first");
	assert_string_equal(decisions_after(decisions, 42)->why, "second");
	assert_string_equal(decisions_after(decisions, 42)->detail,
			    "{\"numbers\":{\"n\":1},\"moves\":[]}");
	assert_null(decisions_after(decisions, 43));
	decisions_free(decisions);
}

TEST(test_a_loaded_decision_keeps_its_id)
{
	/* The history has gaps where the writer dropped decisions. */
	static const int64_t ids[] = {10, 11, 17, 30};
	struct decisions *decisions = decisions_new(0);
	int64_t first;

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		assert_int_equal(add(decisions, ids[i], "")->id, ids[i]);
	assert_int_equal(add(decisions, 30, "again")->id, 31);
	assert_int_equal(add(decisions, 5, "older")->id, 32);
	assert_int_equal(walk(decisions, 0, &first), 6);
	assert_int_equal(first, 10);
	assert_int_equal(walk(decisions, 11, &first), 4);
	assert_int_equal(first, 17);
	assert_int_equal(walk(decisions, 16, &first), 4);
	assert_int_equal(walk(decisions, 17, &first), 3);
	decisions_free(decisions);
}

TEST(test_ids_continue_after_ids_that_were_not_loaded)
{
	struct decisions *decisions = decisions_new(0);

	assert_int_equal(add(decisions, 10, "loaded")->id, 10);
	decisions_continue_after(decisions, 5);
	assert_int_equal(decisions_last_id(decisions), 10);
	decisions_continue_after(decisions, 30);
	assert_int_equal(decisions_last_id(decisions), 30);
	assert_string_equal(decisions_after(decisions, 0)->why, "loaded");
	assert_int_equal(add(decisions, 0, "new")->id, 31);
	decisions_free(decisions);
}

TEST(test_a_full_ring_drops_the_oldest)
{
	struct decisions *decisions = decisions_new(0);
	int64_t first;

	for (int i = 1; i <= 3 * DECISIONS_MAX + 100; i++) {
		assert_int_equal(add(decisions, 0, "")->id, i);
		if (i % 500 != 0)
			continue;
		int kept = i < DECISIONS_MAX ? i : DECISIONS_MAX;

		assert_int_equal(walk(decisions, 0, &first), kept);
		assert_int_equal(first, i - kept + 1);
		assert_int_equal(walk(decisions, i - 10, &first), 10);
	}
	decisions_free(decisions);
}

TEST(test_a_decision_concerns_each_vgpu_it_names)
{
	static const struct {
		const char *id;
		bool concerned;
	} cases[] = {{"a", true},  {"b", true},	     {"moved-1", true}, {"moved.2", true},
		     {"c", false}, {"moved", false}, {"oved.2", false}, {"why", false}};
	struct decision decision = {
		.vgpu = "a",
		.donor = "b",
		.why = "\"vgpu\":\"why\"",
		.numbers = json_object(),
		.moves = json_pack("[{s:s}, {s:s}]", "vgpu", "moved-1", "vgpu", "moved.2"),
	};
	struct decisions *decisions = decisions_new(0);
	const struct decision *kept = decisions_add(decisions, &decision);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(decision_concerns(kept, cases[i].id), cases[i].concerned);
	decisions_free(decisions);
}
