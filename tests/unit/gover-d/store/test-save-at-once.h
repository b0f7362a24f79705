/* SPDX-License-Identifier: MIT */
/*
 * For a manager without an event loop: each save ends at once, and no change of an alert or an
 * offer is passed on.
 */
#ifndef TESTS_UNIT_GOVER_D_STORE_TEST_SAVE_AT_ONCE_H
#define TESTS_UNIT_GOVER_D_STORE_TEST_SAVE_AT_ONCE_H

#include "gover-d/alert/alerts.h"
#include "gover-d/sale/offers.h"
#include "gover-d/store/save.h"
#include "tests/unit/gover-d/change/test-change.h"

static int save_errno; /* injected error; 0: none */
static int n_saves;    /* number of saves with a callback */

void save_contracts(struct store *store, const struct save_request *request)
{
	(void)store;
	n_saves++;
	request->done(request->userdata, -save_errno);
}

void save_soon(struct store *store)
{
	(void)store;
}

static void ignore_alert(void *userdata, const struct alert *alert, enum alert_event event)
{
	(void)userdata, (void)alert, (void)event;
}

static void ignore_offer(void *userdata, const struct offer *offer)
{
	(void)userdata, (void)offer;
}

#endif
