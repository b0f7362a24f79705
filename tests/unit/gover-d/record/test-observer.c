/* SPDX-License-Identifier: MIT */
/* Tests the table of observers: order, missing functions, the limit and the generation. */
#include <errno.h>
#include <string.h>

#include "gover-d/record/observer.h"
#include "tests/unit/unit.h"

static char calls[64]; /* the userdata of all calls, one after the other */

static void record_change(void *userdata, const char *what, const char *id)
{
	assert_string_equal(what, "vgpu");
	assert_string_equal(id, "a");
	strcat(calls, userdata);
}

static void record_decision(void *userdata, const struct decision *decision)
{
	(void)decision;
	strcat(calls, userdata);
}

static const struct observer changes = {.change = record_change};
static const struct observer decisions = {.decision = record_decision};

TEST(observers_get_their_events_in_the_order_of_registration)
{
	struct observers observers = {0};
	char first[] = "1", second[] = "2", third[] = "3";

	calls[0] = '\0';
	assert_int_equal(observers_add(&observers, &changes, first), 0);
	assert_int_equal(observers_add(&observers, &decisions, second), 0);
	assert_int_equal(observers_add(&observers, &changes, third), 0);
	observers_pass(&observers, change, "vgpu", "a");
	assert_string_equal(calls, "13");
	observers_pass(&observers, decision, &(struct decision){0});
	assert_string_equal(calls, "132");
}

TEST(each_event_changes_the_generation)
{
	struct observers observers = {0};
	uint64_t before = observers.generation;

	observers_pass(&observers, change, "vgpu", "a");
	assert_int_not_equal(observers.generation, before);
}

TEST(a_full_table_rejects_another_observer)
{
	struct observers observers = {0};

	for (int i = 0; i < OBSERVERS_MAX; i++)
		assert_int_equal(observers_add(&observers, &changes, NULL), 0);
	assert_int_equal(observers_add(&observers, &changes, NULL), -ENOSPC);
	assert_int_equal(observers.n, OBSERVERS_MAX);
}
