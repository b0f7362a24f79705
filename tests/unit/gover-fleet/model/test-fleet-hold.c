/* SPDX-License-Identifier: MIT */
/* Which offers are held, for which consumer, and when. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-fleet/model/hold.h"
#include "tests/unit/unit.h"

#define HALF WANTED_CLASS_PREFIX "HALF"
#define A    "aaaaaaaa-0000-4000-8000-000000000000"
#define B    "bbbbbbbb-0000-4000-8000-000000000000"
#define C    "cccccccc-0000-4000-8000-000000000000"
#define NOW  1000000

#define OFFER(id_, left_ms)                                               \
	{                                                                 \
		.id = id_, .gpu = "gpu0", .flavor = "half", .open = true, \
		.expires_ms = NOW + left_ms                               \
	}
#define CONTRACT(uuid)                                                                    \
	{                                                                                 \
		.id = uuid, .gpu = "gpu0", .flavor = "half", .domain = uuid, .sold = true \
	}

static struct host_state state_of(struct state_offer *offers, size_t n_offers,
				  struct state_vgpu *vgpus, size_t n_vgpus)
{
	return (struct host_state){
		.offer_ttl_s = 600,
		.offers = offers,
		.n_offers = n_offers,
		.vgpus = vgpus,
		.n_vgpus = n_vgpus,
	};
}

/* Returns the choices as "ID=HOLDER ...", where a holder is its first character. */
static const char *choose(const struct host_state *state, const char *uuids, const char *slot)
{
	struct hold_consumer consumers[8] = {0};
	struct hold_choice choices[8];
	size_t n_consumers = strlen(uuids), n;
	static char text[128];
	int at = 0;

	for (size_t i = 0; i < n_consumers; i++) {
		const char *uuid = uuids[i] == 'a' ? A : uuids[i] == 'b' ? B : C;

		snprintf(consumers[i].uuid, sizeof(consumers[i].uuid), "%s", uuid);
		snprintf(consumers[i].slot, sizeof(consumers[i].slot), "%s", slot);
	}
	n = hold_choose(state, "gpu0", HALF, consumers, n_consumers, NOW, choices, 8);
	text[0] = '\0';
	for (size_t i = 0; i < n; i++)
		at += snprintf(text + at, sizeof(text) - (size_t)at, "%s%d=%c", i ? " " : "",
			       (int)choices[i].offer, choices[i].holder[0]);
	return text;
}

TEST(an_allocation_without_a_contract_gets_the_offer)
{
	struct state_offer offers[] = {OFFER(7, 20000)};
	struct state_vgpu vgpus[] = {CONTRACT(A)};
	struct host_state state = state_of(offers, 1, vgpus, 1);

	assert_string_equal(choose(&state, "ab", HALF), "7=b");
	assert_string_equal(choose(&state, "a", HALF), "");
	assert_string_equal(choose(&state, "", HALF), "");
	assert_string_equal(choose(&state, "ab", WANTED_CLASS_PREFIX "FULL"), "");
}

TEST(an_offer_is_held_for_each_of_its_flavours)
{
	struct state_offer offers[] = {OFFER(7, 20000)};
	struct host_state state = state_of(offers, 1, NULL, 0);

	strcpy(offers[0].flavor, "large");
	assert_string_equal(choose(&state, "a", HALF), "");
	strcpy(offers[0].smaller[0], "half");
	offers[0].n_smaller = 1;
	assert_string_equal(choose(&state, "a", HALF), "7=a");
	assert_true(hold_due(&state, "gpu0", HALF, NOW));
	assert_true(hold_due(&state, "gpu0", WANTED_CLASS_PREFIX "LARGE", NOW));
}

TEST(an_offer_is_held_once_and_a_consumer_has_one)
{
	struct state_offer offers[] = {OFFER(7, 20000), OFFER(8, 10000)};
	struct host_state state = state_of(offers, 2, NULL, 0);

	assert_string_equal(choose(&state, "a", HALF), "8=a");
	assert_string_equal(choose(&state, "ab", HALF), "8=a 7=b");
	assert_string_equal(choose(&state, "abc", HALF), "8=a 7=b");
	strcpy(offers[1].held_by, A); /* by another program */
	assert_string_equal(choose(&state, "a", HALF), "");
	strcpy(offers[1].held_by, A "/7"); /* not the holder of this offer */
	assert_string_equal(choose(&state, "a", HALF), "7=a");
	strcpy(offers[1].held_by, A "/8");
	assert_string_equal(choose(&state, "a", HALF), "");
	assert_string_equal(choose(&state, "ab", HALF), "7=b");
	offers[0].open = false;
	assert_string_equal(choose(&state, "ab", HALF), "");
}

/* The allocation of server A belongs to its migration B, so that B and C are without a contract. */
TEST(an_unclear_consumer_gets_nothing)
{
	struct state_offer offers[] = {OFFER(7, 20000)};
	struct state_vgpu vgpus[] = {CONTRACT(A)};
	struct host_state state = state_of(offers, 1, vgpus, 1);

	assert_string_equal(choose(&state, "b", HALF), "");
	assert_string_equal(choose(&state, "bc", HALF), "");
	vgpus[0].sold = false; /* no allocation of the cloud belongs to it */
	assert_string_equal(choose(&state, "b", HALF), "7=b");
}

TEST(an_offer_is_due_near_its_end)
{
	static const struct {
		int ttl_s;
		int64_t left_ms;
		bool due;
		int next_ms;
	} rows[] = {
		{600, 30001, false, 500}, {600, 30000, true, 15000}, {600, 500000, false, 470000},
		{40, 10001, false, 500},  {40, 10000, true, 5000},   {600, 600, true, 500},
		{600, 0, false, INT_MAX}, {600, -1, false, INT_MAX}, {0, 1000, true, 500},
		{0, 1001, false, 500},	  {600, 1700, true, 700},    {600, 1300, true, 300},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct state_offer offers[] = {OFFER(7, rows[i].left_ms)};
		struct host_state state = state_of(offers, 1, NULL, 0);

		state.offer_ttl_s = rows[i].ttl_s;
		if (hold_due(&state, "gpu0", HALF, NOW) != rows[i].due ||
		    hold_next_ms(&state, NOW) != rows[i].next_ms ||
		    strcmp(choose(&state, "a", HALF), rows[i].due ? "7=a" : "") != 0)
			fail_msg("row %zu: next in %d ms", i, hold_next_ms(&state, NOW));
	}
}

TEST(only_a_free_offer_of_the_slot_is_due)
{
	struct state_offer offers[] = {OFFER(7, 20000), OFFER(8, 600000)};
	struct host_state state = state_of(offers, 2, NULL, 0);

	assert_false(hold_due(&state, "gpu1", HALF, NOW));
	assert_false(hold_due(&state, "gpu0", WANTED_CLASS_PREFIX "FULL", NOW));
	assert_true(hold_due(&state, "gpu0", HALF, NOW));
	strcpy(offers[0].held_by, A);
	assert_false(hold_due(&state, "gpu0", HALF, NOW));
	assert_int_equal(hold_next_ms(&state, NOW), 570000);
}
