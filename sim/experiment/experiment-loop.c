/* SPDX-License-Identifier: MIT */
/*
 * Runs an experiment: tenants arrive and leave, the policy reads the GPU and decides, its decisions
 * are applied, and offers are sold and judged.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "kernel/sched/sched.h"
#include "sim/experiment/experiment-state.h"
#include "sim/experiment/experiment.h"
#include "sim/model/random.h"

double experiment_now_s(const struct experiment *experiment)
{
	return (double)experiment->now_ns / 1e9;
}

/* Returns whether another tenant can take an offer. */
static bool has_tenants(const struct experiment *experiment)
{
	if (experiment->n_tenants == EXPERIMENT_VGPUS_MAX || experiment->n_bag == 0)
		return false;
	return experiment->scenario->draw == SCENARIO_INDEPENDENT ||
	       experiment->n_drawn < experiment->n_bag;
}

/* Copies the current state into experiment->gpu, the input of the policy. */
static void build_view(struct experiment *experiment)
{
	const struct scenario *scenario = experiment->scenario;

	for (int i = 0; i < experiment->n_present; i++) {
		struct tenant *tenant = experiment->present[i];

		experiment->views[i] = (struct policy_vgpu){
			.id = tenant->vgpu.id,
			.terms = tenant->vgpu.terms,
			.newcomer = experiment->sale.life.state == OFFER_PROBATION &&
				    experiment->sale.newcomer == tenant,
			.track = &tenant->track,
			.cap_pct = tenant->vgpu.cap_pct,
			.sample = tenant->sample,
			.want_cap_pct = tenant->vgpu.cap_pct,
		};
	}
	experiment->gpu.name = "gpu0";
	experiment->gpu.step_pct = scenario->step_pct;
	experiment->gpu.floor_pct = scenario->floor_pct;
	experiment->gpu.sharing = scenario->sharing;
	experiment->gpu.period_s = (double)experiment->period_ns / 1e9;
	experiment->gpu.migrates = scenario->migrate;
	experiment->gpu.selling =
		experiment->n_present < scenario->max_vgpus && has_tenants(experiment);
	experiment->gpu.offered = offer_is_live(&experiment->sale.life);
	experiment->gpu.n_flavors = 1;
	experiment->gpu.flavors[0] = (struct policy_terms){
		.initial_cap_pct = scenario->flavor_cap_pct,
		.target_fps = scenario->flavor_target_fps,
		.weight = 1,
	};
	experiment->gpu.vgpus = experiment->views;
	experiment->gpu.n_vgpus = experiment->n_present;
}

static int sum_cap_pct(const struct experiment *experiment)
{
	int sum_pct = 0;

	for (int i = 0; i < experiment->n_present; i++)
		sum_pct += experiment->present[i]->vgpu.cap_pct;
	return sum_pct;
}

static void emit_decision(struct experiment *experiment, const struct policy_decision *pd)
{
	struct experiment_event event = {
		.t_s = experiment_now_s(experiment),
		.kind = policy_kind_name(pd->kind),
		.vgpu = pd->vgpu >= 0 ? experiment->views[pd->vgpu].id : "",
		.donor = pd->donor >= 0 ? experiment->views[pd->donor].id : "",
		.why = pd->why,
		.decision = pd,
		.out = &experiment->out,
		.gpu = &experiment->gpu,
	};

	if (experiment->hooks.on_event)
		experiment->hooks.on_event(experiment->hooks.userdata, &event);
}

__attribute__((format(printf, 4, 5))) static void emit(struct experiment *experiment,
						       const char *kind, const char *vgpu,
						       const char *format, ...)
{
	char why[POLICY_WHY_MAX];
	struct experiment_event event = {.t_s = experiment_now_s(experiment),
					 .kind = kind,
					 .vgpu = vgpu,
					 .donor = "",
					 .why = why};
	va_list ap;

	if (!experiment->hooks.on_event)
		return;
	va_start(ap, format);
	vsnprintf(why, sizeof(why), format, ap);
	va_end(ap);
	experiment->hooks.on_event(experiment->hooks.userdata, &event);
}

/* Each decision lists decreases first, so the sum of caps never exceeds the GPU. */
static void apply(struct experiment *experiment)
{
	for (int i = 0; i < experiment->out.n_decisions; i++) {
		const struct policy_decision *pd = &experiment->out.decisions[i];

		for (int k = 0; k < pd->n_moves; k++) {
			const struct policy_move *move = &experiment->out.moves[pd->first_move + k];
			struct tenant *tenant = experiment->present[move->vgpu];

			tenant->vgpu.cap_pct += move->to_pct - move->from_pct;
			(void)sim_set_cap(experiment->sim, tenant->sim, tenant->vgpu.cap_pct);
			experiment->counts.cap_moves++;
		}
		emit_decision(experiment, pd);
	}
}

/* Asks the fund hook, or the policy, for the cap of a newcomer with @terms. -ENOSPC. */
static int fund(struct experiment *experiment, const struct policy_params *params,
		const struct policy_terms *terms)
{
	const struct experiment_hooks *hooks = &experiment->hooks;

	if (experiment->n_present == POLICY_VGPUS_MAX ||
	    experiment->n_tenants == EXPERIMENT_VGPUS_MAX)
		return -ENOSPC;
	build_view(experiment);
	if (hooks->fund)
		return hooks->fund(hooks->userdata, experiment, params, &experiment->gpu, terms,
				   &experiment->out);
	return experiment->policy->fund(params, &experiment->gpu, terms, &experiment->out);
}

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

/* Fills the bag of tenants that take offers, and the list of tenants with an arrival time. */
static void init_tenants(struct experiment *experiment)
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

const struct scenario_tenant *tenants_kind(const struct experiment *experiment, int number)
{
	if (experiment->scenario->draw == SCENARIO_INDEPENDENT)
		number = (int)(mix(~experiment->seed, (uint64_t)number) %
			       (uint64_t)experiment->n_bag);
	return &experiment->scenario->tenants[experiment->bag[number]];
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
	emit(experiment, "sold", tenant->vgpu.id, "contract %d %%, initial cap %d %%",
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
	cap_pct = fund(experiment, &params, &terms);
	if (cap_pct < 0)
		return NULL;
	apply(experiment);
	free_pct = 100 - sum_cap_pct(experiment);
	if (free_pct < cap_pct && free_pct > 0)
		cap_pct = free_pct - free_pct % experiment->gpu.step_pct;
	return join(experiment, kind, draw, cap_pct);
}

const struct scenario_tenant *tenants_next(const struct experiment *experiment)
{
	return tenants_kind(experiment, experiment->n_drawn);
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

/*
 * Adds the tenants that are present from the start, each with its contract or its share of the GPU
 * as cap. -EINVAL: too many tenants.
 */
static int start_tenants(struct experiment *experiment, struct err *reterr)
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
		if (!has_tenants(experiment) || n == POLICY_VGPUS_MAX)
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

/*
 * Moves @tenant to another host: it leaves after migrate_s. No effect if the scenario has no
 * migration, if the other hosts cannot take another vGPU, or if @tenant leaves earlier.
 */
static void move_away(struct experiment *experiment, struct tenant *tenant)
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
	emit(experiment, "left", tenant->vgpu.id, "the tenant %s, its last cap was %d %%",
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
	build_view(experiment);
	experiment->policy->give_back(&experiment->params, &experiment->gpu, &experiment->out);
	apply(experiment);
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

/* Removes and adds tenants according to their departure and arrival times. */
static void update_tenants(struct experiment *experiment)
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
		emit(experiment, "refused", "", "tenant %s: not enough capacity", kind->name);
	}
}

static struct offer_limits limits_of(const struct experiment *experiment)
{
	return (struct offer_limits){
		.min_newcomer_pct = experiment->params.min_newcomer_pct,
		.broken_pct = experiment->scenario->probation_broken_pct,
	};
}

/*
 * Moves a newcomer that failed its probation to another host. Without migration, removes it after
 * remove_s, if this is set.
 */
static void send_away(struct experiment *experiment)
{
	const struct scenario *scenario = experiment->scenario;
	struct tenant *newcomer = experiment->sale.newcomer;
	uint64_t at_ns = experiment->now_ns + (uint64_t)scenario->remove_s * NS_PER_S;

	if (scenario->migrate)
		move_away(experiment, newcomer);
	else if (scenario->remove_s > 0 && newcomer->leaves_ns > at_ns)
		newcomer->leaves_ns = at_ns;
}

/* Counts and reports the end of an offer: kept, failed or closed. */
static void finish(struct experiment *experiment)
{
	const struct sale *sale = &experiment->sale;
	const char *newcomer = sale->newcomer ? sale->newcomer->vgpu.id : "";
	struct offer_limits limits = limits_of(experiment);
	char why[OFFER_REASON_MAX];

	experiment->counts.kept += sale->life.state == OFFER_KEPT;
	experiment->counts.failed += sale->life.state == OFFER_FAILED;
	experiment->counts.closed += sale->life.state == OFFER_CLOSED;
	if (sale->life.state == OFFER_FAILED)
		send_away(experiment);
	offer_explain(&sale->life, &limits, newcomer, why);
	emit(experiment, offer_state_name(sale->life.state), newcomer, "%s", why);
}

static void restate(struct experiment *experiment, int funded_pct)
{
	if (offer_restate(&experiment->sale.life, funded_pct))
		finish(experiment);
}

static void claim(struct experiment *experiment)
{
	struct sale *sale = &experiment->sale;
	struct tenant *newcomer =
		fund_and_join(experiment, tenants_next(experiment), (uint64_t)experiment->n_drawn);

	if (!newcomer) { /* it cannot be funded now */
		restate(experiment, -ENOSPC);
		return;
	}
	experiment->n_drawn++;
	sale->newcomer = newcomer;
	sale->claim_ns = experiment->now_ns;
	offer_claim(&sale->life,
		    experiment->now_ns + (uint64_t)experiment->scenario->probation_s * NS_PER_S);
	experiment->counts.sales++;
}

/* Opens an offer after the policy decided to make an offer. */
static void open_sale(struct experiment *experiment)
{
	experiment->sale = (struct sale){
		.life.state = OFFER_OPEN,
		.life.expires_ns = UINT64_MAX,
		.claim_ns = experiment->now_ns + (uint64_t)(experiment->scenario->customer_s * 1e9),
	};
	experiment->counts.offers++;
	if (experiment->sale.claim_ns == experiment->now_ns)
		claim(experiment);
}

static void watch(struct experiment *experiment)
{
	const struct policy_gpu *gpu = &experiment->gpu;
	struct offer_period period = {.severe = offer_is_severe(gpu)};
	struct offer_limits limits = limits_of(experiment);
	double dt_s = (double)experiment->period_ns / 1e9;

	for (int i = 0; i < gpu->n_vgpus; i++) {
		period.watched_s += gpu->vgpus[i].sample.busy_valid ? dt_s : 0;
		if (gpu->vgpus[i].sample.busy_valid && offer_counts_broken(gpu, &gpu->vgpus[i]))
			period.broken_s += dt_s;
	}
	if (offer_update(&experiment->sale.life, &period, &limits, experiment->now_ns))
		finish(experiment);
}

/* Updates the offer: open, claimed, on probation, kept or failed. Runs after the step of each
 * period. */
static void update_sale(struct experiment *experiment)
{
	struct sale *sale = &experiment->sale;

	if (sale->life.state == OFFER_OPEN) {
		restate(experiment,
			fund(experiment, &experiment->params, &experiment->gpu.flavors[0]));
		if (sale->life.state == OFFER_OPEN && experiment->now_ns >= sale->claim_ns)
			claim(experiment);
	} else if (sale->life.state == OFFER_PROBATION && experiment->now_ns > sale->claim_ns) {
		watch(experiment);
	}
}

/* --- reading --- */

/* Returns the demand of @tenant since the last call, in GPU seconds. */
static double wanted_s(struct experiment *experiment, struct tenant *tenant)
{
	uint64_t wanted_ns;

	if (tenant->alone) {
		sim_advance(tenant->alone,
			    experiment->now_ns - (uint64_t)llround(tenant->vgpu.came_s * 1e9));
		wanted_ns = sim_vgpu_busy_ns(tenant->alone_vgpu);
	} else {
		wanted_ns = sim_vgpu_demand_ns(experiment->sim, tenant->sim);
	}
	wanted_ns -= tenant->last_wanted_ns;
	tenant->last_wanted_ns += wanted_ns;
	return (double)wanted_ns / 1e9;
}

/*
 * Returns the demand of @tenant in the last period, as a fraction of the GPU. For a renderer, this
 * is the cost of its target frame rate or, without a target, the load of the same program alone on
 * a GPU. The work that a starved renderer prepares would be less. For a trace, this is the recorded
 * demand, but at most the cost of the target frame rate (if any).
 */
static double demand_of(struct experiment *experiment, struct tenant *tenant, double load,
			double dt_s)
{
	const struct workload *workload = &tenant->vgpu.kind->workload;
	double target_fps = tenant->vgpu.terms.target_fps;
	double wanted = wanted_s(experiment, tenant) / dt_s;
	double promised = tenant->frame_s > 0 ? target_fps * tenant->frame_s : load;

	if (workload->kind != WORKLOAD_FRAMES || !(target_fps > 0))
		return wanted;
	return workload->playback.trace && wanted < promised ? wanted : promised;
}

/*
 * Reads the counters of @tenant. For the policy, rates are valid from the second reading on, as in
 * gover-d. For the account, they are valid from the first reading on, because all counters start at
 * 0.
 */
static void sample_tenant(struct experiment *experiment, struct tenant *tenant, double dt_s)
{
	struct experiment_vgpu *vgpu = &tenant->vgpu;
	struct sim_counters now;
	double busy_s, sched_s, frames;

	sim_read(experiment->sim, tenant->sim, &now);
	busy_s = (double)(now.busy_ns - tenant->last.busy_ns) / 1e9;
	sched_s = (double)(now.sched_ns - tenant->last.sched_ns) / 1e9;
	frames = (double)(now.frames - tenant->last.frames);
	if (frames > 0)
		tenant->frame_s = busy_s / frames;
	vgpu->sample.makes_frames = now.makes_frames;
	vgpu->sample.fps = frames / dt_s;
	vgpu->sample.load = busy_s / dt_s;
	vgpu->sample.util = sched_s > 0 ? busy_s / sched_s : 0;
	vgpu->sample.demand = demand_of(experiment, tenant, vgpu->sample.load, dt_s);
	vgpu->sampled_cap_pct = vgpu->cap_pct;
	if (tenant->primed) {
		bool fps_valid = now.makes_frames && tenant->last.makes_frames;

		tenant->sample = (struct sample){
			.dt_s = dt_s,
			.busy_valid = true,
			.load = vgpu->sample.load,
			.util = vgpu->sample.util,
			.fps_valid = fps_valid,
			.fps = fps_valid ? vgpu->sample.fps : 0,
		};
	}
	tenant->primed = true;
	tenant->last = now;
}

static void sample(struct experiment *experiment)
{
	double dt_s = (double)experiment->period_ns / 1e9;
	uint64_t busy_ns = sim_busy_ns(experiment->sim);

	experiment->util = (double)(busy_ns - experiment->last_busy_ns) / 1e9 / dt_s;
	experiment->last_busy_ns = busy_ns;
	for (int i = 0; i < experiment->n_present; i++) {
		struct tenant *tenant = experiment->present[i];

		sample_tenant(experiment, tenant, dt_s);
		experiment->samples[i] = tenant->vgpu.sample;
		experiment->accounted[i] = &experiment->accounts[tenant->number];
		experiment->sampled[i] = tenant;
	}
	experiment->n_sampled = experiment->n_present;
	account_period(&experiment->account, dt_s, experiment->util, experiment->samples,
		       experiment->accounted, experiment->n_present);
	for (int i = 0; i < experiment->n_present; i++)
		experiment->present[i]->vgpu.sample = experiment->samples[i];
}

/* --- deciding --- */

/* Moves the vGPUs that severe decisions name to other hosts. */
static void move_named(struct experiment *experiment)
{
	for (int i = 0; i < experiment->out.n_decisions; i++) {
		const struct policy_decision *pd = &experiment->out.decisions[i];

		if (pd->kind == POLICY_SEVERE && pd->vgpu >= 0)
			move_away(experiment, experiment->present[pd->vgpu]);
	}
}

static bool offers_one(const struct experiment *experiment)
{
	for (int i = 0; i < experiment->out.n_decisions; i++)
		if (experiment->out.decisions[i].kind == POLICY_OFFER)
			return true;
	return false;
}

static bool may_offer(const struct experiment *experiment)
{
	return experiment->gpu.selling && !experiment->gpu.offered;
}

static void decide(struct experiment *experiment)
{
	const struct experiment_hooks *hooks = &experiment->hooks;
	bool offers;

	build_view(experiment);
	if (hooks->step)
		hooks->step(hooks->userdata, experiment, &experiment->params, &experiment->gpu,
			    &experiment->out);
	else
		experiment->policy->step(&experiment->params, &experiment->gpu, &experiment->out);
	apply(experiment);
	if (experiment->gpu.conditions & POLICY_SEVERE_OVERLOAD)
		experiment->counts.severe_s += (double)experiment->period_ns / 1e9;
	move_named(experiment);
	offers = offers_one(experiment);
	if (may_offer(experiment) && hooks->admit)
		offers = hooks->admit(hooks->userdata, experiment, offers);
	if (offers && may_offer(experiment))
		open_sale(experiment);
}

static const struct sched_discipline *discipline_of(const struct scenario *scenario)
{
	if (scenario->sharing == POLICY_SHARING_GUARANTEE)
		return sched_sharing_find(policy_sharing_name(scenario->sharing));
	return sched_discipline_find(scenario->discipline);
}

/* --- public interface --- */

bool experiment_step(struct experiment *experiment)
{
	if (experiment->now_ns >= experiment->end_ns)
		return false;
	experiment->now_ns += experiment->period_ns;
	sim_advance(experiment->sim, experiment->now_ns);
	sample(experiment);
	decide(experiment);
	update_sale(experiment);
	update_tenants(experiment);
	return experiment->now_ns < experiment->end_ns;
}

int experiment_new(const struct scenario *scenario, const struct policy *policy, uint64_t seed,
		   const struct experiment_hooks *hooks, struct experiment **ret_experiment,
		   struct err *reterr)
{
	struct experiment *experiment = xcalloc(1, sizeof(*experiment));
	int r;

	experiment->scenario = scenario;
	experiment->policy = policy;
	experiment->params = scenario_params(scenario);
	experiment->seed = seed;
	experiment->sale.life.state = OFFER_CLOSED;
	if (hooks)
		experiment->hooks = *hooks;
	experiment->period_ns = (uint64_t)scenario->period_ms * NS_PER_MS;
	experiment->end_ns = (uint64_t)scenario->seconds * NS_PER_S;
	account_init(&experiment->account, scenario->seconds);
	experiment->sim = sim_new();
	sim_set_discipline(experiment->sim, discipline_of(scenario));
	init_tenants(experiment);
	r = start_tenants(experiment, reterr);
	if (r < 0) {
		experiment_free(experiment);
		return r;
	}
	*ret_experiment = experiment;
	return 0;
}

struct experiment *experiment_free(struct experiment *experiment)
{
	if (!experiment)
		return NULL;
	for (int i = 0; i < experiment->n_tenants; i++)
		sim_free(experiment->tenants[i].alone);
	free(experiment->bag);
	free(experiment->arrivals);
	sim_free(experiment->sim);
	free(experiment);
	return NULL;
}

static int compare_stays(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double stay_median_s(const struct experiment *experiment)
{
	double stays_s[EXPERIMENT_VGPUS_MAX];
	int n = experiment->n_tenants;

	for (int i = 0; i < n; i++) {
		const struct experiment_vgpu *vgpu = &experiment->tenants[i].vgpu;
		double until_s = isnan(vgpu->left_s) ? experiment_now_s(experiment) : vgpu->left_s;

		stays_s[i] = until_s - vgpu->came_s;
	}
	if (n == 0)
		return 0;
	qsort(stays_s, (size_t)n, sizeof(stays_s[0]), compare_stays);
	return (stays_s[n / 2] + stays_s[(n - 1) / 2]) / 2;
}

void experiment_summarize(const struct experiment *experiment,
			  struct experiment_summary *ret_summary)
{
	double minutes = experiment_now_s(experiment) / 60;

	*ret_summary = experiment->counts;
	ret_summary->cap_moves_per_min = minutes > 0 ? experiment->counts.cap_moves / minutes : 0;
	ret_summary->stay_median_s = stay_median_s(experiment);
	account_summarize(&experiment->account, experiment->accounts, experiment->n_tenants,
			  &ret_summary->account);
}

void experiment_finish(struct experiment *experiment, struct experiment_summary *ret_summary)
{
	while (experiment_step(experiment))
		;
	experiment_summarize(experiment, ret_summary);
	experiment_free(experiment);
}

double experiment_util(const struct experiment *experiment)
{
	return experiment->util;
}

const struct experiment_vgpu *experiment_current_vgpu_at(const struct experiment *experiment,
							 int index)
{
	return index < experiment->n_sampled ? &experiment->sampled[index]->vgpu : NULL;
}

const struct experiment_vgpu *experiment_vgpu_at(const struct experiment *experiment, int index,
						 const struct account_vgpu **ret_account)
{
	if (index >= experiment->n_tenants)
		return NULL;
	if (ret_account)
		*ret_account = &experiment->accounts[index];
	return &experiment->tenants[index].vgpu;
}
