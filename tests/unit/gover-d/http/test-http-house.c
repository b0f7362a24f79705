/* SPDX-License-Identifier: MIT */
/* Places for connections: who is let in, who makes room for whom, and who has had his time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "gover-d/http/house.h"

static struct house *house;

static int begin(void **state)
{
	(void)state;
	house = house_new();
	assert_non_null(house);
	return 0;
}

static int end(void **state)
{
	(void)state;
	house = house_free(house);
	assert_null(house_free(NULL));
	return 0;
}

/* Lets fds @from to @from + @n - 1 in, one each second from @at_s on; none may cost another. */
static void enter(const char *peer, int from, int n, uint64_t at_s)
{
	int evicted;

	for (int i = 0; i < n; i++)
		assert_int_equal(house_enter(house, from + i, peer, (at_s + (uint64_t)i) * NS_PER_S,
					     &evicted),
				 0);
}

static void assert_evicts(const char *peer, int fd, uint64_t at_s, int wanted)
{
	int evicted = -1;

	assert_int_equal(house_enter(house, fd, peer, at_s * NS_PER_S, &evicted), 1);
	assert_int_equal(evicted, wanted);
}

static void a_crowd_makes_room_among_itself(void **state)
{
	(void)state;
	enter("user 1", 5000, 1, 0);
	enter("user 7", 1, HOUSE_PER_PEER, 1);
	assert_evicts("user 7", 5500, 400, 1);
	assert_evicts("user 7", 5501, 401, 2);
	assert_int_equal(house_count(house), HOUSE_PER_PEER + 1);
	house_leave(house, 1); /* it was out already */
	assert_int_equal(house_count(house), HOUSE_PER_PEER + 1);
	house_leave(house, 3);
	assert_int_equal(house_count(house), HOUSE_PER_PEER);
	enter("user 7", 5502, 1, 402);
}

static void who_is_answered_stays_before_who_says_nothing(void **state)
{
	(void)state;
	enter("a", 1, HOUSE_PER_PEER, 0);
	house_asked(house, 1, 0);
	house_asked(house, 2, 0);
	house_answered(house, 2, 300 * NS_PER_S); /* waited for again, but for less long */
	assert_evicts("a", 5000, 400, 3);
	for (int fd = 4; fd <= HOUSE_PER_PEER; fd++)
		house_asked(house, fd, 400 * NS_PER_S);
	assert_evicts("a", 5001, 401, 2);
	house_asked(house, 5000, 401 * NS_PER_S);
	house_asked(house, 5001, 401 * NS_PER_S);
	assert_evicts("a", 5002, 402, 1); /* all are being answered: who takes longest */
}

static void a_full_house_takes_from_the_largest_crowd(void **state)
{
	char peer[32];

	(void)state;
	enter("large", 1, HOUSE_PER_PEER, 0);
	for (int i = 0; i < HOUSE_PLACES - HOUSE_PER_PEER; i++) {
		snprintf(peer, sizeof(peer), "10.0.%d.%d", i / 100, i % 100);
		enter(peer, 5000 + i, 1, 1);
	}
	assert_int_equal(house_count(house), HOUSE_PLACES);
	assert_evicts("newcomer", 8000, 300, 1);
	assert_evicts("10.0.0.1", 8001, 300, 2);
	assert_evicts("large", 8002, 300, 3);
	assert_int_equal(house_count(house), HOUSE_PLACES);
}

static void streams_stay_and_are_bounded(void **state)
{
	int evicted;

	(void)state;
	enter("a", 1, HOUSE_PER_PEER, 0);
	for (int fd = 1; fd <= HOUSE_PER_PEER; fd++) {
		house_asked(house, fd, 0);
		assert_int_equal(house_streams(house, fd), fd <= HOUSE_STREAMS);
	}
	assert_false(house_streams(house, 1)); /* once is enough */
	assert_evicts("a", 5000, 1, HOUSE_STREAMS + 1);
	enter("b", 8000, 1, 1);
	house_asked(house, 8000, 1);
	assert_true(house_streams(house, 8000));
	house_leave(house, 1);
	house_asked(house, 5000, 1);
	assert_true(house_streams(house, 5000));
	assert_false(house_streams(house, HOUSE_PER_PEER));
	assert_int_equal(house_enter(house, 9000, "a", 1, &evicted), 0);
	assert_int_equal(house_overdue(house, 9 * NS_PER_S), -1);
}

static void nobody_is_kept_waiting_for_ever(void **state)
{
	(void)state;
	enter("a", 1, 4, 0); /* at 0, 1, 2 and 3 s */
	house_asked(house, 2, 5 * NS_PER_S);
	house_answered(house, 2, 5 * NS_PER_S);
	house_asked(house, 3, 5 * NS_PER_S);
	house_asked(house, 4, 5 * NS_PER_S);
	assert_true(house_streams(house, 4));
	assert_int_equal(house_overdue(house, HOUSE_FIRST_S * NS_PER_S), -1);
	assert_int_equal(house_overdue(house, HOUSE_FIRST_S * NS_PER_S + 1), 1);
	assert_int_equal(house_overdue(house, HOUSE_FIRST_S * NS_PER_S + 1), -1);
	assert_int_equal(house_overdue(house, (5 + HOUSE_NEXT_S) * NS_PER_S + 1), 2);
	assert_int_equal(house_overdue(house, (5 + HOUSE_NEXT_S) * NS_PER_S + 1), -1);
	assert_int_equal(house_overdue(house, (5 + HOUSE_ANSWER_S) * NS_PER_S + 1), 3);
	assert_int_equal(house_overdue(house, UINT64_MAX / 2), -1);
	assert_int_equal(house_count(house), 1);
}

static void strangers_are_nobody(void **state)
{
	(void)state;
	house_leave(house, 5);
	house_asked(house, 5, 0);
	house_answered(house, 5, 0);
	assert_false(house_streams(house, 5));
	assert_int_equal(house_count(house), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_crowd_makes_room_among_itself),
		TEST(who_is_answered_stays_before_who_says_nothing),
		TEST(a_full_house_takes_from_the_largest_crowd),
		TEST(streams_stay_and_are_bounded),
		TEST(nobody_is_kept_waiting_for_ever),
		TEST(strangers_are_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
