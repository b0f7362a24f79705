/* SPDX-License-Identifier: MIT */
/*
 * Waits for the end of a change: await_change(control_vgpu_remove(changes, "a", at_end, &err))
 * returns the result of the change, and its message is in change_err. A test without an event loop
 * has its own save_contracts(), which ends a change at once.
 */
#ifndef TESTS_UNIT_GOVER_D_CHANGE_TEST_CHANGE_H
#define TESTS_UNIT_GOVER_D_CHANGE_TEST_CHANGE_H

#include <errno.h>
#include <string.h>

#include <systemd/sd-event.h>

#include "gover-d/change/keys.h"
#include "tests/unit/unit.h"

static bool change_ended;
static int change_result;
static struct err change_err;
static sd_event *change_event; /* event loop of the manager; NULL: none */

static void end_change(void *userdata, int result, const struct err *err)
{
	(void)userdata;
	assert_false(change_ended);
	change_ended = true;
	change_result = result;
	change_err = err ? *err : (struct err){""};
}

static const struct change_done at_end = {.call = end_change};
static const struct control_key no_key = {.owner = "root"};

/* @begun: the result of the function that begins the change */
static inline int await_change(int begun)
{
	if (begun != 0) {
		assert_false(change_ended);
		return begun;
	}
	while (!change_ended) {
		int r;

		assert_non_null(change_event);
		r = sd_event_run(change_event, UINT64_MAX);
		if (r < 0) {
			/* on standard output, because the log of the daemon hides other messages */
			print_message("# the event loop ends: %s\n", strerror(-r));
			fail();
		}
	}
	change_ended = false;
	return change_result;
}

#endif
