/* SPDX-License-Identifier: MIT */
/* The flavours that an offer lists: while it is open, and after a claim. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/core/error.h"
#include "gover-d/core/offers.h"
#include "tests/unit/unit.h"

static const struct offer_flavor listed[] = {
	{"large", {.initial_cap_pct = 60, .target_fps = 60}, 50},
	{"half", {.initial_cap_pct = 50, .target_fps = 30}, 45},
	{"quarter", {.initial_cap_pct = 25}, 25},
};

static const struct instant now = {.mono_ns = 100 * NS_PER_S, .wall_ms = 1700000000000};
static const struct offer_limits limits = {.min_newcomer_pct = 10};

static struct offers *offers;
static struct offer *offer;
static int changes;

static void count_change(void *userdata, const struct offer *changed)
{
	(void)userdata, (void)changed;
	changes++;
}

static int set_up(void)
{
	offers = offers_new(0, count_change, NULL);
	offer = offers_open(offers, "gpu0", listed, ARRAY_SIZE(listed), 60, now);
	changes = 0;
	return offer ? 0 : -1;
}

static int tear_down(void)
{
	offers = offers_free(offers);
	return 0;
}

FIXTURE(set_up, tear_down)

static void expect_listed(const char *names)
{
	char text[128] = "";

	for (int i = 0; i < offer->n_flavors; i++) {
		strcat(text, i ? " " : "");
		strcat(text, offer->flavors[i].name);
	}
	assert_string_equal(text, names);
}

TEST(an_unfundable_flavour_is_removed)
{
	static const struct {
		int funded_pct[OFFERED_MAX];
		const char *names;
		int changes; /* so far */
		enum offer_state state;
	} rows[] = {
		{{50, 45, 25}, "large half quarter", 0, OFFER_OPEN},
		{{40, 44, 24}, "large half quarter", 0, OFFER_OPEN},
		{{-ENOSPC, 43, 23}, "half quarter", 1, OFFER_OPEN},
		{{42, -ENOSPC}, "half", 2, OFFER_OPEN},
		{{-ENOSPC}, "half", 3, OFFER_CLOSED},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		offers_restate(offers, offer, rows[i].funded_pct, &limits, now);
		expect_listed(rows[i].names);
		assert_int_equal(offer->life.state, rows[i].state);
		assert_int_equal(changes, rows[i].changes);
	}
	assert_int_equal(offer->flavors[0].fundable_pct, 42);
	assert_string_equal(offer->reason, "less than 10 % of the GPU can be funded now");
}

TEST(an_unlisted_flavour_leaves_the_others)
{
	offers_unlist(offers, offer, "half", "too late", now);
	expect_listed("large quarter");
	offers_unlist(offers, offer, "half", "too late", now);
	expect_listed("large quarter");
	assert_int_equal(changes, 1);
	offers_unlist(offers, offer, "quarter", "too late", now);
	expect_listed("large");
	assert_int_equal(offer->life.state, OFFER_OPEN);
	offers_unlist(offers, offer, "large", "too late", now);
	assert_int_equal(offer->life.state, OFFER_CLOSED);
	assert_string_equal(offer->reason, "too late");
	assert_int_equal(changes, 3);
}

TEST(only_a_listed_flavour_can_be_claimed)
{
	struct err err = {""};

	assert_string_equal(offers_flavor(offer, "")->name, "large");
	assert_string_equal(offers_flavor(offer, "quarter")->name, "quarter");
	assert_null(offers_flavor(offer, "Quarter"));
	assert_int_equal(offers_check_flavor(offer, "quarter", &err), 0);
	assert_int_equal(offers_check_flavor(offer, "", &err), 0);
	assert_int_equal(offers_check_flavor(offer, "tiny", &err), CONTROL_E_NOT_LISTED);
	assert_string_equal(err.msg, "flavor: offer 1 does not list tiny (allowed: large, half, "
				     "quarter)");
}

TEST(a_claim_leaves_the_sold_flavour)
{
	offers_claim(offers, offer, "quarter", "new", "key", 30, now);
	expect_listed("quarter");
	assert_int_equal(offer->flavors[0].terms.initial_cap_pct, 25);
	assert_int_equal(offer->flavors[0].fundable_pct, 25);
	assert_int_equal(offer->life.state, OFFER_PROBATION);
	assert_int_equal(changes, 1);
}
