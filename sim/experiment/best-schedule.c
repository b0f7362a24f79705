/* SPDX-License-Identifier: MIT */
/*
 * The best schedule found. A schedule is a list of times, one for each offer. To evaluate a
 * schedule, an experiment runs with it. The run ends early when its broken time is sure to exceed
 * the limit. The profile of a tenant is measured when it is first needed.
 */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/xalloc.h"
#include "sim/experiment/best-schedule.h"
#include "sim/experiment/experiment-state.h"
#include "sim/experiment/search.h"

#define STRIDES 150 /* the search divides a run into this number of time steps */

struct best_schedule {
	const struct scenario *scenario;
	enum best_schedule_kind kind;
	const struct policy *policy;
	uint64_t seed;
	struct profiles *profiles;
	struct search_schedule best;
	struct search_schedule *schedule; /* schedule that is being evaluated */
	bool start_keeps_limit;
	/* hook of the caller of best_schedule_experiment() */
	void (*on_event)(void *userdata, const struct experiment_event *event);
	void *userdata;
};

/* --- admission --- */

static bool admit(void *userdata, const struct experiment *experiment, bool offers)
{
	const struct best_schedule *found = userdata;
	/* number of the next sale; does not count offers that closed without a sale */
	int next = experiment->counts.sales;

	(void)offers;
	return next < found->schedule->n &&
	       experiment_now_s(experiment) >= found->schedule->from_s[next];
}

static void forward_event(void *userdata, const struct experiment_event *event)
{
	struct best_schedule *found = userdata;

	if (found->on_event)
		found->on_event(found->userdata, event);
}

/* --- caps from known demand --- */

/* The demand of one vGPU and the cap allocated to it, in steps of step_pct. */
struct claim {
	int index; /* index in policy_gpu.vgpus; -1: the newcomer */
	int least; /* smallest allowed cap */
	int now;   /* demand of this period */
	int next;  /* demand of the next period */
	int most;  /* highest allowed cap */
	int given; /* allocated cap */
};

static int steps_up(double pct, int step_pct)
{
	return (int)ceil(pct / step_pct - 1e-6);
}

static struct claim claim_of(struct best_schedule *found, const struct policy_params *params,
			     const struct policy_gpu *gpu, const struct policy_terms *terms,
			     const struct scenario_tenant *kind, uint64_t draw, uint64_t period)
{
	struct claim c = {
		.least = policy_floor_pct(params, gpu, terms) / gpu->step_pct,
		.now = steps_up(profiles_need_pct(found->profiles, kind, draw, period),
				gpu->step_pct),
		.next = steps_up(profiles_need_pct(found->profiles, kind, draw, period + 1),
				 gpu->step_pct),
		.most = policy_ceiling_pct(gpu, terms) / gpu->step_pct,
	};

	c.now = c.now < c.least ? c.least : c.now > c.most ? c.most : c.now;
	c.next = c.next < c.now ? c.now : c.next > c.most ? c.most : c.next;
	c.given = c.least;
	return c;
}

static int compare_claims(const void *left, const void *right)
{
	const struct claim *a = left, *b = right;

	return a->now != b->now ? a->now - b->now : a->index - b->index;
}

/*
 * Raises the cap of each claim to a wanted value, as far as free steps remain. @wants: offset in
 * struct claim of the wanted value (now, next or most). @last_first: starts with the last claim.
 * @steps: free steps of the GPU. Returns the steps that are still free.
 */
static int raise_caps(struct claim *claims, int n, bool last_first, size_t wants, int steps)
{
	for (int i = 0; i < n && steps > 0; i++) {
		struct claim *c = &claims[last_first ? n - 1 - i : i];
		int more = *(const int *)((const char *)c + wants) - c->given;

		if (more > steps)
			more = steps;
		if (more <= 0)
			continue;
		c->given += more;
		steps -= more;
	}
	return steps;
}

/*
 * Allocates caps in three rounds. Round 1 serves the demand of this period, small demands first, so
 * that most vGPUs are served completely. Round 2 serves the demand of the next period, because
 * these caps stay in force in the first scheduler slot (100 ms) of that period. Round 3 raises caps
 * to their maximum, large demands first, because these vGPUs have the most queued work.
 */
static void allocate(struct claim *claims, int n, int steps)
{
	qsort(claims, (size_t)n, sizeof(*claims), compare_claims);
	for (int i = 0; i < n; i++)
		steps -= claims[i].given;
	steps = raise_caps(claims, n, false, offsetof(struct claim, now), steps);
	steps = raise_caps(claims, n, false, offsetof(struct claim, next), steps);
	(void)raise_caps(claims, n, true, offsetof(struct claim, most), steps);
}

/* Adds the cap changes that lead from the current to the allocated caps, decreases first. */
static void plan(struct policy_gpu *gpu, const struct claim *claims, int n, enum policy_kind kind,
		 struct policy_out *out)
{
	out->n_decisions = out->n_moves = 0;
	for (int sign = -1; sign <= 1; sign += 2)
		for (int i = 0; i < n; i++) {
			int vgpu = claims[i].index;
			int to_pct = claims[i].given * gpu->step_pct;
			int from_pct = vgpu < 0 ? to_pct : gpu->vgpus[vgpu].cap_pct;

			if ((to_pct - from_pct) * sign <= 0)
				continue;
			gpu->vgpus[vgpu].want_cap_pct = to_pct;
			out->moves[out->n_moves++] = (struct policy_move){
				.vgpu = vgpu, .from_pct = from_pct, .to_pct = to_pct};
		}
	if (out->n_moves == 0)
		return;
	out->n_decisions = 1;
	out->decisions[0] = (struct policy_decision){
		.kind = kind, .vgpu = -1, .donor = -1, .n_moves = out->n_moves};
	strcpy(out->decisions[0].why, "Caps from the known demand of the next period");
}

static int claim_all(struct best_schedule *found, const struct experiment *experiment,
		     const struct policy_params *params, const struct policy_gpu *gpu,
		     struct claim *claims)
{
	for (int i = 0; i < gpu->n_vgpus; i++) {
		const struct tenant *tenant = experiment->present[i];
		uint64_t from_ns = tenant->vgpu.kind->shared_clock
					   ? 0
					   : (uint64_t)llround(tenant->vgpu.came_s * 1e9);

		claims[i] = claim_of(found, params, gpu, &tenant->vgpu.terms, tenant->vgpu.kind,
				     tenant->draw,
				     (experiment->now_ns - from_ns) / experiment->period_ns);
		claims[i].index = i;
	}
	return gpu->n_vgpus;
}

static void future_step(void *userdata, const struct experiment *experiment,
			const struct policy_params *params, struct policy_gpu *gpu,
			struct policy_out *out)
{
	struct claim claims[POLICY_VGPUS_MAX];
	int n = claim_all(userdata, experiment, params, gpu, claims);

	gpu->conditions = 0;
	for (int i = 0; i < n; i++) {
		const struct account_sample *s = &experiment->present[i]->vgpu.sample;

		gpu->vgpus[i].broken = s->broken;
		gpu->vgpus[i].conditions = 0;
	}
	allocate(claims, n, 100 / gpu->step_pct);
	plan(gpu, claims, n, POLICY_SHARE, out);
}

static int future_fund(void *userdata, const struct experiment *experiment,
		       const struct policy_params *params, struct policy_gpu *gpu,
		       const struct policy_terms *terms, struct policy_out *out)
{
	struct claim claims[POLICY_VGPUS_MAX + 1];
	int n = claim_all(userdata, experiment, params, gpu, claims), least = 0;
	const struct scenario_tenant *next = tenants_next(experiment);

	/* the next tenant, even if it has not claimed the offer yet */
	claims[n] = claim_of(userdata, params, gpu, terms, next, (uint64_t)experiment->n_drawn,
			     next->shared_clock ? experiment->now_ns / experiment->period_ns : 0);
	claims[n++].index = -1;
	for (int i = 0; i < n; i++)
		least += claims[i].least;
	out->n_decisions = out->n_moves = 0;
	if (least > 100 / gpu->step_pct)
		return -ENOSPC;
	allocate(claims, n, 100 / gpu->step_pct);
	plan(gpu, claims, n, POLICY_FUND, out);
	for (int i = 0; i < n; i++)
		if (claims[i].index < 0)
			return claims[i].given * gpu->step_pct;
	return -ENOSPC;
}

/*
 * The schedule, not the policy, decides on admission. If the policy refuses to fund the newcomer,
 * the newcomer gets the capacity that the other vGPUs do not use.
 */
static int policy_or_spare_fund(void *userdata, const struct experiment *experiment,
				const struct policy_params *params, struct policy_gpu *gpu,
				const struct policy_terms *terms, struct policy_out *out)
{
	const struct best_schedule *found = userdata;
	struct policy_params least = *params;
	int r = found->policy->fund(params, gpu, terms, out);

	(void)experiment;
	if (r != -ENOSPC)
		return r;
	least.min_newcomer_pct = policy_floor_pct(params, gpu, terms);
	return policy_fund(&least, gpu, terms, out);
}

static const struct policy by_future = {
	.name = "best-found", .fund = policy_fund, .give_back = policy_return};

/* --- the search --- */

int best_schedule_experiment(struct best_schedule *found,
			     void (*on_event)(void *userdata, const struct experiment_event *event),
			     void *userdata, struct experiment **ret_experiment, struct err *reterr)
{
	struct experiment_hooks hooks = {.userdata = found,
					 .admit = admit,
					 .fund = policy_or_spare_fund,
					 .on_event = on_event ? forward_event : NULL};

	found->on_event = on_event;
	found->userdata = userdata;
	if (found->kind == BEST_SCHEDULE_BY_FUTURE) {
		hooks.step = future_step;
		hooks.fund = future_fund;
	}
	return experiment_new(found->scenario, found->policy, found->seed, &hooks, ret_experiment,
			      reterr);
}

/* Returns true if the run can no longer stay within the limits. */
static bool is_lost(const struct best_schedule *found, const struct experiment *experiment)
{
	double left_s = (double)(experiment->end_ns - experiment->now_ns) / 1e9;
	int most = experiment->n_present + found->schedule->n - experiment->counts.sales +
		   experiment->n_arrivals - experiment->n_arrived;

	/* Without migration, a failed sale prevents all later sales. */
	if (experiment->counts.failed > 0 && !found->scenario->migrate)
		return true;
	return experiment->account.all.broken_s >
	       BEST_SCHEDULE_BROKEN_PCT / 100 * (experiment->account.all.seen_s + left_s * most);
}

static void note_sales(struct search_schedule *schedule, const struct experiment *experiment)
{
	while (schedule->n_came < experiment->counts.sales &&
	       schedule->n_came < EXPERIMENT_VGPUS_MAX)
		schedule->came_s[schedule->n_came++] = experiment_now_s(experiment);
}

/* Returns 1 if a run with @schedule stays within the limits, 0 if not. */
static int evaluate(void *userdata, struct search_schedule *schedule, struct err *reterr)
{
	struct best_schedule *found = userdata;
	struct experiment_summary sum;
	struct experiment *experiment;
	bool lost = false;
	int r;

	found->schedule = schedule;
	r = best_schedule_experiment(found, NULL, NULL, &experiment, reterr);
	if (r < 0)
		return r;
	schedule->n_came = 0;
	while (!lost && experiment_step(experiment)) {
		note_sales(schedule, experiment);
		lost = is_lost(found, experiment);
	}
	note_sales(schedule, experiment);
	experiment_summarize(experiment, &sum);
	lost |= is_lost(found, experiment) || sum.account.broken_pct > BEST_SCHEDULE_BROKEN_PCT;
	schedule->sold_pct_s = sum.account.sold_cap_pct_s;
	if (schedule->n == 0)
		found->start_keeps_limit = !lost;
	experiment_free(experiment);
	return !lost;
}

/* Replaces the best schedule by the sales of @policy, if these sell more within the limit. */
static int consider(struct best_schedule *found, const struct policy *policy, struct err *reterr)
{
	CLEANUP_FREE struct search_schedule *schedule = xcalloc(1, sizeof(*schedule));
	struct experiment_summary sum;
	struct experiment *experiment;
	int r;

	r = experiment_new(found->scenario, policy, found->seed, NULL, &experiment, reterr);
	if (r < 0)
		return r;
	while (experiment_step(experiment))
		note_sales(schedule, experiment);
	experiment_summarize(experiment, &sum);
	experiment_free(experiment);
	schedule->sold_pct_s = sum.account.sold_cap_pct_s;
	if (sum.account.broken_pct > BEST_SCHEDULE_BROKEN_PCT ||
	    schedule->sold_pct_s <= found->best.sold_pct_s)
		return 0;
	schedule->n = schedule->n_came;
	for (int i = 0; i < schedule->n; i++)
		schedule->from_s[i] = fmax(0, schedule->came_s[i] - found->scenario->customer_s);
	found->best = *schedule;
	return 0;
}

/* The first schedule of the search contains the sales of a policy. */
static int init_schedule(struct best_schedule *found, struct err *reterr)
{
	const struct policy *firsts[] = {found->policy, policy_find("gover"), policy_find("qos")};
	int r = 0;

	for (size_t i = found->kind == BEST_SCHEDULE_BY_FUTURE; r == 0 && i < ARRAY_SIZE(firsts);
	     i++)
		r = consider(found, firsts[i], reterr);
	return r;
}

static int find_schedule(struct best_schedule *found, struct err *reterr)
{
	const struct scenario *scenario = found->scenario;
	const struct search_terms terms = {
		/* the last probation must end within the run */
		.last_s = scenario->seconds - scenario->probation_s,
		.stride_s = fmax(scenario->period_ms / 1000.0,
				 round((double)scenario->seconds / STRIDES)),
		.seed = found->seed,
		.userdata = found,
		.evaluate = evaluate,
	};
	int r = init_schedule(found, reterr);

	if (r == 0)
		r = search_best(&terms, &found->best, reterr);
	found->schedule = &found->best;
	return r;
}

int best_schedule_new(const struct scenario *scenario, enum best_schedule_kind kind,
		      const struct policy *policy, uint64_t seed, struct best_schedule **ret_found,
		      struct err *reterr)
{
	struct best_schedule *found = xcalloc(1, sizeof(*found));
	int r;

	found->scenario = scenario;
	found->kind = kind;
	found->policy = kind == BEST_SCHEDULE_BY_FUTURE ? &by_future : policy;
	found->seed = seed;
	found->profiles = profiles_new(scenario, seed);
	r = find_schedule(found, reterr);
	if (r < 0) {
		best_schedule_free(found);
		return r;
	}
	*ret_found = found;
	return 0;
}

bool best_schedule_start_keeps_limit(const struct best_schedule *found)
{
	return found->start_keeps_limit;
}

struct best_schedule *best_schedule_free(struct best_schedule *found)
{
	if (found)
		profiles_free(found->profiles);
	free(found);
	return NULL;
}

/* --- the demand profiles --- */

/* The demand of one tenant for each period after its arrival. */
struct profile {
	uint64_t draw;
	float *need_pct; /* percent of the GPU per period */
};

struct profiles {
	const struct scenario *scenario;
	uint64_t seed;
	uint64_t periods; /* number of periods of the scenario */
	struct profile entries[EXPERIMENT_VGPUS_MAX];
	int n;
};

struct profiles *profiles_new(const struct scenario *scenario, uint64_t seed)
{
	struct profiles *profiles = xcalloc(1, sizeof(*profiles));

	profiles->scenario = scenario;
	profiles->seed = seed;
	profiles->periods = (uint64_t)scenario->seconds * 1000 / (uint64_t)scenario->period_ms + 2;
	return profiles;
}

struct profiles *profiles_free(struct profiles *profiles)
{
	if (!profiles)
		return NULL;
	for (int i = 0; i < profiles->n; i++)
		free(profiles->entries[i].need_pct);
	free(profiles);
	return NULL;
}

/* Returns the percentage of the GPU that a tenant needed between two readings of its counters. */
static double need_of(const struct policy_terms *terms, const struct sim_counters *from,
		      const struct sim_counters *to, double wanted_s, double dt_s)
{
	double frames = (double)(to->frames - from->frames);
	double frame_s = frames > 0 ? (double)(to->busy_ns - from->busy_ns) / 1e9 / frames : 0;
	double need = wanted_s / dt_s;

	if (to->makes_frames && terms->target_fps > 0 && terms->target_fps * frame_s < need)
		need = terms->target_fps * frame_s;
	return fmin(100 * need, terms->initial_cap_pct);
}

static void play(const struct profiles *profiles, const struct policy_terms *terms, struct sim *sim,
		 struct sim_vgpu *vgpu, float *need_pct)
{
	uint64_t period_ns = (uint64_t)profiles->scenario->period_ms * NS_PER_MS;
	double dt_s = (double)period_ns / 1e9;
	struct sim_counters last = {.busy_ns = 0};
	uint64_t last_wanted_ns = 0;

	for (uint64_t i = 0; i < profiles->periods; i++) {
		struct sim_counters now;
		uint64_t wanted_ns;

		sim_advance(sim, (i + 1) * period_ns);
		sim_read(sim, vgpu, &now);
		wanted_ns = sim_vgpu_demand_ns(sim, vgpu);
		need_pct[i] = (float)need_of(terms, &last, &now,
					     (double)(wanted_ns - last_wanted_ns) / 1e9, dt_s);
		last = now;
		last_wanted_ns = wanted_ns;
	}
}

static float *measure(const struct profiles *profiles, const struct scenario_tenant *kind,
		      uint64_t draw)
{
	struct policy_terms terms = scenario_terms(profiles->scenario, kind);
	struct workload workload = tenants_workload(kind, profiles->seed, draw);
	float *need_pct = xcalloc(profiles->periods, sizeof(*need_pct));
	struct sim *sim = sim_new();
	struct sim_vgpu *vgpu;

	(void)sim_add(sim, "alone", 0, &vgpu);
	sim_set_workload(sim, vgpu, &workload);
	play(profiles, &terms, sim, vgpu, need_pct);
	sim_free(sim);
	return need_pct;
}

double profiles_need_pct(struct profiles *profiles, const struct scenario_tenant *kind,
			 uint64_t draw, uint64_t period)
{
	struct profile *profile = profiles->entries;
	const struct profile *end = profile + profiles->n;

	while (profile < end && profile->draw != draw)
		profile++;
	if (profile == end && profiles->n < EXPERIMENT_VGPUS_MAX) {
		*profile =
			(struct profile){.draw = draw, .need_pct = measure(profiles, kind, draw)};
		profiles->n++;
		end++;
	}
	if (profile == end || period >= profiles->periods)
		return scenario_terms(profiles->scenario, kind).initial_cap_pct;
	return (double)profile->need_pct[period];
}
