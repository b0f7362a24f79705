/* SPDX-License-Identifier: MIT */
/* Looking for when to let in whom, on rules made up so that the best is known. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "sim/experiment/search.h"

#define END_S 100.0

static struct search_schedule schedule;
static struct err err;
static int tries;

/* A rule says who there is, what each brings a second, and which times are good. */
struct rule {
	int n;
	double worth[3];
	double gap_s; /* at least between two */
	bool (*good)(const struct search_schedule *schedule);
	int fails_at; /* try, 0: none */
};

static int attempt(void *userdata, struct search_schedule *s, struct err *reterr)
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

static int look(const struct rule *rule)
{
	const struct search_terms terms = {.last_s = 90,
					   .stride_s = 2,
					   .seed = 7,
					   .userdata = (void *)(uintptr_t)rule,
					   .attempt = attempt};

	tries = 0;
	return search_best(&terms, &schedule, &err);
}

static int forget(void **state)
{
	(void)state;
	memset(&schedule, 0, sizeof(schedule));
	return 0;
}

static void all_are_let_in_one_after_the_other(void **state)
{
	static const struct rule rule = {.n = 3, .worth = {1, 1, 1}, .gap_s = 10};

	(void)state;
	assert_int_equal(look(&rule), 0);
	assert_int_equal(schedule.n_came, 3);
	assert_true(schedule.sold_pct_s == 100 + 90 + 80);
}

static bool first_is_in_the_way(const struct search_schedule *s)
{
	return s->n_came < 2 || s->came_s[0] >= 12;
}

/* The first at once, and the second never again: greed is not enough. */
static void one_waits_where_the_next_brings_more(void **state)
{
	static const struct rule rule = {
		.n = 2, .worth = {1, 5}, .gap_s = 1, .good = first_is_in_the_way};

	(void)state;
	assert_int_equal(look(&rule), 0);
	assert_int_equal(schedule.n_came, 2);
	assert_true(schedule.came_s[0] >= 12 && schedule.sold_pct_s > 300);
}

static bool only_one_moment_is_good(const struct search_schedule *s)
{
	return s->n_came == 0 || (s->came_s[0] >= 37 && s->came_s[0] < 37.5);
}

static void what_it_begins_with_is_not_lost(void **state)
{
	static const struct rule rule = {.n = 1, .worth = {1}, .good = only_one_moment_is_good};

	(void)state;
	schedule.n = 1;
	schedule.from_s[0] = 37;
	assert_int_equal(look(&rule), 0);
	assert_int_equal(schedule.n_came, 1);
	assert_true(schedule.sold_pct_s == 63);
}

static bool nobody_is_good(const struct search_schedule *s)
{
	return s->n_came == 0;
}

static void nobody_is_let_in_who_breaks_too_much(void **state)
{
	static const struct rule rule = {.n = 3, .worth = {1, 1, 1}, .good = nobody_is_good};

	(void)state;
	schedule.n = 1; /* a bad one to begin with */
	assert_int_equal(look(&rule), 0);
	assert_int_equal(schedule.n, 0);
	assert_true(tries < 1000);
}

static void a_try_that_fails_ends_it(void **state)
{
	static const struct rule rule = {.n = 3, .worth = {1, 1, 1}, .fails_at = 3};

	(void)state;
	assert_int_equal(look(&rule), -ENOMEM);
	assert_int_equal(tries, 3);
	assert_string_equal(err.msg, "out of memory");
}

#define TEST(name) cmocka_unit_test_setup(name, forget)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_are_let_in_one_after_the_other),
		TEST(one_waits_where_the_next_brings_more),
		TEST(what_it_begins_with_is_not_lost),
		TEST(nobody_is_let_in_who_breaks_too_much),
		TEST(a_try_that_fails_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
