/* SPDX-License-Identifier: MIT */
/* A table of causes with a rule for each. The first rule that applies gives the cause. */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/plan.h"
#include "policy/promise/cause.h"
#include "policy/rate.h"
#include "policy/signal.h"

/* A use above the limit by this factor and by this part of the GPU is no effect of the time slices:
 * the scheduler of the paper settles debts within a second (docs/design.md, section 4). */
#define EXCESS_FACTOR 1.25
#define EXCESS_PCT    3
/* part of what was sold above which a vGPU without a limit needs more than it has bought */
#define CEILING_USED 0.95
/* A policy that raised no cap of an overloaded vGPU for this time will not do it. */
#define IDLE_S 15

static const struct {
	const char *name;
	enum promise_urgency urgency;
} causes[PROMISE_CAUSE_COUNT] = {
#define CAUSE_ROW(id, name, urgency) [PROMISE_##id] = {name, PROMISE_##urgency},
	PROMISE_CAUSES(CAUSE_ROW)
#undef CAUSE_ROW
};

const char *promise_cause_name(enum promise_cause cause)
{
	return cause < PROMISE_CAUSE_COUNT ? causes[cause].name : NULL;
}

enum promise_cause promise_cause_find(const char *name)
{
	for (size_t i = PROMISE_NO_CAUSE + 1; i < ARRAY_SIZE(causes); i++)
		if (strcmp(causes[i].name, name) == 0)
			return (enum promise_cause)i;
	return PROMISE_NO_CAUSE;
}

enum promise_urgency promise_cause_urgency(enum promise_cause cause)
{
	return cause < PROMISE_CAUSE_COUNT ? causes[cause].urgency : PROMISE_INFO;
}

int cause_spare_pct(const struct policy_params *params, const struct policy_gpu *gpu,
		    const struct policy_vgpu *view)
{
	double line = params->overload_pct / 100.0;
	double needed_pct = fmax(policy_floor_pct(params, gpu, &view->terms),
				 line > 0 ? 100 * view->load / line : 100);
	int steps;

	if (view->held || !view->busy_valid)
		return 0;
	steps = plan_whole_steps(gpu, view->cap_pct - needed_pct);
	return steps > 0 ? steps * gpu->step_pct : 0;
}

/* --- the rules --- */

static bool is_stale(const struct cause_facts *f)
{
	return !f->host->telemetry_valid || !f->view->busy_valid;
}

static bool is_stalled(const struct cause_facts *f)
{
	return f->vgpu->service.state == SERVICE_STALLED;
}

bool cause_is_not_enforced(const struct cause_facts *f)
{
	for (int i = 0; i < f->gpu->n_vgpus && f->host->hard_caps; i++) {
		const struct policy_vgpu *other = &f->gpu->vgpus[i];
		double load_pct = 100 * other->load, limit_pct = other->cap_pct;

		if (f->gpu->sharing == POLICY_SHARING_GUARANTEE)
			limit_pct = fmax(limit_pct, policy_terms_ceiling_pct(&other->terms));
		if (other != f->view && other->busy_valid && load_pct > EXCESS_FACTOR * limit_pct &&
		    load_pct > limit_pct + EXCESS_PCT)
			return true;
	}
	return false;
}

static bool is_guest_limit(const struct cause_facts *f)
{
	return f->view->short_of_target &&
	       !signal_gpu_bound(f->params->qos_gpu_bound_pct / 100.0, f->gpu, f->view);
}

static bool is_foreign(const struct cause_facts *f)
{
	return f->view->held && f->vgpu->foreign;
}

static bool is_held(const struct cause_facts *f)
{
	return f->view->held;
}

static bool is_at_ceiling(const struct cause_facts *f)
{
	int ceiling_pct = policy_terms_ceiling_pct(&f->view->terms);

	/* Without limits, a vGPU is at its ceiling only if it uses what was sold. */
	if (f->host->observes)
		return 100 * f->view->load >= CEILING_USED * ceiling_pct;
	return signal_room_steps(f->gpu, f->view) == 0;
}

static bool is_not_acting(const struct cause_facts *f)
{
	return !f->host->acts;
}

static bool is_write_failed(const struct cause_facts *f)
{
	return f->vgpu->write_failed;
}

static bool is_overcommitted(const struct cause_facts *f)
{
	return promise_is_overcommitted(f->host);
}

static int others_spare_pct(const struct cause_facts *f)
{
	return f->host->spare_pct - cause_spare_pct(f->params, f->gpu, f->view);
}

static bool has_no_donor(const struct cause_facts *f)
{
	return others_spare_pct(f) < f->gpu->step_pct;
}

static bool is_policy_idle(const struct cause_facts *f)
{
	double reaction_s = (f->params->overload_periods + 2) * f->gpu->period_s;

	return f->vgpu->track.unraised_s > fmax(IDLE_S, reaction_s);
}

static bool always(const struct cause_facts *f)
{
	(void)f;
	return true;
}

enum promise_cause cause_find(const struct cause_facts *facts)
{
	static bool (*const applies[PROMISE_CAUSE_COUNT])(const struct cause_facts *) = {
		[PROMISE_TELEMETRY_STALE] = is_stale,
		[PROMISE_GPU_STALLED] = is_stalled,
		[PROMISE_CAPS_NOT_ENFORCED] = cause_is_not_enforced,
		[PROMISE_GUEST_LIMIT] = is_guest_limit,
		[PROMISE_FOREIGN_CAP] = is_foreign,
		[PROMISE_HELD] = is_held,
		[PROMISE_CONTRACT_TOO_SMALL] = is_at_ceiling,
		[PROMISE_NOT_ACTING] = is_not_acting,
		[PROMISE_CAP_WRITE_FAILED] = is_write_failed,
		[PROMISE_GPU_OVERCOMMITTED] = is_overcommitted,
		[PROMISE_DONORS_AT_FLOOR] = has_no_donor,
		[PROMISE_POLICY_IDLE] = is_policy_idle,
		[PROMISE_ADJUSTING] = always,
	};
	int cause = PROMISE_NO_CAUSE + 1;

	while (!applies[cause](facts))
		cause++;
	return (enum promise_cause)cause;
}
