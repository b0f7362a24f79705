/* SPDX-License-Identifier: MIT */
/* The arbiter: exact values of options, slices, budgets, events and counters. */
#include "tests/unit/compute/arbiter/test-arbiter-rig.h"
#include "tests/unit/unit.h"

static const struct arbiter_share one = {.weight = 1};

TEST(an_option_of_zero_is_the_default)
{
	static const struct arbiter_options usual = {6 * NS_PER_MS, 100 * NS_PER_MS, 12 * NS_PER_MS,
						     LEASE,	    100 * US,	     500 * US,
						     2 * NS_PER_MS, 20 * NS_PER_MS};
	static const struct arbiter_options set = {1, 2, 3, 4, 5, 6, 7, UINT64_MAX}, none = {0};
	struct arbiter arbiter;

	arbiter_start(&arbiter, NULL, NULL, 0);
	assert_memory_equal(&arbiter.options, &usual, sizeof(usual));
	arbiter_start(&arbiter, NULL, &none, 0);
	assert_memory_equal(&arbiter.options, &usual, sizeof(usual));
	arbiter_start(&arbiter, NULL, &set, 0);
	assert_memory_equal(&arbiter.options, &set, offsetof(struct arbiter_options, idle_max_ns));
	assert_int_equal(arbiter.options.idle_max_ns, ARBITER_CHARGE_MAX_NS);
}

/* Returns the slice of the first turn of tenant @i, in us. */
static uint64_t slice_of(const char *discipline, const struct arbiter_share *shares, int i)
{
	struct arbiter_turn turn;

	rig_start(discipline);
	for (int j = 0; j < 3; j++)
		rig_add(shares[j], UNIT);
	for (int n = 0; n < 20; n++) {
		arbiter_pick(&rig.arbiter, rig.now_ns, &turn);
		if (turn.tenant == &rig.tenants[i])
			return turn.slice_ns / US;
		arbiter_charge(&rig.arbiter, turn.tenant, turn.slice_ns, 1, rig.now_ns);
		arbiter_end_turn(&rig.arbiter, rig.now_ns);
	}
	return 0;
}

TEST(the_slice_is_as_the_discipline_says)
{
	static const struct {
		const char *discipline;
		struct arbiter_share shares[3];
		uint64_t slices_us[3];
	} rows[] = {
		{"fair", {{1, 0, 0}, {2, 0, 0}, {9, 0, 0}}, {6000, 6000, 6000}},
		{"fair", {{1, 1, 0}, {1, 29, 0}, {9, 30, 0}}, {200, 5800, 6000}},
		{"cap", {{1, 1, 0}, {1, 29, 0}, {1, 90, 0}}, {200, 5800, 6000}},
		{"guarantee", {{1, 0, 0}, {1, 0, 10}, {1, 0, 50}}, {6000, 2000, 6000}},
		{"rr", {{1, 0, 0}, {2, 0, 0}, {3, 0, 0}}, {3000, 6000, 9000}},
		{"rr", {{1, 0, 0}, {9998, 0, 0}, {1, 0, 0}}, {100, 17996, 100}},
		{"vmcg", {{1, 0, 0}, {2, 0, 0}, {1000, 0, 0}}, {100, 100, 16000}},
		{"credit", {{1, 0, 0}, {2, 0, 0}, {3, 0, 0}}, {6000, 6000, 6000}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (int j = 0; j < 3; j++)
			assert_int_equal(slice_of(rows[i].discipline, rows[i].shares, j),
					 rows[i].slices_us[j]);
}

TEST(the_budget_of_a_cap_is_limited)
{
	struct arbiter_tenant *tenant;

	rig_start("fair");
	tenant = rig_add((struct arbiter_share){1, 50, 0}, 0);
	assert_int_equal(tenant->cap_budget / 100, SLICE);
	/* An idle tenant saves what a new one has. After a short gap it saves as one that waits. */
	arbiter_pick(&rig.arbiter, rig.now_ns += 2 * NS_PER_MS, NULL);
	assert_int_equal(tenant->cap_budget / 100, 7 * NS_PER_MS);
	arbiter_pick(&rig.arbiter, rig.now_ns += NS_PER_MS, NULL);
	assert_int_equal(tenant->cap_budget / 100, SLICE);
	/* With work: cap x 100 ms. */
	rig_wake(tenant);
	arbiter_pick(&rig.arbiter, rig.now_ns += NS_PER_MS, NULL);
	assert_int_equal(tenant->cap_budget / 100, SLICE + NS_PER_MS / 2);
	arbiter_pick(&rig.arbiter, rig.now_ns += NS_PER_S, NULL);
	assert_int_equal(tenant->cap_budget / 100, 50 * NS_PER_MS);
	/* A lower cap saves less, a debt stays, and a cap after a time without begins anew. */
	arbiter_set_share(&rig.arbiter, tenant, &(struct arbiter_share){1, 20, 0}, rig.now_ns);
	assert_int_equal(tenant->cap_budget / 100, 20 * NS_PER_MS);
	arbiter_charge(&rig.arbiter, tenant, 25 * NS_PER_MS, 1, rig.now_ns);
	arbiter_set_share(&rig.arbiter, tenant, &(struct arbiter_share){1, 90, 0}, rig.now_ns);
	assert_int_equal(tenant->cap_budget / 100, -(int64_t)(5 * NS_PER_MS));
	arbiter_set_share(&rig.arbiter, tenant, NULL, rig.now_ns);
	arbiter_set_share(&rig.arbiter, tenant, &(struct arbiter_share){1, 10, 0}, rig.now_ns);
	assert_int_equal(tenant->cap_budget / 100, 2 * NS_PER_MS);
}

TEST(a_used_cap_ends_the_turn_and_names_the_time_of_the_next)
{
	struct arbiter_tenant *tenant;
	struct arbiter_turn turn;

	rig_start("fair");
	tenant = rig_add((struct arbiter_share){1, 10, 0}, UNIT);
	turn = rig_turn();
	assert_int_equal(turn.slice_ns, 2 * NS_PER_MS);
	assert_int_equal(arbiter_next_event_ns(&rig.arbiter), rig.now_ns + 2 * NS_PER_MS);
	arbiter_charge(&rig.arbiter, tenant, 2 * NS_PER_MS, 1, rig.now_ns);
	arbiter_pick(&rig.arbiter, rig.now_ns, &turn);
	assert_int_equal(turn.reason, ARBITER_REASON_CAP);
	assert_true(arbiter_next_event_ns(&rig.arbiter) == ARBITER_NEVER);
	arbiter_end_turn(&rig.arbiter, rig.now_ns);
	assert_false(arbiter_pick(&rig.arbiter, rig.now_ns, NULL));
	assert_int_equal(arbiter_next_event_ns(&rig.arbiter), rig.now_ns + 20 * NS_PER_MS);
	assert_false(arbiter_pick(&rig.arbiter, rig.now_ns + 20 * NS_PER_MS - 1, NULL));
	assert_true(arbiter_pick(&rig.arbiter, rig.now_ns + 20 * NS_PER_MS, NULL));
	assert_int_equal(tenant->turns, 2);
}

TEST(the_next_event_is_the_first_of_all_limits)
{
	struct arbiter_tenant *holder;
	uint64_t begun_ns;

	holder = rig_begin("fair", 2);
	begun_ns = rig.now_ns;
	/* Near the end of the slice, not more often than base / 64. */
	arbiter_charge(&rig.arbiter, holder, SLICE - 1, 1, rig.now_ns);
	arbiter_pick(&rig.arbiter, rig.now_ns, NULL);
	assert_int_equal(arbiter_next_event_ns(&rig.arbiter), begun_ns + SLICE / 64);
	rig.now_ns += 2 * SLICE - 10;
	arbiter_pick(&rig.arbiter, rig.now_ns, NULL);
	assert_int_equal(arbiter_next_event_ns(&rig.arbiter), begun_ns + 2 * SLICE);
	arbiter_pick(&rig.arbiter, begun_ns + 2 * SLICE, NULL);
	assert_int_equal(rig.arbiter.turn.state, ARBITER_DRAIN);
	assert_int_equal(arbiter_next_event_ns(&rig.arbiter), begun_ns + 2 * SLICE + LEASE);
}

TEST(a_lone_holder_waits_for_the_cap_of_another)
{
	struct arbiter_tenant *capped;

	rig_start("fair");
	capped = rig_add((struct arbiter_share){1, 10, 0}, UNIT);
	arbiter_charge(&rig.arbiter, capped, 3 * NS_PER_MS, 1, rig.now_ns);
	rig_add(one, UNIT);
	assert_ptr_equal(rig_turn().tenant, &rig.tenants[1]);
	assert_false(rig.arbiter.contended);
	assert_int_equal(arbiter_next_event_ns(&rig.arbiter), rig.now_ns + 30 * NS_PER_MS);
	arbiter_pick(&rig.arbiter, rig.now_ns + 30 * NS_PER_MS, NULL);
	assert_true(rig.arbiter.contended);
	assert_int_equal(rig.arbiter.contended_since_ns, rig.now_ns + 30 * NS_PER_MS);
}

TEST(a_sign_of_life_clears_a_revocation)
{
	for (int sign = 0; sign < 4; sign++) {
		struct arbiter_tenant *holder = rig_begin("fair", 2);

		assert_ptr_not_equal(pick_after(2 * SLICE).tenant, holder);
		assert_true(holder->stalled);
		assert_false(holder->unfinished);
		rig.now_ns += 5;
		if (sign == 0)
			arbiter_charge(&rig.arbiter, holder, 1, 0, rig.now_ns);
		else if (sign == 1)
			arbiter_charge(&rig.arbiter, holder, 1, 1, rig.now_ns);
		else if (sign == 2)
			arbiter_idle(&rig.arbiter, holder, rig.now_ns);
		else
			arbiter_want(&rig.arbiter, holder, 7, rig.now_ns);
		assert_int_equal(holder->stalled, sign == 0);
		assert_int_equal(holder->seen_ns, rig.now_ns - (sign == 0 ? 5 + 2 * SLICE : 0));
	}
}

TEST(the_lease_counts_from_the_last_sign_of_life)
{
	const struct arbiter_options options = {.slice_ns = NS_PER_S};
	struct arbiter_tenant *holder;
	uint64_t begun_ns;

	holder = rig_begin("fair", 2);
	rig.arbiter.options.slice_ns = options.slice_ns;
	arbiter_end_turn(&rig.arbiter, rig.now_ns);
	holder = rig_turn().tenant;
	begun_ns = rig.now_ns;
	assert_int_equal(arbiter_next_event_ns(&rig.arbiter), begun_ns + LEASE);
	arbiter_charge(&rig.arbiter, holder, 0, 1, begun_ns + 50 * NS_PER_MS);
	arbiter_pick(&rig.arbiter, begun_ns + LEASE, NULL);
	assert_ptr_equal(rig.arbiter.turn.tenant, holder);
	assert_int_equal(arbiter_next_event_ns(&rig.arbiter), begun_ns + LEASE + 50 * NS_PER_MS);
	arbiter_pick(&rig.arbiter, begun_ns + LEASE + 50 * NS_PER_MS, NULL);
	assert_ptr_not_equal(rig.arbiter.turn.tenant, holder);
}

TEST(a_removed_tenant_leaves_nothing)
{
	struct arbiter_tenant *a, *b;

	rig_start("guarantee");
	a = rig_add((struct arbiter_share){1, 0, 60}, UNIT);
	b = rig_add((struct arbiter_share){1, 0, 70}, UNIT);
	assert_int_equal(rig.arbiter.guarantee_pct, 130);
	arbiter_remove(&rig.arbiter, a, rig.now_ns);
	assert_int_equal(rig.arbiter.guarantee_pct, 70);
	assert_null(a->next);
	assert_null(a->prev);
	assert_ptr_equal(b->next, b);
	arbiter_remove(&rig.arbiter, b, rig.now_ns);
	assert_int_equal(rig.arbiter.guarantee_pct, 0);
	assert_null(rig.arbiter.last);
	rig.n = 0;
	rig_add(one, UNIT);
	assert_true(arbiter_pick(&rig.arbiter, rig.now_ns, NULL));
}

TEST(the_ring_is_whole_after_any_removal)
{
	for (int i = 0; i < 3; i++) {
		rig_start("rr");
		for (int j = 0; j < 3; j++)
			rig_add(one, UNIT);
		rig_run(NS_PER_S);
		arbiter_remove(&rig.arbiter, &rig.tenants[i], rig.now_ns);
		for (int j = 0; j < 3; j++) {
			struct arbiter_tenant *other =
				&rig.tenants[j == (i + 1) % 3 ? (i + 2) % 3 : (i + 1) % 3];

			if (j == i)
				continue;
			assert_ptr_equal(rig.tenants[j].next, other);
			assert_ptr_equal(rig.tenants[j].prev, other);
		}
	}
}

/* In the order of requests, not of the round: the first of the round asks last. */
TEST(fcfs_serves_in_the_order_of_requests)
{
	static const int asks[] = {3, 1, 2, 0};

	rig_start("fcfs");
	for (int i = 0; i < 4; i++)
		rig_add(one, 0);
	for (int i = 0; i < 4; i++) {
		rig.unit_ns[i] = UNIT;
		arbiter_want(&rig.arbiter, &rig.tenants[asks[i]], 0, rig.now_ns);
	}
	for (int i = 0; i < 40; i++)
		assert_ptr_equal(rig_step(rig.now_ns + NS_PER_S), &rig.tenants[asks[i % 4]]);
}

TEST(an_excuse_counts_for_one_gap_only)
{
	struct arbiter_tenant *tenant;

	rig_start("fair");
	tenant = rig_add(one, UNIT);
	arbiter_excuse(tenant, 5);
	assert_int_equal(tenant->delay_ns, 0);
	rig_stop(tenant);
	arbiter_excuse(tenant, 3 * NS_PER_MS);
	rig.now_ns += NS_PER_MS;
	rig_stop(tenant); /* reported again: the gap goes on */
	assert_int_equal(tenant->delay_ns, 3 * NS_PER_MS);
	assert_int_equal(tenant->changed_at_ns, rig.now_ns - NS_PER_MS);
	rig.now_ns += 3 * NS_PER_MS;
	rig_wake(tenant);
	assert_int_equal(tenant->gap_ns, NS_PER_MS / 4);
	assert_int_equal(tenant->delay_ns, 0);
	rig_stop(tenant);
	arbiter_excuse(tenant, UINT64_MAX);
	arbiter_excuse(tenant, UINT64_MAX);
	assert_true(tenant->delay_ns == UINT64_MAX);
}

TEST(a_changed_discipline_begins_anew)
{
	struct arbiter_tenant *holder = rig_begin("vmcg", 2);

	arbiter_charge(&rig.arbiter, holder, NS_PER_MS, 7, rig.now_ns);
	assert_int_equal(holder->blocks, 3);
	arbiter_set_discipline(&rig.arbiter, arbiter_discipline_find("credit"), rig.now_ns);
	assert_int_equal(holder->credit, 0);
	assert_int_equal(holder->blocks, 0);
	assert_int_equal(holder->round, 0);
	assert_int_equal(rig.arbiter.turn.drains_since_ns, rig.now_ns);
	arbiter_pick(&rig.arbiter, rig.now_ns += 1, NULL); /* a refill: 15 ms each */
	assert_int_equal(holder->credit, 15 * NS_PER_MS);
	rig_stop(holder);
	rig_wake(holder);
	assert_true(holder->boosted);
	arbiter_set_discipline(&rig.arbiter, NULL, rig.now_ns);
	assert_string_equal(rig.arbiter.discipline->name, "fair");
	assert_false(holder->boosted);
}

TEST(credit_and_debt_are_limited_to_a_period)
{
	struct arbiter_tenant *holder = rig_begin("credit", 2);

	arbiter_pick(&rig.arbiter, rig.now_ns += 1, NULL);
	arbiter_charge(&rig.arbiter, holder, NS_PER_S, 1, rig.now_ns);
	assert_int_equal(holder->credit, -(int64_t)(30 * NS_PER_MS));
	arbiter_pick(&rig.arbiter, rig.now_ns += 30 * NS_PER_MS, NULL);
	assert_int_equal(holder->credit, -(int64_t)(15 * NS_PER_MS));
	arbiter_charge(&rig.arbiter, holder, 0, 1, rig.now_ns += 3600 * NS_PER_S);
	assert_int_equal(holder->credit, 30 * NS_PER_MS);
}

TEST(a_large_charge_and_large_loads_do_not_overflow)
{
	struct arbiter_tenant *holder = rig_begin("vmcg", 2);

	arbiter_set_load(&rig.tenants[0], &(struct arbiter_load){.cpu_ns = UINT64_MAX});
	arbiter_set_load(&rig.tenants[1], &(struct arbiter_load){.cpu_ns = UINT64_MAX / 4});
	arbiter_end_turn(&rig.arbiter, rig.now_ns);
	for (int i = 0; i < 2; i++) {
		struct arbiter_turn turn = rig_turn();

		assert_near(turn.slice_ns, (turn.tenant == &rig.tenants[0] ? 16 : 4) * NS_PER_MS,
			    1);
		arbiter_end_turn(&rig.arbiter, rig.now_ns);
	}
	arbiter_charge(&rig.arbiter, holder, UINT64_MAX, UINT32_MAX, rig.now_ns);
	assert_int_equal(holder->busy_ns, ARBITER_CHARGE_MAX_NS);
	arbiter_set_discipline(&rig.arbiter, NULL, rig.now_ns);
	arbiter_set_share(&rig.arbiter, holder, &(struct arbiter_share){1, 1, 0}, rig.now_ns);
	for (int i = 0; i < 200000; i++)
		arbiter_charge(&rig.arbiter, holder, UINT64_MAX, 1, rig.now_ns);
	assert_true(holder->cap_budget == -(1LL << 60));
	/* Its tag is ahead by not more than the difference that can be compared. */
	assert_true((int64_t)(holder->tag - rig.arbiter.virtual_ns) == 1LL << 61);
}
