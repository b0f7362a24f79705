/* SPDX-License-Identifier: MIT */
/*
 * The simulation goes from event to event: a unit ends, a burst arrives, the holder notices its
 * grant, the arbiter decides. At each event the tenants report, the arbiter picks, and the holder
 * submits.
 */
#include "tests/bench/compute/device.h"

#include "sim/model/random.h"

static uint64_t min_ns(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool is_stopped(const struct compute_sim *sim, const struct compute_tenant *tenant)
{
	return tenant->work.stops_at_ns > 0 && sim->now_ns >= tenant->work.stops_at_ns;
}

static bool has_work(const struct compute_tenant *tenant)
{
	return tenant->work.pattern == COMPUTE_SATURATING || tenant->waiting > 0;
}

/* Returns a time evenly distributed in mean +- spread. */
static uint64_t draw_ns(struct compute_tenant *tenant, uint64_t mean_ns, unsigned int spread_pct)
{
	uint64_t spread_ns = mean_ns / 100 * spread_pct;

	if (spread_ns == 0)
		return mean_ns;
	return mean_ns - spread_ns + random_next(&tenant->random) % (2 * spread_ns + 1);
}

void compute_start(struct compute_sim *sim, const struct compute_options *options)
{
	*sim = (struct compute_sim){.options = *options};
	arbiter_start(&sim->arbiter, arbiter_discipline_find(options->discipline),
		      &options->arbiter, 0);
}

struct compute_tenant *compute_add(struct compute_sim *sim, const struct arbiter_share *share,
				   const struct compute_workload *work)
{
	struct compute_tenant *tenant = &sim->tenants[sim->n_tenants++];

	tenant->work = *work;
	tenant->random = random_mix(sim->options.seed * COMPUTE_TENANTS + (uint64_t)sim->n_tenants);
	arbiter_add(&sim->arbiter, &tenant->tenant, share, sim->now_ns);
	tenant->arrives_at_ns = ARBITER_NEVER;
	if (work->pattern != COMPUTE_SATURATING)
		tenant->arrives_at_ns = sim->now_ns + draw_ns(tenant, work->pause_ns, 100);
	return tenant;
}

/* --- the device --- */

static void begin_unit(struct compute_sim *sim)
{
	sim->head_ends_ns = sim->now_ns + sim->queue[sim->head].length_ns;
}

static void push(struct compute_sim *sim, struct compute_tenant *tenant)
{
	unsigned int at = (sim->head + sim->count) % COMPUTE_QUEUE;

	sim->queue[at].tenant = tenant;
	sim->queue[at].length_ns = draw_ns(tenant, tenant->work.unit_ns, tenant->work.spread_pct);
	if (sim->count++ == 0)
		begin_unit(sim);
	tenant->in_flight++;
	tenant->predicted_ns += tenant->work.unit_ns;
	if (tenant->waiting > 0)
		tenant->waiting--;
}

static void report(struct compute_sim *sim, struct compute_tenant *tenant)
{
	bool blind = sim->options.blind;

	if (is_stopped(sim, tenant))
		return;
	if (has_work(tenant) || (tenant->in_flight > 0 && !blind))
		arbiter_want(&sim->arbiter, &tenant->tenant, blind ? 0 : tenant->predicted_ns,
			     sim->now_ns);
	else
		arbiter_idle(&sim->arbiter, &tenant->tenant, sim->now_ns);
}

static void end_response(struct compute_sim *sim, struct compute_tenant *tenant)
{
	uint64_t took_ns = sim->now_ns - tenant->arrived_at_ns;
	unsigned int spread = tenant->work.pattern == COMPUTE_BURSTY ? 100 : 0;

	tenant->responses++;
	tenant->response_sum_ns += took_ns;
	if (took_ns > tenant->response_max_ns)
		tenant->response_max_ns = took_ns;
	tenant->arrives_at_ns = sim->now_ns + draw_ns(tenant, tenant->work.pause_ns, spread);
}

static void end_unit(struct compute_sim *sim)
{
	struct compute_unit *unit = &sim->queue[sim->head];
	struct compute_tenant *tenant = unit->tenant;

	sim->head = (sim->head + 1) % COMPUTE_QUEUE;
	sim->count--;
	sim->busy_ns += unit->length_ns;
	tenant->busy_ns += unit->length_ns;
	tenant->units++;
	tenant->in_flight--;
	tenant->predicted_ns -= tenant->work.unit_ns;
	if (!is_stopped(sim, tenant)) {
		arbiter_charge(&sim->arbiter, &tenant->tenant,
			       sim->options.blind ? 0 : unit->length_ns, 1, sim->now_ns);
		if (tenant->work.pattern != COMPUTE_SATURATING && --tenant->unfinished == 0)
			end_response(sim, tenant);
		report(sim, tenant);
	}
	if (sim->count > 0)
		begin_unit(sim);
}

/* --- the tenants --- */

static void arrive(struct compute_sim *sim, struct compute_tenant *tenant)
{
	tenant->arrives_at_ns = ARBITER_NEVER;
	tenant->arrived_at_ns = sim->now_ns;
	tenant->waiting = tenant->work.pattern == COMPUTE_BURSTY ? tenant->work.burst : 1;
	tenant->unfinished = tenant->waiting;
}

static bool may_submit(const struct compute_sim *sim, const struct arbiter_turn *turn)
{
	const struct compute_tenant *tenant = (const void *)turn->tenant;
	unsigned int depth = sim->options.depth > 0 ? sim->options.depth : COMPUTE_DEPTH_MAX;
	uint64_t submitted = turn->units_used + tenant->in_flight;

	if (!has_work(tenant) || is_stopped(sim, tenant) || tenant->in_flight >= depth)
		return false;
	if (sim->options.blind)
		return true;
	if (turn->units > 0 && submitted >= turn->units)
		return false;
	if (turn->units_in_flight > 0 && tenant->in_flight >= turn->units_in_flight)
		return false;
	return turn->used_ns + tenant->predicted_ns < turn->slice_ns &&
	       tenant->predicted_ns < turn->in_flight_ns;
}

/* Returns whether something was submitted. */
static bool submit(struct compute_sim *sim, const struct arbiter_turn *turn)
{
	struct compute_tenant *tenant = (void *)turn->tenant;
	unsigned int before = tenant->in_flight;

	if (sim->now_ns < sim->may_submit_ns)
		return false;
	while (may_submit(sim, turn))
		push(sim, tenant);
	if (tenant->in_flight == before)
		return false;
	report(sim, tenant);
	return true;
}

static bool is_drained(const struct compute_sim *sim, const struct arbiter_turn *turn)
{
	const struct compute_tenant *tenant = (const void *)turn->tenant;

	/* A stopped tenant cannot confirm. */
	return !is_stopped(sim, tenant) && (tenant->in_flight == 0 || sim->options.blind);
}

/* Without accounting, the time of the turn is charged while it passes. */
static void charge_time(struct compute_sim *sim)
{
	struct arbiter_tenant *holder = sim->arbiter.turn.tenant;

	if (holder && sim->options.blind && sim->now_ns > sim->charged_to_ns)
		arbiter_charge(&sim->arbiter, holder, sim->now_ns - sim->charged_to_ns, 0,
			       sim->now_ns);
	sim->charged_to_ns = sim->now_ns;
}

static void decide(struct compute_sim *sim)
{
	struct arbiter_turn turn;

	charge_time(sim);
	while (arbiter_pick(&sim->arbiter, sim->now_ns, &turn)) {
		if (turn.id != sim->grant_id) {
			sim->grant_id = turn.id;
			sim->may_submit_ns = sim->now_ns + sim->options.hand_over_ns;
		}
		if (turn.state == ARBITER_DRAIN && is_drained(sim, &turn))
			arbiter_end_turn(&sim->arbiter, sim->now_ns);
		else if (turn.state == ARBITER_DRAIN || !submit(sim, &turn))
			return;
	}
}

static bool anyone_waits(const struct compute_sim *sim)
{
	for (int i = 0; i < sim->n_tenants; i++)
		if (has_work(&sim->tenants[i]) && !is_stopped(sim, &sim->tenants[i]))
			return true;
	return false;
}

static uint64_t next_event_ns(const struct compute_sim *sim, uint64_t to_ns)
{
	uint64_t next_ns = min_ns(to_ns, arbiter_next_event_ns(&sim->arbiter));

	if (sim->count > 0)
		next_ns = min_ns(next_ns, sim->head_ends_ns);
	if (sim->may_submit_ns > sim->now_ns)
		next_ns = min_ns(next_ns, sim->may_submit_ns);
	for (int i = 0; i < sim->n_tenants; i++)
		next_ns = min_ns(next_ns, sim->tenants[i].arrives_at_ns);
	return next_ns;
}

void compute_run(struct compute_sim *sim, uint64_t to_ns)
{
	while (sim->now_ns < to_ns) {
		uint64_t next_ns;

		while (sim->count > 0 && sim->head_ends_ns <= sim->now_ns)
			end_unit(sim);
		for (int i = 0; i < sim->n_tenants; i++) {
			struct compute_tenant *tenant = &sim->tenants[i];

			if (tenant->arrives_at_ns <= sim->now_ns)
				arrive(sim, tenant);
			if (has_work(tenant) != tenant->tenant.wants)
				report(sim, tenant);
		}
		decide(sim);
		next_ns = next_event_ns(sim, to_ns);
		if (sim->count == 0 && anyone_waits(sim))
			sim->starved_ns += next_ns - sim->now_ns;
		sim->now_ns = next_ns;
	}
}

/* --- figures --- */

void compute_forget(struct compute_sim *sim)
{
	sim->began_ns = sim->now_ns;
	sim->busy_ns = 0;
	sim->starved_ns = 0;
	for (int i = 0; i < sim->n_tenants; i++) {
		struct compute_tenant *tenant = &sim->tenants[i];

		tenant->busy_ns = 0;
		tenant->units = 0;
		tenant->responses = 0;
		tenant->response_sum_ns = 0;
		tenant->response_max_ns = 0;
	}
}

double compute_mmr(const struct compute_sim *sim)
{
	double least = 0, most = 0;

	for (int i = 0; i < sim->n_tenants; i++) {
		const struct compute_tenant *tenant = &sim->tenants[i];
		double x = (double)tenant->busy_ns / tenant->tenant.share.weight;

		least = i == 0 || x < least ? x : least;
		most = x > most ? x : most;
	}
	return most > 0 ? least / most : 0;
}

double compute_lambda(const struct compute_sim *sim)
{
	double lambda = 0, weights = 0;

	for (int i = 0; i < sim->n_tenants; i++)
		weights += sim->tenants[i].tenant.share.weight;
	for (int i = 0; i < sim->n_tenants && sim->busy_ns > 0; i++) {
		const struct compute_tenant *tenant = &sim->tenants[i];
		double off = tenant->tenant.share.weight / weights -
			     (double)tenant->busy_ns / (double)sim->busy_ns;

		lambda += off < 0 ? -off : off;
	}
	return lambda;
}

double compute_share_pct(const struct compute_sim *sim, const struct compute_tenant *tenant)
{
	return 100.0 * (double)tenant->busy_ns / (double)(sim->now_ns - sim->began_ns);
}

double compute_busy_pct(const struct compute_sim *sim)
{
	return 100.0 * (double)sim->busy_ns / (double)(sim->now_ns - sim->began_ns);
}
