/* SPDX-License-Identifier: MIT */
/* The closed loop: sample, decide, act, count. Must never allocate in a period in which nobody
 * comes. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sched/sched.h"
#include "sim/experiment/internal.h"

/* --- reading --- */

/* GPU seconds that @member has wanted since the period began. */
static double wanted_s(struct trial *trial, struct member *member)
{
	uint64_t wanted_ns;

	if (member->alone) {
		sim_advance(member->alone,
			    trial->now_ns - (uint64_t)llround(member->vgpu.came_s * 1e9));
		wanted_ns = sim_vgpu_busy_ns(member->alone_vgpu);
	} else {
		wanted_ns = sim_vgpu_demand_ns(trial->sim, member->sim);
	}
	wanted_ns -= member->last_wanted_ns;
	member->last_wanted_ns += wanted_ns;
	return (double)wanted_ns / 1e9;
}

/*
 * What @member asked for in the period before now, as a fraction of the GPU. A renderer that is
 * starved makes less: with a promise it asks for that, at what its frames cost; without one for
 * what it would draw alone. Only a recorded one says what it wanted whatever it was given.
 */
static double demand_of(struct trial *trial, struct member *member, double load, double dt_s)
{
	const struct workload *workload = &member->vgpu.tenant->workload;
	double target_fps = member->vgpu.terms.target_fps;
	double wanted = wanted_s(trial, member) / dt_s;
	double promised = member->frame_s > 0 ? target_fps * member->frame_s : load;

	if (workload->kind != WORKLOAD_FRAMES || !(target_fps > 0))
		return wanted;
	return workload->playback.trace && wanted < promised ? wanted : promised;
}

/* Reads @member as gover-d's monitor does: the first reading has nothing to compare with. The
 * account has no such gap, for every counter began at 0. */
static void sample_member(struct trial *trial, struct member *member, double dt_s)
{
	struct trial_vgpu *vgpu = &member->vgpu;
	struct sim_counters now;
	double busy_s, sched_s, frames;

	sim_read(trial->sim, member->sim, &now);
	busy_s = (double)(now.busy_ns - member->last.busy_ns) / 1e9;
	sched_s = (double)(now.sched_ns - member->last.sched_ns) / 1e9;
	frames = (double)(now.frames - member->last.frames);
	if (frames > 0)
		member->frame_s = busy_s / frames;
	vgpu->sample.makes_frames = now.makes_frames;
	vgpu->sample.fps = frames / dt_s;
	vgpu->sample.load = busy_s / dt_s;
	vgpu->sample.util = sched_s > 0 ? busy_s / sched_s : 0;
	vgpu->sample.demand = demand_of(trial, member, vgpu->sample.load, dt_s);
	vgpu->sampled_cap_pct = vgpu->cap_pct;
	member->busy_valid = member->primed;
	member->fps_valid = member->primed && now.makes_frames && member->last.makes_frames;
	member->primed = true;
	member->last = now;
}

static void sample(struct trial *trial)
{
	double dt_s = (double)trial->period_ns / 1e9;
	uint64_t busy_ns = sim_busy_ns(trial->sim);

	trial->util = (double)(busy_ns - trial->last_busy_ns) / 1e9 / dt_s;
	trial->last_busy_ns = busy_ns;
	for (int i = 0; i < trial->n_there; i++) {
		struct member *member = trial->there[i];

		sample_member(trial, member, dt_s);
		trial->samples[i] = member->vgpu.sample;
		trial->accounted[i] = &trial->accounts[member->number];
		trial->sampled[i] = member;
	}
	trial->n_sampled = trial->n_there;
	account_period(&trial->account, dt_s, trial->util, trial->samples, trial->accounted,
		       trial->n_there);
	for (int i = 0; i < trial->n_there; i++)
		trial->there[i]->vgpu.sample = trial->samples[i];
}

/* --- deciding --- */

void trial_view(struct trial *trial)
{
	const struct scenario *scenario = trial->scenario;

	for (int i = 0; i < trial->n_there; i++) {
		struct member *member = trial->there[i];

		trial->views[i] = (struct policy_vgpu){
			.id = member->vgpu.id,
			.terms = member->vgpu.terms,
			.newcomer = trial->sale.state == SALE_PROBATION &&
				    trial->sale.newcomer == member,
			.track = &member->track,
			.cap_pct = member->vgpu.cap_pct,
			.busy_valid = member->busy_valid,
			.load = member->busy_valid ? member->vgpu.sample.load : 0,
			.util = member->busy_valid ? member->vgpu.sample.util : 0,
			.fps_valid = member->fps_valid,
			.fps = member->fps_valid ? member->vgpu.sample.fps : 0,
			.want_cap_pct = member->vgpu.cap_pct,
		};
	}
	trial->gpu.name = "gpu0";
	trial->gpu.step_pct = scenario->step_pct;
	trial->gpu.floor_pct = scenario->floor_pct;
	trial->gpu.period_s = (double)trial->period_ns / 1e9;
	trial->gpu.migrates = scenario->migrate;
	trial->gpu.selling = trial->n_there < scenario->max_vgpus && members_waiting(trial);
	trial->gpu.offered = trial->sale.state != SALE_NONE;
	trial->gpu.flavor = (struct policy_terms){
		.initial_cap_pct = scenario->flavor_cap_pct,
		.target_fps = scenario->flavor_target_fps,
		.weight = 1,
	};
	trial->gpu.vgpus = trial->views;
	trial->gpu.n_vgpus = trial->n_there;
}

int trial_sum_cap_pct(const struct trial *trial)
{
	int sum_pct = 0;

	for (int i = 0; i < trial->n_there; i++)
		sum_pct += trial->there[i]->vgpu.cap_pct;
	return sum_pct;
}

static void tell_decision(struct trial *trial, const struct policy_decision *pd)
{
	struct trial_event event = {
		.t_s = trial_now_s(trial),
		.kind = policy_kind_name(pd->kind),
		.vgpu = pd->vgpu >= 0 ? trial->views[pd->vgpu].id : "",
		.donor = pd->donor >= 0 ? trial->views[pd->donor].id : "",
		.why = pd->why,
		.decision = pd,
		.out = &trial->out,
		.gpu = &trial->gpu,
	};

	if (trial->hooks.told)
		trial->hooks.told(trial->hooks.userdata, &event);
}

void trial_tell(struct trial *trial, const char *kind, const char *vgpu, const char *format, ...)
{
	char why[POLICY_WHY_MAX];
	struct trial_event event = {
		.t_s = trial_now_s(trial), .kind = kind, .vgpu = vgpu, .donor = "", .why = why};
	va_list ap;

	if (!trial->hooks.told)
		return;
	va_start(ap, format);
	vsnprintf(why, sizeof(why), format, ap);
	va_end(ap);
	trial->hooks.told(trial->hooks.userdata, &event);
}

/* Decisions come with their decreases first, so that no instant has more than was there. */
void trial_apply(struct trial *trial)
{
	for (int i = 0; i < trial->out.n_decisions; i++) {
		const struct policy_decision *pd = &trial->out.decisions[i];

		for (int k = 0; k < pd->n_moves; k++) {
			const struct policy_move *move = &trial->out.moves[pd->first_move + k];
			struct member *member = trial->there[move->vgpu];

			member->vgpu.cap_pct += move->to_pct - move->from_pct;
			(void)sim_set_cap(trial->sim, member->sim, member->vgpu.cap_pct);
			trial->counts.cap_moves++;
		}
		tell_decision(trial, pd);
	}
}

int trial_fund(struct trial *trial, const struct policy_params *params,
	       const struct policy_terms *terms)
{
	const struct trial_hooks *hooks = &trial->hooks;

	if (trial->n_there == POLICY_VGPUS_MAX || trial->n_members == TRIAL_VGPUS_EVER)
		return -ENOSPC;
	trial_view(trial);
	if (hooks->fund)
		return hooks->fund(hooks->userdata, trial, params, &trial->gpu, terms, &trial->out);
	return trial->policy->fund(params, &trial->gpu, terms, &trial->out);
}

/* With migration a severe overload's victim really goes. */
static void send_away(struct trial *trial, const struct policy_decision *pd)
{
	struct member *member = pd->vgpu >= 0 ? trial->there[pd->vgpu] : NULL;
	uint64_t at_ns = trial->now_ns + (uint64_t)trial->scenario->migrate_s * NS_PER_S;

	if (trial->scenario->migrate && member && member->leaves_ns > at_ns)
		member->leaves_ns = at_ns;
}

static bool offers_one(const struct trial *trial)
{
	for (int i = 0; i < trial->out.n_decisions; i++)
		if (trial->out.decisions[i].kind == POLICY_OFFER)
			return true;
	return false;
}

static bool may_offer(const struct trial *trial)
{
	return trial->gpu.selling && !trial->gpu.offered;
}

static void decide(struct trial *trial)
{
	const struct trial_hooks *hooks = &trial->hooks;
	bool offers;

	trial_view(trial);
	if (hooks->step)
		hooks->step(hooks->userdata, trial, &trial->params, &trial->gpu, &trial->out);
	else
		trial->policy->step(&trial->params, &trial->gpu, &trial->out);
	trial_apply(trial);
	if (trial->gpu.conditions & POLICY_SEVERE_OVERLOAD)
		trial->counts.severe_s += (double)trial->period_ns / 1e9;
	for (int i = 0; i < trial->out.n_decisions; i++)
		if (trial->out.decisions[i].kind == POLICY_SEVERE)
			send_away(trial, &trial->out.decisions[i]);
	offers = offers_one(trial);
	if (may_offer(trial) && hooks->admit)
		offers = hooks->admit(hooks->userdata, trial, offers);
	if (offers && may_offer(trial))
		sale_open(trial);
}

/* --- for those who drive it --- */

bool trial_step(struct trial *trial)
{
	if (trial->now_ns >= trial->end_ns)
		return false;
	trial->now_ns += trial->period_ns;
	sim_advance(trial->sim, trial->now_ns);
	sample(trial);
	decide(trial);
	sale_pass(trial);
	members_pass(trial);
	return trial->now_ns < trial->end_ns;
}

int trial_new(const struct scenario *scenario, const struct policy *policy,
	      const struct policy_params *params, uint64_t seed, const struct trial_hooks *hooks,
	      struct trial **ret_trial, struct err *reterr)
{
	struct trial *trial = calloc(1, sizeof(*trial));
	int r;

	if (!trial)
		return err_fail(reterr, ENOMEM, "out of memory");
	trial->scenario = scenario;
	trial->policy = policy;
	trial->params = params ? *params : scenario_params(scenario);
	trial->seed = seed;
	if (hooks)
		trial->hooks = *hooks;
	trial->period_ns = (uint64_t)scenario->period_ms * NS_PER_MS;
	trial->end_ns = (uint64_t)scenario->seconds * NS_PER_S;
	account_init(&trial->account, scenario->seconds);
	r = sim_new(&trial->sim);
	if (r < 0)
		(void)err_fail(reterr, -r, "out of memory");
	else
		(void)sim_set_discipline(trial->sim, sched_discipline_find(scenario->discipline));
	if (r == 0)
		r = members_init(trial, reterr);
	if (r == 0)
		r = members_start(trial, reterr);
	if (r < 0) {
		trial_free(trial);
		return r;
	}
	*ret_trial = trial;
	return 0;
}

struct trial *trial_free(struct trial *trial)
{
	if (!trial)
		return NULL;
	members_fini(trial);
	sim_free(trial->sim);
	free(trial);
	return NULL;
}

void trial_sum(const struct trial *trial, struct trial_summary *ret_summary)
{
	double minutes = trial_now_s(trial) / 60;

	*ret_summary = trial->counts;
	ret_summary->cap_moves_per_min = minutes > 0 ? trial->counts.cap_moves / minutes : 0;
	account_sum(&trial->account, trial->accounts, trial->n_members, &ret_summary->account);
}

double trial_now_s(const struct trial *trial)
{
	return (double)trial->now_ns / 1e9;
}

double trial_util(const struct trial *trial)
{
	return trial->util;
}

const struct trial_vgpu *trial_vgpu_at(const struct trial *trial, int index)
{
	return index < trial->n_sampled ? &trial->sampled[index]->vgpu : NULL;
}

const struct trial_vgpu *trial_vgpu_ever(const struct trial *trial, int index,
					 const struct account_vgpu **ret_account)
{
	if (index >= trial->n_members)
		return NULL;
	if (ret_account)
		*ret_account = &trial->accounts[index];
	return &trial->members[index].vgpu;
}

const struct policy_gpu *trial_gpu(const struct trial *trial)
{
	return &trial->gpu;
}
