/* SPDX-License-Identifier: MIT */
/*
 * policy/offer.h: the funding of an open offer, the severe periods of a probation, and the reasons
 * why offers end. Then several contracts that are offered at once, for all policies.
 */
#include "policy/offer.h"
#include "tests/unit/policy/test-policy.h"

static const struct offer_limits limits = {.min_newcomer_pct = 10, .broken_pct = 2};

TEST(test_an_offer_follows_the_funding)
{
	struct offer_life life = {.state = OFFER_OPEN};

	assert_false(offer_restate(&life, 25));
	assert_false(offer_restate(&life, 0));
	assert_int_equal(life.state, OFFER_OPEN);
	assert_true(offer_restate(&life, -1));
	assert_int_equal(life.state, OFFER_CLOSED);
	assert_int_equal(life.end, OFFER_END_UNFUNDABLE);
}

/* A period without severe overload starts the count again. */
TEST(test_only_consecutive_severe_periods_fail)
{
	struct offer_life life = {.state = OFFER_OPEN};
	struct offer_period period = {.watched_s = 1};

	offer_claim(&life, 1000);
	for (int round = 0; round < 2; round++) {
		period.severe = false;
		assert_false(offer_update(&life, &period, &limits, 1));
		period.severe = true;
		for (int i = 1; i < OFFER_SEVERE_PERIODS; i++)
			assert_false(offer_update(&life, &period, &limits, 1));
	}
	assert_true(offer_update(&life, &period, &limits, 1));
	assert_int_equal(life.state, OFFER_FAILED);
	assert_int_equal(life.end, OFFER_END_SEVERE);
}

TEST(test_a_vgpu_that_cannot_be_helped_does_not_count)
{
	static const struct {
		const char *rule;
		double load;
		int cap_pct;
		bool broken, held, counts;
	} rows[] = {
		{"a larger cap helps", .load = 0.3, .cap_pct = 30, .broken = true, .counts = true},
		{"not broken", .load = 0.3, .cap_pct = 30},
		{"the cap is the contract", .load = 0.4, .cap_pct = 50, .broken = true},
		{"a guarantee: it uses 98 % of its contract", .load = 0.49, .cap_pct = 30,
		 .broken = true},
		{"a guarantee: it uses less", .load = 0.489, .cap_pct = 30, .broken = true,
		 .counts = true},
		{"held", .load = 0.3, .cap_pct = 30, .broken = true, .held = true},
	};
	struct policy_gpu gpu = {.step_pct = 1};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct policy_vgpu vgpu = {.terms = {.initial_cap_pct = 50},
					   .sample.load = rows[i].load,
					   .cap_pct = rows[i].cap_pct,
					   .broken = rows[i].broken,
					   .held = rows[i].held};

		if (offer_counts_broken(&gpu, &vgpu) != rows[i].counts)
			fail_msg("%s", rows[i].rule);
	}
}

TEST(test_the_reason_of_every_end)
{
	static const struct {
		enum offer_end end;
		const char *text;
	} rows[] = {
		{OFFER_NOT_ENDED, ""},
		{OFFER_END_UNCLAIMED, "not claimed in time"},
		{OFFER_END_UNFUNDABLE, "less than 10 % of the GPU can be funded now"},
		{OFFER_END_REMOVED, "vGPU n was removed during its probation"},
		{OFFER_END_SEVERE, "severe overload in 3 consecutive periods of the probation of "
				   "vGPU n"},
		{OFFER_END_BROKEN, "vGPU n failed its probation: 5.0 % of all vGPU-seconds were "
				   "broken (limit 2.0 %)"},
		{OFFER_END_PASSED, "vGPU n passed its probation: 5.0 % of all vGPU-seconds were "
				   "broken (limit 2.0 %)"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct offer_life life = {
			.end = rows[i].end, .watched_s = 100, .broken_s = 5, .severe_run = 3};
		char text[OFFER_REASON_MAX] = "an older text";

		offer_explain(&life, &limits, "n", text);
		assert_string_equal(text, rows[i].text);
	}
}

/* --- several contracts that are offered at once, under all policies --- */

#define WORLDS 400

static uint64_t world_state = 42;

static int world_int(int low, int high)
{
	world_state = world_state * 6364136223846793005u + 1442695040888963407u;
	return low + (int)((world_state >> 33) % (uint64_t)(high - low + 1));
}

/* Makes a GPU whose vGPUs have been seen for some periods and that may sell in the next one. */
static void make_world(const struct policy *policy)
{
	static const char *const ids[] = {"a", "b", "c", "d", "e", "f"};
	int n = world_int(0, 6), cap_pct = world_int(3, 25);
	int most_pct = world_int(1, 100), least_pct = world_int(0, most_pct);
	struct given given[BENCH_MAX + 1] = {{0}};

	for (int i = 0; i < n; i++)
		given[i] = (struct given){ids[i], world_int(cap_pct, 60), .cap = 95 / n};
	bench_init(given, 1);
	bench.policy = policy;
	bench.params.none_vgpus = world_int(1, 7);
	bench.params.static_ratio = world_int(1, 4);
	bench.gpu.migrates = world_int(0, 1);
	bench.gpu.moving.answered = world_int(0, 2);
	bench.gpu.n_flavors = 0;
	for (int t = world_int(3, 60); t >= 0; t--) {
		for (int i = 0; i < n; i++)
			bench_read(&bench.vgpus[i], world_int(least_pct, most_pct) / 100.0, NAN);
		bench.gpu.selling = t == 0;
		if (t > 0)
			bench_step();
		for (int i = 0; i < n; i++)
			bench.vgpus[i].cap_pct = bench.vgpus[i].want_cap_pct;
	}
}

static const struct policy_decision *find_offer(void)
{
	for (int i = 0; i < bench.out.n_decisions; i++)
		if (bench.out.decisions[i].kind == POLICY_OFFER)
			return &bench.out.decisions[i];
	return NULL;
}

/* Returns the first cap of the offer; 0: there is no offer. */
static int offered_alone(struct policy_terms terms)
{
	const struct bench before = bench;
	const struct policy_decision *offer;
	int fundable_pct;

	bench.gpu.flavors[0] = terms;
	bench.gpu.n_flavors = 1;
	bench_step();
	offer = find_offer();
	fundable_pct = offer ? offer->fundable_pct[0] : 0;
	bench = before;
	return fundable_pct;
}

static int first_listed(const struct policy_decision *offer)
{
	int i = 0;

	while (offer->fundable_pct[i] == 0)
		i++;
	return i;
}

static void check_leads(const struct policy_decision *offer, const struct policy_terms *leading)
{
	int i = 0;

	while (strcmp(offer->numbers[i].name, "flavor_cap_pct") != 0)
		i++;
	assert_true(offer->numbers[i].value == leading->initial_cap_pct);
}

/*
 * A smaller contract is admitted with a larger one, unless its largest first cap is below
 * min_newcomer_pct. Policy qos may also refuse it because it earns less for the same risk.
 */
static void check_smaller(const struct policy_decision *offer)
{
	bool is_static = strcmp(bench.policy->name, "static") == 0;
	double ratio = is_static ? bench.params.static_ratio : 1;

	if (strcmp(bench.policy->name, "qos") == 0)
		return;
	for (int i = first_listed(offer); i < bench.gpu.n_flavors; i++)
		assert_true(offer->fundable_pct[i] > 0 ||
			    floor(bench.gpu.flavors[i].initial_cap_pct / ratio) <
				    bench.params.min_newcomer_pct);
}

static int check_world(const struct policy *policy)
{
	static const int caps_pct[] = {60, 50, 33, 25, 12, 5};
	const struct policy_decision *offer;
	int alone[POLICY_FLAVORS_MAX] = {0}, any = 0;

	make_world(policy);
	for (int i = 0; i < (int)(sizeof(caps_pct) / sizeof(caps_pct[0])); i++) {
		struct policy_terms terms = {.initial_cap_pct = caps_pct[i], .weight = 1};

		alone[i] = offered_alone(terms);
		any = any > alone[i] ? any : alone[i];
		bench.gpu.flavors[bench.gpu.n_flavors++] = terms;
	}
	bench_step();
	offer = find_offer();
	assert_int_equal(offer != NULL, any > 0);
	if (!offer)
		return 0;
	for (int i = 0; i < POLICY_FLAVORS_MAX; i++)
		assert_int_equal(offer->fundable_pct[i], alone[i]);
	check_leads(offer, &bench.gpu.flavors[first_listed(offer)]);
	check_smaller(offer);
	return 1 + (first_listed(offer) > 0);
}

TEST(test_a_contract_is_listed_as_it_would_be_offered_alone)
{
	const struct policy *policy;

	for (size_t p = 0; (policy = policy_at(p)); p++) {
		int seen[3] = {0};

		for (int i = 0; i < WORLDS; i++)
			seen[check_world(policy)]++;
		print_message("  %s: no offer %d, the largest leads %d, a smaller one leads %d\n",
			      policy->name, seen[0], seen[1], seen[2]);
		assert_true(seen[1] > 0 && seen[0] + seen[2] > 0);
	}
}

TEST(test_without_contracts_there_is_no_offer)
{
	const struct policy *policy;

	for (size_t p = 0; (policy = policy_at(p)); p++) {
		make_world(policy);
		bench_step();
		assert_null(find_offer());
	}
}
