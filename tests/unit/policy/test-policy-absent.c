/* SPDX-License-Identifier: MIT */
/*
 * A contract whose vGPU does not exist counts in full, and a vGPU that gets nothing is not idle,
 * under each policy: by example, and in an hour of random absences and stalls in virtual time.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "policy/plan.h"
#include "policy/promise/service.h"
#include "policy/qos/moving.h"
#include "tests/unit/policy/test-policy.h"

static const char *const policies[] = {"gover", "qos", "fair",	 "credit", "static",
				       "none",	"p99", "nsigma", "max"};

static struct policy_terms half = {.initial_cap_pct = 50, .weight = 1};

static void prepare(const char *policy, const struct given *given)
{
	bench_init(given, 1);
	bench.policy = policy_find(policy);
	assert_non_null(bench.policy);
	bench.gpu.selling = true;
	bench.gpu.flavors[0] = half;
}

static bool offers(int periods)
{
	for (; periods > 0; periods--) {
		bench_step();
		for (int i = 0; i < bench.out.n_decisions; i++)
			if (bench.out.decisions[i].kind == POLICY_OFFER)
				return true;
	}
	return false;
}

/* Two vGPUs with contracts of 50 % use 48 %: one is sold to neither with nor without them. */
TEST(a_missing_vgpu_leaves_no_room)
{
	static const struct given present[] = {{"a", 50, .cap = 50, .util = 0.96},
					       {"b", 50, .cap = 50, .util = 0.96},
					       {.id = NULL}};
	static const struct given nobody[] = {{.id = NULL}};

	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		struct policy_track past = {0};
		bool by_number =
			strcmp(policies[i], "static") == 0 || strcmp(policies[i], "none") == 0;

		prepare(policies[i], present);
		/* none and static sell by numbers; with these contracts they do not sell either */
		bench.params.static_ratio = 1;
		bench.params.none_vgpus = 2;
		assert_false(offers(by_number ? 5 : 60));
		prepare(policies[i], nobody);
		bench.params.static_ratio = 1;
		bench.params.none_vgpus = 2;
		for (int k = 0; k < 2; k++)
			policy_add_absent(&bench.gpu, &half, &past, 50);
		assert_false(offers(60));
		assert_int_equal(bench.policy->fund(&bench.params, &bench.gpu, &half, &bench.out),
				 -ENOSPC);
	}
}

TEST(an_absent_demand_is_the_largest_of_contract_cap_and_past)
{
	struct policy_gpu gpu = {.absent = {.n = 0}};
	struct policy_track past = {.past = {.peak_pct = 70}}, none = {0};

	policy_add_absent(&gpu, &half, &none, 20);
	policy_add_absent(&gpu, &half, &none, 60); /* burst */
	policy_add_absent(&gpu, &half, &past, 10);
	assert_int_equal(gpu.absent.n, 3);
	assert_int_equal(gpu.absent.cap_pct, 90);
	assert_int_equal(gpu.absent.demand_pct, 50 + 60 + 70);
}

TEST(a_hold_must_fit_beside_reserved_caps)
{
	static const struct given given[] = {{"a", 100, .cap = 50, .min_cap = 20}, {.id = NULL}};
	struct policy_track none = {0};
	int largest_pct = 0;

	prepare("gover", given);
	policy_add_absent(&bench.gpu, &half, &none, 50);
	assert_int_equal(policy_hold(&bench.params, &bench.gpu, 0, 60, &bench.out, &largest_pct),
			 -ENOSPC);
	assert_int_equal(largest_pct, 50);
	/* The reserved cap of the missing vGPU itself may grow into what the others can give. */
	assert_int_equal(
		policy_reserve(&bench.params, &bench.gpu, 50, 80, &bench.out, &largest_pct), 0);
	assert_string_equal(bench_text(), "fit: a 50->20");
	assert_int_equal(
		policy_reserve(&bench.params, &bench.gpu, 50, 90, &bench.out, &largest_pct),
		-ENOSPC);
	assert_int_equal(largest_pct, 80);
}

TEST(a_named_vgpu_that_is_missing_has_not_moved)
{
	static const struct given two[] = {
		{"a", 50, .cap = 50}, {"b", 50, .cap = 50}, {.id = NULL}};
	struct policy_track none = {0};

	prepare("qos", two);
	bench.gpu.migrates = true;
	moving_name(&bench.gpu, 1);
	bench.gpu.n_vgpus = 1;
	policy_add_absent(&bench.gpu, &half, &none, 50);
	moving_learn(&bench.gpu);
	assert_int_equal(bench.gpu.moving.answered, 0);
	bench.gpu.absent = (struct policy_absent){.n = 0};
	moving_learn(&bench.gpu);
	assert_int_equal(bench.gpu.moving.answered, 1);
}

TEST(nothing_is_sold_while_a_vgpu_gets_nothing)
{
	static const struct given idle[] = {{"a", 20, .cap = 20, .util = 0.01},
					    {"b", 20, .cap = 20, .util = 0.01},
					    {.id = NULL}};

	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		prepare(policies[i], idle);
		bench.vgpus[0].service = POLICY_UNSERVED;
		assert_false(offers(120));
		bench.vgpus[0].service = POLICY_STALLED;
		bench_step();
		assert_true(bench.vgpus[0].broken);
	}
}

TEST(a_stall_teaches_no_demand)
{
	static const struct given one[] = {{"a", 50, .cap = 50, .util = 0.8}, {.id = NULL}};
	struct policy_track before;

	prepare("qos", one);
	for (int i = 0; i < 30; i++)
		bench_step();
	before = bench.tracks[0];
	bench_read(&bench.vgpus[0], 0, NAN);
	bench.vgpus[0].service = POLICY_STALLED;
	for (int i = 0; i < 30; i++)
		bench_step();
	assert_memory_equal(&before.past, &bench.tracks[0].past, sizeof(before.past));
	assert_memory_equal(before.window_load, bench.tracks[0].window_load,
			    sizeof(before.window_load));
}

/* --- an hour in virtual time --- */

#define TENANTS 8
#define HOUR_S	3600

struct tenant {
	char id[8];
	bool sold, missing;
	struct policy_terms terms;
	struct policy_track track;
	struct service_vgpu service;
	int cap_pct;
	double wants; /* fraction of the GPU */
	int back_s;   /* it returns then */
};

static struct host {
	struct tenant tenants[TENANTS];
	int index[BENCH_MAX]; /* tenant of each vGPU */
	int stall_until_s;
	unsigned long long seed;
	int offers, missing_offers;
} host;

static int pick(int n)
{
	host.seed = host.seed * 6364136223846793005ull + 1442695040888963407ull;
	return (int)((host.seed >> 33) % (unsigned)n);
}

static void sell_to(struct tenant *t, int cap_pct, int number)
{
	snprintf(t->id, sizeof(t->id), "v%d", number);
	t->sold = true;
	t->missing = false;
	t->terms = (struct policy_terms){
		.initial_cap_pct = 20, .weight = 1, .target_fps = number % 3 ? 60 : 0};
	memset(&t->track, 0, sizeof(t->track));
	memset(&t->service, 0, sizeof(t->service));
	t->cap_pct = cap_pct;
}

/* Each tenant changes its demand now and then; some vanish, some contracts end. */
static void live(int now_s)
{
	if (pick(90) == 0)
		host.stall_until_s = now_s + 5 + pick(60);
	for (int i = 0; i < TENANTS; i++) {
		struct tenant *t = &host.tenants[i];

		if (!t->sold)
			continue;
		if (pick(20) == 0)
			t->wants = 0.02 + pick(10) / 100.0;
		if (!t->missing && pick(120) == 0) {
			t->missing = true;
			t->back_s = now_s + 3 + pick(120);
			memset(&t->service, 0, sizeof(t->service));
		} else if (t->missing && now_s >= t->back_s) {
			t->missing = false;
		} else if (pick(600) == 0) {
			t->sold = false;
		}
	}
}

static void read_tenant(struct tenant *t, struct policy_vgpu *v, bool stalled)
{
	double cap = t->cap_pct / 100.0, load = stalled ? 0 : fmin(t->wants, cap);
	bool rated = t->terms.target_fps > 0;

	*v = (struct policy_vgpu){
		.id = t->id,
		.terms = t->terms,
		.track = &t->track,
		.cap_pct = t->cap_pct,
		.sample = {.dt_s = 1,
			   .busy_valid = true,
			   .load = load,
			   .util = load / cap,
			   .fps_valid = rated,
			   .fps = rated && !stalled ? 60 * load / t->wants : 0},
	};
	t->service.sample = v->sample;
	t->service.target = t->terms.target_fps;
}

/* The caller of a policy does this in each period (gover-d/tick/round.c). */
static struct service_gpu view(int now_s)
{
	struct policy_gpu *gpu = &bench.gpu;
	struct service_vgpu *services[BENCH_MAX];
	struct service_gpu service;

	gpu->n_vgpus = 0;
	gpu->absent = (struct policy_absent){.n = 0};
	for (int i = 0; i < TENANTS; i++) {
		struct tenant *t = &host.tenants[i];

		if (t->sold && t->missing)
			policy_add_absent(gpu, &t->terms, &t->track, t->cap_pct);
		if (!t->sold || t->missing)
			continue;
		host.index[gpu->n_vgpus] = i;
		services[gpu->n_vgpus] = &t->service;
		read_tenant(t, &gpu->vgpus[gpu->n_vgpus++], now_s < host.stall_until_s);
	}
	service_step(services, gpu->n_vgpus, 1, &service);
	for (int i = 0; i < gpu->n_vgpus; i++)
		gpu->vgpus[i].service = service_for_policy(&host.tenants[host.index[i]].service);
	gpu->selling = !service_is_missing(&service);
	return service;
}

static void apply(void)
{
	for (int i = 0; i < bench.out.n_moves; i++) {
		const struct policy_move *move = &bench.out.moves[i];

		host.tenants[host.index[move->vgpu]].cap_pct = move->to_pct;
	}
}

static int sum_reserved_pct(bool missing_only)
{
	int sum = 0;

	for (int i = 0; i < TENANTS; i++)
		if (host.tenants[i].sold && (host.tenants[i].missing || !missing_only))
			sum += host.tenants[i].cap_pct;
	return sum;
}

/* What the rule of each policy leaves beside the contracts of missing vGPUs. */
static void check_offer(const char *policy, int now_s, const struct service_gpu *service)
{
	const struct policy_gpu *gpu = &bench.gpu;
	double used_pct = 100 * gpu->total_load + gpu->absent.demand_pct;

	host.offers++;
	host.missing_offers += gpu->absent.n > 0;
	assert_true(now_s >= host.stall_until_s || service->stalled + service->doubtful == 0);
	assert_int_equal(service->stalled, 0);
	if (strcmp(policy, "static") != 0 && strcmp(policy, "none") != 0)
		assert_true(used_pct <= 100);
	if (strcmp(policy, "none") == 0)
		assert_true(gpu->n_vgpus + gpu->absent.n < bench.params.none_vgpus);
	if (strcmp(policy, "gover") == 0 || strcmp(policy, "fair") == 0)
		assert_true(used_pct < bench.params.lowload_pct);
}

static void buy(int number)
{
	struct policy_terms terms = bench.gpu.flavors[0];
	int free_tenant = 0, cap_pct;

	while (free_tenant < TENANTS && host.tenants[free_tenant].sold)
		free_tenant++;
	if (free_tenant == TENANTS)
		return;
	cap_pct = bench.policy->fund(&bench.params, &bench.gpu, &terms, &bench.out);
	if (cap_pct < 0)
		return;
	apply();
	sell_to(&host.tenants[free_tenant], cap_pct, number);
	host.tenants[free_tenant].wants = 0.05;
	/* Present and missing vGPUs together never have more than the GPU. */
	assert_true(sum_reserved_pct(false) <= 100);
}

TEST(an_hour_of_absences_and_stalls_oversells_nothing)
{
	static const struct given nobody[] = {{.id = NULL}};

	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		memset(&host, 0, sizeof(host));
		host.seed = 29 + i;
		prepare(policies[i], nobody);
		bench.gpu.flavors[0] =
			(struct policy_terms){.initial_cap_pct = 20, .target_fps = 60, .weight = 1};
		bench.params.none_vgpus = 5;
		for (int now_s = 0; now_s < HOUR_S; now_s++) {
			struct service_gpu service;
			bool sells = false;

			live(now_s);
			service = view(now_s);
			bench_step();
			for (int k = 0; k < bench.out.n_decisions; k++)
				sells |= bench.out.decisions[k].kind == POLICY_OFFER;
			apply();
			assert_true(sum_reserved_pct(false) <= 100);
			if (!sells)
				continue;
			check_offer(policies[i], now_s, &service);
			(void)view(now_s);
			buy(now_s);
		}
		print_message("# %s: %d offers, %d of them beside missing vGPUs\n", policies[i],
			      host.offers, host.missing_offers);
		assert_true(host.offers > 0);
	}
}
