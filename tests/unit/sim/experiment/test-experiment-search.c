/* SPDX-License-Identifier: MIT */
/* Tests the search for admission times with artificial rules whose best schedule is known. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "sim/experiment/search.h"
#include "tests/unit/unit.h"

#define END_S 100.0

static struct search_schedule schedule;
static struct err err;
static int tries;

/*
 * An artificial rule: the number of tenants, the capacity that each tenant buys, and the condition
 * for a good schedule.
 */
struct rule {
	int n;
	double worth[3];
	double gap_s; /* minimum time between two admissions */
	bool (*good)(const struct search_schedule *schedule);
	int fails_at; /* number of the evaluation that returns an error; 0: none */
};

static int evaluate(void *userdata, struct search_schedule *s, struct err *reterr)
{
	const struct rule *rule = userdata;
	double earliest_s = 0;

	if (++tries == rule->fails_at)
		return err_fail(reterr, ENOMEM, "out of memory");
	s->n_came = 0;
	s->sold_pct_s = 0;
	for (int i = 0; i < s->n && i < rule->n; i++) {
		double at_s = fmax(earliest_s, ceil(s->from_s[i]));

		if (at_s > END_S)
			break;
		s->came_s[s->n_came++] = at_s;
		s->sold_pct_s += rule->worth[i] * (END_S - at_s);
		earliest_s = at_s + rule->gap_s;
	}
	return !rule->good || rule->good(s);
}

static int search(const struct rule *rule)
{
	const struct search_terms terms = {.last_s = 90,
					   .stride_s = 2,
					   .seed = 7,
					   .userdata = (void *)(uintptr_t)rule,
					   .evaluate = evaluate};

	tries = 0;
	return search_best(&terms, &schedule, &err);
}

static int reset(void)
{
	memset(&schedule, 0, sizeof(schedule));
	return 0;
}

FIXTURE(reset, NULL)

TEST(all_tenants_are_admitted_in_order)
{
	static const struct rule rule = {.n = 3, .worth = {1, 1, 1}, .gap_s = 10};

	assert_int_equal(search(&rule), 0);
	assert_int_equal(schedule.n_came, 3);
	assert_true(schedule.sold_pct_s == 100 + 90 + 80);
}

static bool first_blocks_second(const struct search_schedule *s)
{
	return s->n_came < 2 || s->came_s[0] >= 12;
}

/* A greedy search admits tenant 1 at once, and can then never admit tenant 2. */
TEST(an_admission_is_delayed_if_the_next_one_sells_more)
{
	static const struct rule rule = {
		.n = 2, .worth = {1, 5}, .gap_s = 1, .good = first_blocks_second};

	assert_int_equal(search(&rule), 0);
	assert_int_equal(schedule.n_came, 2);
	assert_true(schedule.came_s[0] >= 12 && schedule.sold_pct_s > 300);
}

static bool only_one_time_is_good(const struct search_schedule *s)
{
	return s->n_came == 0 || (s->came_s[0] >= 37 && s->came_s[0] < 37.5);
}

TEST(the_first_schedule_is_kept_if_it_is_best)
{
	static const struct rule rule = {.n = 1, .worth = {1}, .good = only_one_time_is_good};

	schedule.n = 1;
	schedule.from_s[0] = 37;
	assert_int_equal(search(&rule), 0);
	assert_int_equal(schedule.n_came, 1);
	assert_true(schedule.sold_pct_s == 63);
}

static bool no_admission_is_good(const struct search_schedule *s)
{
	return s->n_came == 0;
}

TEST(no_tenant_is_admitted_if_all_break_too_much)
{
	static const struct rule rule = {.n = 3, .worth = {1, 1, 1}, .good = no_admission_is_good};

	schedule.n = 1; /* the search starts with a schedule that is not good */
	assert_int_equal(search(&rule), 0);
	assert_int_equal(schedule.n, 0);
	assert_true(tries < 1000);
}

TEST(an_error_ends_the_search)
{
	static const struct rule rule = {.n = 3, .worth = {1, 1, 1}, .fails_at = 3};

	assert_int_equal(search(&rule), -ENOMEM);
	assert_int_equal(tries, 3);
	assert_string_equal(err.msg, "out of memory");
}
