/* SPDX-License-Identifier: MIT */
/* Who comes and goes. Must never let the policy's doing change what a tenant does: everything drawn
 * hangs on the seed and a number alone. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sim/experiment/internal.h"

#define OWN_TIME (1ULL << 32) /* numbers of those who come at a time of their own begin here */

/* SplitMix64 (Steele, Lea, Flood 2014) of a seed and a number. */
static uint64_t mix(uint64_t seed, uint64_t number)
{
	uint64_t z = seed * 0xd1342543de82ef95u + (number + 1) * 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* --- who there is to come --- */

static int compare_arrivals(const void *left, const void *right)
{
	const struct arrival *a = left, *b = right;

	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return a->tenant - b->tenant;
}

static void fill(struct trial *trial)
{
	const struct scenario *scenario = trial->scenario;

	for (int t = 0; t < scenario->n_tenants; t++) {
		const struct scenario_tenant *tenant = &scenario->tenants[t];

		for (int i = 0; i < tenant->count; i++)
			if (tenant->arrive_s >= 0)
				trial->arrivals[trial->n_arrivals++] = (struct arrival){
					.at_ns = (uint64_t)(tenant->arrive_s * 1e9), .tenant = t};
			else if (scenario->drawn[t])
				trial->bag[trial->n_bag++] = t;
	}
	qsort(trial->arrivals, (size_t)trial->n_arrivals, sizeof(*trial->arrivals),
	      compare_arrivals);
}

/* Fisher and Yates. */
static void shuffle(struct trial *trial)
{
	for (int i = trial->n_bag - 1; i > 0; i--) {
		int k = (int)(mix(~trial->seed, (uint64_t)i) % (uint64_t)(i + 1));
		int tenant = trial->bag[i];

		trial->bag[i] = trial->bag[k];
		trial->bag[k] = tenant;
	}
}

int members_init(struct trial *trial, struct err *reterr)
{
	size_t all = 1;

	for (int t = 0; t < trial->scenario->n_tenants; t++)
		all += (size_t)trial->scenario->tenants[t].count;
	trial->bag = calloc(all, sizeof(*trial->bag));
	trial->arrivals = calloc(all, sizeof(*trial->arrivals));
	if (!trial->bag || !trial->arrivals)
		return err_fail(reterr, ENOMEM, "out of memory");
	fill(trial);
	if (trial->scenario->draw == SCENARIO_SHUFFLE)
		shuffle(trial);
	return 0;
}

void members_fini(struct trial *trial)
{
	for (int i = 0; i < trial->n_members; i++)
		sim_free(trial->members[i].alone);
	free(trial->bag);
	free(trial->arrivals);
}

bool members_waiting(const struct trial *trial)
{
	if (trial->n_members == TRIAL_VGPUS_EVER || trial->n_bag == 0)
		return false;
	return trial->scenario->draw == SCENARIO_INDEPENDENT || trial->n_drawn < trial->n_bag;
}

/* The kind of the @number-th who comes by an offer. */
static int drawn_kind(const struct trial *trial, int number)
{
	if (trial->scenario->draw == SCENARIO_INDEPENDENT)
		number = (int)(mix(~trial->seed, (uint64_t)number) % (uint64_t)trial->n_bag);
	return trial->bag[number];
}

/* --- coming --- */

static int start_alone(struct member *member, const struct workload *workload)
{
	int r = sim_new(&member->alone);

	if (r == 0)
		r = sim_add(member->alone, member->vgpu.id, 0, &member->alone_vgpu);
	if (r == 0)
		sim_set_workload(member->alone, member->alone_vgpu, workload);
	return r;
}

struct workload members_workload(const struct scenario_tenant *tenant, uint64_t seed, uint64_t draw)
{
	struct workload workload = tenant->workload;

	if (!workload.seeded) {
		workload.seeded = true;
		workload.seed = mix(seed, draw);
	}
	return workload;
}

/* @draw decides what its program does. NULL: out of memory or of room. */
static struct member *join(struct trial *trial, const struct scenario_tenant *tenant, uint64_t draw,
			   int cap_pct)
{
	struct member *member = &trial->members[trial->n_members];
	struct workload workload = members_workload(tenant, trial->seed, draw);

	if (trial->n_members == TRIAL_VGPUS_EVER || trial->n_there == POLICY_VGPUS_MAX)
		return NULL;
	*member = (struct member){
		.vgpu = {.tenant = tenant,
			 .terms = scenario_terms(trial->scenario, tenant),
			 .cap_pct = cap_pct,
			 .sampled_cap_pct = cap_pct,
			 .came_s = trial_now_s(trial),
			 .left_s = NAN},
		.leaves_ns = UINT64_MAX,
		.number = trial->n_members,
		.draw = draw,
	};
	snprintf(member->vgpu.id, sizeof(member->vgpu.id), "v%d-%s", trial->n_members + 1,
		 tenant->name);
	if (sim_add(trial->sim, member->vgpu.id, cap_pct, &member->sim) < 0)
		return NULL;
	if (workload.kind == WORKLOAD_FRAMES && !workload.playback.trace &&
	    !(member->vgpu.terms.target_fps > 0) && start_alone(member, &workload) < 0) {
		member->alone = sim_free(member->alone);
		sim_remove(trial->sim, member->sim);
		return NULL;
	}
	sim_set_workload(trial->sim, member->sim, &workload);
	if (tenant->stay_s > 0)
		member->leaves_ns = trial->now_ns + (uint64_t)(tenant->stay_s * 1e9);
	member->vgpu.sample = (struct account_sample){
		.contract_pct = member->vgpu.terms.initial_cap_pct,
		.target_fps = member->vgpu.terms.target_fps,
		.weight = member->vgpu.terms.weight,
		.price_per_cap_hour = scenario_price_per_cap_hour(trial->scenario, tenant),
		.penalty_per_broken_s = scenario_penalty_per_broken_s(trial->scenario, tenant),
	};
	trial->n_members++;
	trial->there[trial->n_there++] = member;
	trial_tell(trial, "sold", member->vgpu.id, "is sold %d %% and begins with %d %%",
		   member->vgpu.terms.initial_cap_pct, cap_pct);
	return member;
}

/* As gover-d's control_vgpu_add() does: a small contract needs no more than itself, and what the
 * policy says is carried out before the newcomer is there. */
static struct member *fund_and_join(struct trial *trial, const struct scenario_tenant *tenant,
				    uint64_t draw)
{
	struct policy_terms terms = scenario_terms(trial->scenario, tenant);
	struct policy_params params = trial->params;
	int cap_pct, free_pct;

	if (params.min_newcomer_pct > terms.initial_cap_pct)
		params.min_newcomer_pct = terms.initial_cap_pct;
	cap_pct = trial_fund(trial, &params, &terms);
	if (cap_pct < 0)
		return NULL;
	trial_apply(trial);
	free_pct = 100 - trial_sum_cap_pct(trial);
	if (free_pct < cap_pct && free_pct > 0)
		cap_pct = free_pct - free_pct % trial->gpu.step_pct;
	return join(trial, tenant, draw, cap_pct);
}

const struct scenario_tenant *members_next(const struct trial *trial)
{
	return &trial->scenario->tenants[drawn_kind(trial, trial->n_drawn)];
}

struct member *members_draw(struct trial *trial)
{
	struct member *member = fund_and_join(trial, members_next(trial), (uint64_t)trial->n_drawn);

	trial->n_drawn += member != NULL;
	return member;
}

/* --- the start --- */

/* All at once: where the contracts do not fit, each is given its part. */
static int start_cap_pct(const struct trial *trial, const struct policy_terms *terms, int sum_pct)
{
	const struct policy_gpu gpu = {.step_pct = trial->scenario->step_pct,
				       .floor_pct = trial->scenario->floor_pct};
	int least_pct = policy_floor_pct(&trial->params, &gpu, terms);
	int cap_pct = terms->initial_cap_pct;

	if (sum_pct > 100)
		cap_pct = cap_pct * 100 / sum_pct;
	cap_pct -= cap_pct % gpu.step_pct;
	return cap_pct < least_pct ? least_pct : cap_pct;
}

int members_start(struct trial *trial, struct err *reterr)
{
	const struct scenario *scenario = trial->scenario;
	const struct scenario_tenant *first[POLICY_VGPUS_MAX];
	uint64_t numbers[POLICY_VGPUS_MAX];
	int n = 0, sum_pct = 0;

	for (; trial->n_arrived < trial->n_arrivals && trial->arrivals[trial->n_arrived].at_ns == 0;
	     trial->n_arrived++) {
		if (n == POLICY_VGPUS_MAX)
			return err_fail(reterr, EINVAL, "at most %d tenants can be there at once",
					POLICY_VGPUS_MAX);
		numbers[n] = OWN_TIME + (uint64_t)trial->n_arrived;
		first[n++] = &scenario->tenants[trial->arrivals[trial->n_arrived].tenant];
	}
	for (int i = 0; i < scenario->start; i++) {
		if (!members_waiting(trial) || n == POLICY_VGPUS_MAX)
			return err_fail(reterr, EINVAL,
					"[arrivals] start = %d: there are not so many tenants to "
					"come",
					scenario->start);
		numbers[n] = (uint64_t)trial->n_drawn;
		first[n++] = &scenario->tenants[drawn_kind(trial, trial->n_drawn)];
		trial->n_drawn++;
	}
	for (int i = 0; i < n; i++)
		sum_pct += scenario_terms(scenario, first[i]).initial_cap_pct;
	for (int i = 0; i < n; i++) {
		struct policy_terms terms = scenario_terms(scenario, first[i]);
		int cap_pct = first[i]->start_cap_pct;

		if (cap_pct == 0)
			cap_pct = start_cap_pct(trial, &terms, sum_pct);
		if (!join(trial, first[i], numbers[i], cap_pct))
			return err_fail(reterr, ENOMEM, "out of memory");
	}
	return 0;
}

/* --- as time passes --- */

/* What a leaver frees goes to those who lack it. */
static void leave(struct trial *trial, int index)
{
	struct member *member = trial->there[index];

	trial->n_there--;
	memmove(&trial->there[index], &trial->there[index + 1],
		(size_t)(trial->n_there - index) * sizeof(trial->there[0]));
	sim_remove(trial->sim, member->sim);
	member->sim = NULL;
	member->alone = sim_free(member->alone);
	member->vgpu.left_s = trial_now_s(trial);
	trial->counts.left++;
	trial_tell(trial, "left", member->vgpu.id, "its cap was %d %%", member->vgpu.cap_pct);
	sale_left(trial, member);
	trial_view(trial);
	trial->policy->give_back(&trial->params, &trial->gpu, &trial->out);
	trial_apply(trial);
}

/* Whose time has come. Who waited goes when it would have gone. */
static bool arrive(struct trial *trial, int index)
{
	const struct arrival *arrival = &trial->arrivals[index];
	const struct scenario_tenant *tenant = &trial->scenario->tenants[arrival->tenant];
	struct member *member = fund_and_join(trial, tenant, OWN_TIME + (uint64_t)index);

	if (member && arrival->waits && tenant->stay_s > 0)
		member->leaves_ns = arrival->at_ns + (uint64_t)(tenant->stay_s * 1e9);
	return member;
}

static bool is_over(const struct trial *trial, const struct arrival *arrival)
{
	double stay_s = trial->scenario->tenants[arrival->tenant].stay_s;

	return stay_s > 0 && arrival->at_ns + (uint64_t)(stay_s * 1e9) <= trial->now_ns;
}

static void try_again(struct trial *trial)
{
	for (int i = 0; i < trial->n_arrived && trial->n_waiting > 0; i++) {
		struct arrival *arrival = &trial->arrivals[i];

		if (!arrival->waits || (!is_over(trial, arrival) && !arrive(trial, i)))
			continue;
		arrival->waits = false;
		trial->n_waiting--;
	}
}

void members_pass(struct trial *trial)
{
	for (int i = trial->n_there; i-- > 0;)
		if (trial->there[i]->leaves_ns <= trial->now_ns)
			leave(trial, i);
	try_again(trial);
	for (; trial->n_arrived < trial->n_arrivals &&
	       trial->arrivals[trial->n_arrived].at_ns <= trial->now_ns;
	     trial->n_arrived++) {
		struct arrival *arrival = &trial->arrivals[trial->n_arrived];
		const struct scenario_tenant *tenant = &trial->scenario->tenants[arrival->tenant];

		if (arrive(trial, trial->n_arrived))
			continue;
		arrival->waits = tenant->waits;
		trial->n_waiting += tenant->waits;
		trial->counts.refused++;
		trial_tell(trial, "refused", "", "tenant %s finds no room", tenant->name);
	}
}
