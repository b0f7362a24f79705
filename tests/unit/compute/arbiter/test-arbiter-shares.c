/* SPDX-License-Identifier: MIT */
/* The arbiter: the shares of tenants that always have work, per discipline. */
#include "tests/unit/compute/arbiter/test-arbiter-rig.h"
#include "tests/unit/unit.h"

TEST(a_discipline_is_found_by_its_name)
{
	struct arbiter arbiter;

	for (const struct arbiter_discipline *d = arbiter_disciplines; d->name; d++) {
		assert_ptr_equal(arbiter_discipline_find(d->name), d);
		assert_true(strlen(d->text) > 0);
	}
	assert_null(arbiter_discipline_find("fai"));
	assert_null(arbiter_discipline_find("fairer"));
	assert_null(arbiter_discipline_find(""));
	arbiter_start(&arbiter, NULL, NULL, 0);
	assert_string_equal(arbiter.discipline->name, "fair");
}

/* Shares in tenths of a percent after 20 s, with the given tolerance. */
static const struct {
	const char *discipline;
	struct arbiter_share shares[RIG_TENANTS];
	uint64_t unit_us[RIG_TENANTS];
	unsigned int expected[RIG_TENANTS];
	unsigned int tolerance;
} rows[] = {
	{"fair", {{1, 0, 0}, {2, 0, 0}, {3, 0, 0}}, {200, 200, 200}, {167, 333, 500}, 2},
	{"fair", {{1, 0, 0}, {1, 0, 0}, {1, 0, 0}}, {200, 1000, 10000}, {333, 333, 333}, 2},
	{"fair", {{10000, 0, 0}, {1, 0, 0}}, {200, 10000}, {1000, 0}, 2},
	{"fair", {{0, 0, 0}, {100, 0, 0}}, {200, 200}, {500, 500}, 2},
	/* A cap on top of fair is hard; the others share the rest by weight. */
	{"fair", {{1, 20, 0}, {1, 0, 0}, {2, 0, 0}}, {200, 200, 200}, {200, 267, 533}, 2},
	{"fair", {{1, 30, 0}}, {200}, {300}, 2},
	{"fair", {{1, 30, 0}, {1, 70, 0}}, {200, 5000}, {300, 700}, 5},
	{"fair", {{1, 10, 0}, {1, 90, 0}}, {5000, 200}, {100, 900}, 5},
	{"fair", {{1, 50, 0}, {1, 0, 0}, {1, 0, 0}}, {200, 200, 200}, {333, 333, 333}, 2},
	{"cap", {{0, 30, 0}, {0, 70, 0}}, {200, 200}, {300, 700}, 5},
	{"cap", {{0, 10, 0}, {0, 90, 0}}, {200, 200}, {100, 900}, 5},
	{"cap", {{0, 10, 0}, {0, 90, 0}}, {10000, 1000}, {100, 900}, 5},
	{"cap", {{0, 1, 0}, {0, 20, 0}}, {200, 300}, {10, 200}, 2},
	{"cap", {{0, 20, 0}, {0, 0, 0}}, {200, 300}, {200, 800}, 5},
	/* The guarantee first, then equal parts of the rest. */
	{"guarantee", {{1, 0, 50}, {1, 0, 0}}, {200, 200}, {750, 250}, 5},
	{"guarantee", {{1, 0, 20}, {1, 0, 30}, {2, 0, 0}}, {200, 200, 200}, {325, 425, 250}, 5},
	{"guarantee", {{1, 0, 50}, {1, 0, 0}}, {10000, 200}, {750, 250}, 5},
	{"guarantee", {{1, 0, 10}, {9, 0, 90}}, {1000, 200}, {100, 900}, 5},
	{"guarantee", {{1, 0, 100}, {9, 0, 100}}, {1000, 200}, {500, 500}, 5},
	{"guarantee", {{1, 20, 50}, {1, 0, 0}}, {200, 200}, {200, 800}, 5},
	{"guarantee", {{1, 0, 10}}, {200}, {1000}, 0},
	{"rr", {{1, 0, 0}, {2, 0, 0}, {3, 0, 0}}, {200, 200, 200}, {167, 333, 500}, 5},
	/* rr does not charge an over-run: a slice of 6 ms beside a unit of 10 ms. */
	{"rr", {{1, 0, 0}, {1, 0, 0}}, {200, 10000}, {375, 625}, 5},
	{"credit", {{1, 0, 0}, {2, 0, 0}, {3, 0, 0}}, {200, 200, 200}, {167, 333, 500}, 5},
	{"credit", {{1, 0, 0}, {1, 0, 0}}, {200, 10000}, {500, 500}, 5},
	/* credit forgives an over-run beyond 30 ms. */
	{"credit", {{1, 0, 0}, {1, 0, 0}}, {200, 150000}, {230, 770}, 20},
	{"vmcg", {{4, 0, 0}, {2, 0, 0}, {1, 0, 0}}, {200, 200, 200}, {571, 286, 143}, 20},
	/* 50 credits are 200 units: 16 + 16 + 8 ms of three rounds, beside two units of 10 ms. */
	{"vmcg", {{1, 0, 0}, {1, 0, 0}}, {200, 10000}, {400, 600}, 5},
	/* One unit each, whatever the weights. */
	{"fcfs", {{3, 0, 0}, {2, 0, 0}, {1, 0, 0}}, {200, 1000, 10000}, {18, 89, 893}, 2},
};

TEST(shares_are_as_the_discipline_says)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t sum_ns = 0;

		rig_start(rows[i].discipline);
		for (int j = 0; rows[i].unit_us[j] > 0; j++)
			rig_add(rows[i].shares[j], rows[i].unit_us[j] * US);
		rig_run(20 * NS_PER_S);
		for (int j = 0; j < rig.n; j++) {
			uint64_t got = rig.tenants[j].busy_ns / (20 * NS_PER_S / 1000);

			if (got + rows[i].tolerance < rows[i].expected[j] ||
			    got > rows[i].expected[j] + rows[i].tolerance)
				fail_msg("row %zu (%s), tenant %d: share %u of 1000, not %u", i,
					 rows[i].discipline, j, (unsigned int)got,
					 rows[i].expected[j]);
			sum_ns += rig.tenants[j].busy_ns;
		}
		assert_int_equal(sum_ns, rig.arbiter.busy_ns);
	}
}

/* Starts vmcg with three tenants of the given loads and CPU times. */
static void start_vmcg(const struct arbiter_load *loads)
{
	rig_start("vmcg");
	for (int i = 0; i < 3; i++) {
		rig_add((struct arbiter_share){.weight = 1}, 200 * US);
		arbiter_set_load(&rig.tenants[i], &loads[i]);
	}
}

TEST(vmcg_credits_follow_equation_2)
{
	static const struct {
		struct arbiter_load loads[3];
		unsigned int credits[3];
	} table[] = {
		{{{0}, {0}, {0}}, {33, 33, 33}},
		/* The example of section 6.3. */
		{{{34, 0, 0, 0}, {33, 0, 0, 0}, {33, 0, 0, 0}}, {33, 33, 33}},
		{{{3, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}, {66, 16, 16}},
		/* e : e^(1/4) : 1 */
		{{{0, 1000, 1000, 0}, {0, 500, 500, 0}, {0, 1000, 0, 0}}, {54, 25, 19}},
		{{{0, 9999, 9999, 0}, {0, 1000, 1000, 0}, {0, 1000, 1000, 0}}, {33, 33, 33}},
		{{{UINT32_MAX, 0, 0, 0}, {0}, {0}}, {99, 1, 1}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		start_vmcg(table[i].loads);
		rig_turn();
		for (int j = 0; j < 3; j++)
			assert_int_equal(rig.tenants[j].credit, table[i].credits[j]);
	}
}

TEST(vmcg_slices_follow_the_cpu_time)
{
	static const struct arbiter_load loads[] = {
		{.cpu_ns = 300}, {.cpu_ns = 1200}, {.cpu_ns = 600}};
	static const struct arbiter_load partly[] = {{.cpu_ns = 300}, {.cpu_ns = 1200}, {0}};
	static const struct {
		const struct arbiter_load *loads;
		uint64_t slices_ms[3]; /* in the order of turns */
	} table[] = {{loads, {16, 8, 4}}, {partly, {16, 16, 16}}};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		start_vmcg(table[i].loads);
		for (int j = 0; j < 3; j++) {
			struct arbiter_turn turn = rig_turn();

			assert_int_equal(turn.slice_ns, table[i].slices_ms[j] * NS_PER_MS);
			assert_int_equal(turn.units_in_flight, 4);
			arbiter_end_turn(&rig.arbiter, rig.now_ns);
		}
	}
}

TEST(vmcg_pays_a_credit_for_four_units_and_transfers_the_rest)
{
	static const struct arbiter_load loads[3];
	struct arbiter_tenant *holder;

	start_vmcg(loads);
	holder = rig_turn().tenant;
	arbiter_charge(&rig.arbiter, holder, 1000, 7, rig.now_ns);
	assert_int_equal(holder->credit, 32);
	arbiter_end_turn(&rig.arbiter, rig.now_ns);
	assert_int_equal(holder->credit, 31);
	rig_stop(holder);
	assert_int_equal(holder->credit, 0);
	assert_int_equal(rig.arbiter.credit_pool, 31);
	for (int i = 0; i < 2; i++) {
		struct arbiter_tenant *other = rig_turn().tenant;

		assert_ptr_not_equal(other, holder);
		arbiter_charge(&rig.arbiter, other, 1000, 4 * 33, rig.now_ns);
		assert_int_equal(rig_turn().id, 3 + i);
	}
	/* A new round: 50 credits each, and half of the pool. */
	assert_int_equal(rig.arbiter.turn.tenant->credit, 65);
	assert_int_equal(rig.arbiter.credit_pool, 1);
}

TEST(a_change_of_the_share_is_in_force_at_once)
{
	struct arbiter_tenant *first, *second;
	uint64_t before_ns;

	rig_start("fair");
	first = rig_add((struct arbiter_share){.weight = 100}, 200 * US);
	second = rig_add((struct arbiter_share){.weight = 100}, 200 * US);
	rig_run(NS_PER_S);
	assert_near(first->busy_ns, NS_PER_S / 2, SLICE);
	arbiter_set_share(&rig.arbiter, first, &(struct arbiter_share){.weight = 300}, rig.now_ns);
	before_ns = first->busy_ns;
	rig_run(NS_PER_S);
	assert_near(first->busy_ns - before_ns, 3 * NS_PER_S / 4, 2 * SLICE);
	arbiter_set_share(&rig.arbiter, first, &(struct arbiter_share){.cap_pct = 10}, rig.now_ns);
	before_ns = first->busy_ns;
	rig_run(NS_PER_S);
	assert_near(first->busy_ns - before_ns, NS_PER_S / 10, SLICE);
	arbiter_set_share(&rig.arbiter, first, NULL, rig.now_ns);
	before_ns = first->busy_ns;
	rig_run(NS_PER_S);
	assert_near(first->busy_ns - before_ns, NS_PER_S / 2, 2 * SLICE);
	assert_near(second->busy_ns + first->busy_ns, 4 * NS_PER_S, 1 * NS_PER_MS);
}

TEST(a_share_out_of_range_counts_as_the_limit)
{
	struct arbiter_tenant *tenant;

	rig_start("fair");
	tenant = rig_add((struct arbiter_share){UINT32_MAX, 101, 1000}, 0);
	assert_int_equal(tenant->share.weight, ARBITER_WEIGHT_MAX);
	assert_int_equal(tenant->share.cap_pct, 100);
	assert_int_equal(tenant->share.guarantee_pct, 100);
	arbiter_set_share(&rig.arbiter, tenant, &(struct arbiter_share){0}, rig.now_ns);
	assert_int_equal(tenant->share.weight, ARBITER_WEIGHT_DEFAULT);
}

/* Over each interval, not only over the whole run. */
TEST(a_cap_is_not_exceeded_by_more_than_its_window_and_a_unit)
{
	static const unsigned int caps[] = {1, 5, 30, 70, 99};
	static const uint64_t units[] = {100 * US, 2000 * US, 9000 * US};

	for (size_t i = 0; i < ARRAY_SIZE(caps) * ARRAY_SIZE(units); i++) {
		uint64_t unit_ns = units[i % ARRAY_SIZE(units)], least = 0, cap = caps[i / 3];
		struct arbiter_tenant *capped;

		rig_start("fair");
		capped = rig_add((struct arbiter_share){0, caps[i / 3], 0}, unit_ns);
		rig_add((struct arbiter_share){.weight = 50}, 3 * unit_ns);
		for (int step = 0; step < 20000; step++) {
			uint64_t lead;

			rig_step(rig.now_ns + NS_PER_S);
			/* What it used beyond its cap, plus a constant. */
			lead = (1ULL << 62) + capped->busy_ns * 100 -
			       (rig.now_ns - 1000 * NS_PER_S) * cap;
			least = least == 0 || lead < least ? lead : least;
			assert_true(lead - least <= cap * ARBITER_WINDOW_NS + 100 * unit_ns);
		}
	}
}

TEST(a_niceness_is_a_weight)
{
	static const struct {
		int nice;
		unsigned int weight;
	} table[] = {{0, 100}, {-1, 125}, {1, 80},     {5, 32},	   {-5, 305},
		     {19, 1},  {99, 1},	  {-20, 8673}, {-99, 8673}};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		assert_int_equal(arbiter_weight_of_nice(table[i].nice), table[i].weight);
}
