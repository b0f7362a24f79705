/* SPDX-License-Identifier: MIT */
/*
 * Arrival and departure of tenants. All random choices depend only on the seed and the number of a
 * tenant, so all policies get the same tenants.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "sim/experiment/tenants.h"
#include "sim/model/random.h"

/* number of the first tenant with an arrival time; tenants that take offers have smaller numbers */
#define OWN_TIME (1ULL << 32)

static uint64_t mix(uint64_t seed, uint64_t number)
{
	return random_mix(seed * 0xd1342543de82ef95u + (number + 1) * RANDOM_STEP);
}

/* --- the bag and the arrivals --- */

static int compare_arrivals(const void *left, const void *right)
{
	const struct arrival *a = left, *b = right;

	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return a->kind - b->kind;
}

static void fill(struct experiment *experiment)
{
	const struct scenario *scenario = experiment->scenario;

	for (int t = 0; t < scenario->n_tenants; t++) {
		const struct scenario_tenant *kind = &scenario->tenants[t];

		for (int i = 0; i < kind->count; i++)
			if (kind->arrive_s >= 0)
				experiment->arrivals[experiment->n_arrivals++] = (struct arrival){
					.at_ns = (uint64_t)(kind->arrive_s * 1e9), .kind = t};
			else if (scenario->drawn[t])
				experiment->bag[experiment->n_bag++] = t;
	}
	qsort(experiment->arrivals, (size_t)experiment->n_arrivals, sizeof(*experiment->arrivals),
	      compare_arrivals);
}

/* Shuffles the bag of tenants (Fisher-Yates). */
static void shuffle(struct experiment *experiment)
{
	for (int i = experiment->n_bag - 1; i > 0; i--) {
		int k = (int)(mix(~experiment->seed, (uint64_t)i) % (uint64_t)(i + 1));
		int kind = experiment->bag[i];

		experiment->bag[i] = experiment->bag[k];
		experiment->bag[k] = kind;
	}
}

void tenants_init(struct experiment *experiment)
{
	size_t all = 1;

	for (int t = 0; t < experiment->scenario->n_tenants; t++)
		all += (size_t)experiment->scenario->tenants[t].count;
	experiment->bag = xcalloc(all, sizeof(*experiment->bag));
	experiment->arrivals = xcalloc(all, sizeof(*experiment->arrivals));
	fill(experiment);
	if (experiment->scenario->draw == SCENARIO_SHUFFLE)
		shuffle(experiment);
}

void tenants_fini(struct experiment *experiment)
{
	for (int i = 0; i < experiment->n_tenants; i++)
		sim_free(experiment->tenants[i].alone);
	free(experiment->bag);
	free(experiment->arrivals);
}

/* Returns the kind of the tenant that takes offer number @number, counted from 0. */
static int drawn_kind(const struct experiment *experiment, int number)
{
	if (experiment->scenario->draw == SCENARIO_INDEPENDENT)
		number = (int)(mix(~experiment->seed, (uint64_t)number) %
			       (uint64_t)experiment->n_bag);
	return experiment->bag[number];
}

const struct scenario_tenant *tenants_kind(const struct experiment *experiment, int number)
{
	return &experiment->scenario->tenants[drawn_kind(experiment, number)];
}

/* --- arrival --- */

static void start_alone(struct tenant *tenant, const struct workload *workload)
{
	tenant->alone = sim_new();
	/* The id was valid for the shared GPU. */
	(void)sim_add(tenant->alone, tenant->vgpu.id, 0, &tenant->alone_vgpu);
	sim_set_workload(tenant->alone, tenant->alone_vgpu, workload);
}

struct workload tenants_workload(const struct scenario_tenant *kind, uint64_t seed, uint64_t draw)
{
	struct workload workload = kind->workload;

	if (!workload.seeded) {
		workload.seeded = true;
		workload.seed = mix(seed, draw);
	}
	return workload;
}

/* Lets @workload continue as if it had started with the run. */
static void share_clock(struct workload *workload, uint64_t now_ns)
{
	if (workload->playback.loop)
		workload->playback.phase_ns = now_ns % workload->playback.length_ns;
	else
		workload->phase_s += (double)now_ns / 1e9;
}

/* Adds a tenant with the cap @cap_pct. Returns NULL if there are too many tenants. */
static struct tenant *join(struct experiment *experiment, const struct scenario_tenant *kind,
			   uint64_t draw, int cap_pct)
{
	struct tenant *tenant = &experiment->tenants[experiment->n_tenants];
	struct workload workload = tenants_workload(kind, experiment->seed, draw);

	if (experiment->n_tenants == EXPERIMENT_VGPUS_MAX ||
	    experiment->n_present == POLICY_VGPUS_MAX)
		return NULL;
	if (kind->shared_clock)
		share_clock(&workload, experiment->now_ns);
	*tenant = (struct tenant){
		.vgpu = {.kind = kind,
			 .terms = scenario_terms(experiment->scenario, kind),
			 .cap_pct = cap_pct,
			 .sampled_cap_pct = cap_pct,
			 .came_s = experiment_now_s(experiment),
			 .left_s = NAN},
		.leaves_ns = UINT64_MAX,
		.number = experiment->n_tenants,
		.draw = draw,
	};
	snprintf(tenant->vgpu.id, sizeof(tenant->vgpu.id), "v%d-%s", experiment->n_tenants + 1,
		 kind->name);
	if (sim_add(experiment->sim, tenant->vgpu.id, cap_pct, &tenant->sim) < 0)
		return NULL;
	(void)sim_set_ceiling(tenant->sim, policy_terms_ceiling_pct(&tenant->vgpu.terms));
	if (workload.kind == WORKLOAD_FRAMES && !workload.playback.trace &&
	    !(tenant->vgpu.terms.target_fps > 0))
		start_alone(tenant, &workload);
	sim_set_workload(experiment->sim, tenant->sim, &workload);
	if (kind->stay_s > 0)
		tenant->leaves_ns = experiment->now_ns + (uint64_t)(kind->stay_s * 1e9);
	tenant->vgpu.sample = (struct account_sample){
		.contract_pct = tenant->vgpu.terms.initial_cap_pct,
		.ceiling_pct = experiment->scenario->sharing == POLICY_SHARING_GUARANTEE
				       ? policy_terms_ceiling_pct(&tenant->vgpu.terms)
				       : 0,
		.target_fps = tenant->vgpu.terms.target_fps,
		.weight = tenant->vgpu.terms.weight,
		.price_per_cap_hour = scenario_price_per_cap_hour(experiment->scenario, kind),
		.penalty_per_broken_s = scenario_penalty_per_broken_s(experiment->scenario, kind),
	};
	experiment->n_tenants++;
	experiment->present[experiment->n_present++] = tenant;
	experiment_emit(experiment, "sold", tenant->vgpu.id, "contract %d %%, initial cap %d %%",
			tenant->vgpu.terms.initial_cap_pct, cap_pct);
	return tenant;
}

/*
 * Funds and adds a newcomer like control_vgpu_add() of gover-d. The newcomer needs a cap of
 * min_newcomer_pct or, if the contract is smaller, of the contract. The decisions of the policy are
 * applied before the newcomer is added.
 */
static struct tenant *fund_and_join(struct experiment *experiment,
				    const struct scenario_tenant *kind, uint64_t draw)
{
	struct policy_terms terms = scenario_terms(experiment->scenario, kind);
	struct policy_params params = experiment->params;
	int cap_pct, free_pct;

	if (params.min_newcomer_pct > terms.initial_cap_pct)
		params.min_newcomer_pct = terms.initial_cap_pct;
	cap_pct = experiment_fund(experiment, &params, &terms);
	if (cap_pct < 0)
		return NULL;
	experiment_apply(experiment);
	free_pct = 100 - experiment_sum_cap_pct(experiment);
	if (free_pct < cap_pct && free_pct > 0)
		cap_pct = free_pct - free_pct % experiment->gpu.step_pct;
	return join(experiment, kind, draw, cap_pct);
}

const struct scenario_tenant *tenants_next(const struct experiment *experiment)
{
	return tenants_kind(experiment, experiment->n_drawn);
}

struct tenant *tenants_admit_next(struct experiment *experiment)
{
	struct tenant *tenant =
		fund_and_join(experiment, tenants_next(experiment), (uint64_t)experiment->n_drawn);

	experiment->n_drawn += tenant != NULL;
	return tenant;
}

/* --- the start --- */

/*
 * Returns the first cap of a tenant: the contract or, if the sum @sum_pct of all contracts exceeds
 * the GPU, a part of the GPU in proportion to the contract.
 */
static int start_cap_pct(const struct experiment *experiment, const struct policy_terms *terms,
			 int sum_pct)
{
	const struct policy_gpu gpu = {.step_pct = experiment->scenario->step_pct,
				       .floor_pct = experiment->scenario->floor_pct};
	int least_pct = policy_floor_pct(&experiment->params, &gpu, terms);
	int cap_pct = terms->initial_cap_pct;

	if (sum_pct > 100)
		cap_pct = cap_pct * 100 / sum_pct;
	cap_pct -= cap_pct % gpu.step_pct;
	return cap_pct < least_pct ? least_pct : cap_pct;
}

int tenants_start(struct experiment *experiment, struct err *reterr)
{
	const struct scenario *scenario = experiment->scenario;
	const struct scenario_tenant *first[POLICY_VGPUS_MAX];
	uint64_t numbers[POLICY_VGPUS_MAX];
	int n = 0, sum_pct = 0;

	for (; experiment->n_arrived < experiment->n_arrivals &&
	       experiment->arrivals[experiment->n_arrived].at_ns == 0;
	     experiment->n_arrived++) {
		if (n == POLICY_VGPUS_MAX)
			return err_fail(reterr, EINVAL, "too many tenants at the start (limit %d)",
					POLICY_VGPUS_MAX);
		numbers[n] = OWN_TIME + (uint64_t)experiment->n_arrived;
		first[n++] = &scenario->tenants[experiment->arrivals[experiment->n_arrived].kind];
	}
	for (int i = 0; i < scenario->start; i++) {
		if (!experiment_has_tenants(experiment) || n == POLICY_VGPUS_MAX)
			return err_fail(reterr, EINVAL, "[arrivals] start = %d: not enough tenants",
					scenario->start);
		numbers[n] = (uint64_t)experiment->n_drawn;
		first[n++] = tenants_next(experiment);
		experiment->n_drawn++;
	}
	for (int i = 0; i < n; i++)
		sum_pct += scenario_terms(scenario, first[i]).initial_cap_pct;
	for (int i = 0; i < n; i++) {
		struct policy_terms terms = scenario_terms(scenario, first[i]);
		int cap_pct = first[i]->start_cap_pct;

		if (cap_pct == 0)
			cap_pct = start_cap_pct(experiment, &terms, sum_pct);
		if (!join(experiment, first[i], numbers[i], cap_pct))
			return err_fail(reterr, EINVAL, "too many tenants (limit %d)",
					EXPERIMENT_VGPUS_MAX);
	}
	return 0;
}

/* --- arrival and departure times --- */

void tenants_move(struct experiment *experiment, struct tenant *tenant)
{
	const struct scenario *scenario = experiment->scenario;
	uint64_t at_ns = experiment->now_ns + (uint64_t)scenario->migrate_s * NS_PER_S;

	if (!scenario->migrate || tenant->leaves_ns <= at_ns ||
	    experiment->n_taken >= scenario->migrate_capacity)
		return;
	tenant->leaves_ns = at_ns;
	tenant->moves = true;
	experiment->n_taken++;
}

static void account_departure(struct experiment *experiment, struct tenant *tenant)
{
	experiment->counts.left++;
	tenant->vgpu.left_s = experiment_now_s(experiment);
	tenant->vgpu.moved = tenant->moves;
	if (tenant->moves)
		account_move(&experiment->account, experiment->scenario->migrate_blackout_s,
			     tenant->vgpu.sample.penalty_per_broken_s,
			     experiment->scenario->params.price_per_move,
			     &experiment->accounts[tenant->number]);
	experiment_emit(experiment, "left", tenant->vgpu.id,
			"the tenant %s, its last cap was %d %%",
			tenant->moves ? "moved to another host" : "left", tenant->vgpu.cap_pct);
}

/* Removes a tenant. The policy distributes the freed capacity among the other tenants. */
static void leave(struct experiment *experiment, int index)
{
	struct tenant *tenant = experiment->present[index];

	experiment->n_present--;
	memmove(&experiment->present[index], &experiment->present[index + 1],
		(size_t)(experiment->n_present - index) * sizeof(experiment->present[0]));
	sim_remove(experiment->sim, tenant->sim);
	tenant->sim = NULL;
	tenant->alone = sim_free(tenant->alone);
	account_departure(experiment, tenant);
	if (experiment->sale.newcomer == tenant)
		(void)offer_remove_newcomer(&experiment->sale.life);
	experiment_build_view(experiment);
	experiment->policy->give_back(&experiment->params, &experiment->gpu, &experiment->out);
	experiment_apply(experiment);
}

/*
 * Adds the tenant of arrival number @index. Returns false if the GPU has not enough capacity.
 * A tenant that waited for capacity leaves at the same time as without waiting.
 */
static bool arrive(struct experiment *experiment, int index)
{
	const struct arrival *arrival = &experiment->arrivals[index];
	const struct scenario_tenant *kind = &experiment->scenario->tenants[arrival->kind];
	struct tenant *tenant = fund_and_join(experiment, kind, OWN_TIME + (uint64_t)index);

	if (tenant && arrival->waits && kind->stay_s > 0)
		tenant->leaves_ns = arrival->at_ns + (uint64_t)(kind->stay_s * 1e9);
	return tenant;
}

static bool is_over(const struct experiment *experiment, const struct arrival *arrival)
{
	double stay_s = experiment->scenario->tenants[arrival->kind].stay_s;

	return stay_s > 0 && arrival->at_ns + (uint64_t)(stay_s * 1e9) <= experiment->now_ns;
}

static void retry_waiting(struct experiment *experiment)
{
	for (int i = 0; i < experiment->n_arrived && experiment->n_waiting > 0; i++) {
		struct arrival *arrival = &experiment->arrivals[i];

		if (!arrival->waits || (!is_over(experiment, arrival) && !arrive(experiment, i)))
			continue;
		arrival->waits = false;
		experiment->n_waiting--;
	}
}

void tenants_update(struct experiment *experiment)
{
	for (int i = experiment->n_present; i-- > 0;)
		if (experiment->present[i]->leaves_ns <= experiment->now_ns)
			leave(experiment, i);
	retry_waiting(experiment);
	for (; experiment->n_arrived < experiment->n_arrivals &&
	       experiment->arrivals[experiment->n_arrived].at_ns <= experiment->now_ns;
	     experiment->n_arrived++) {
		struct arrival *arrival = &experiment->arrivals[experiment->n_arrived];
		const struct scenario_tenant *kind = &experiment->scenario->tenants[arrival->kind];

		if (arrive(experiment, experiment->n_arrived))
			continue;
		arrival->waits = kind->waits;
		experiment->n_waiting += kind->waits;
		experiment->counts.refused++;
		experiment_emit(experiment, "refused", "", "tenant %s: not enough capacity",
				kind->name);
	}
}
