/* SPDX-License-Identifier: MIT */
/*
 * Each alert proposes one vGPU. The best proposal without an obstacle wins; if each has one, an
 * operator is advised about the best.
 */
#include <stdio.h>
#include <string.h>

#include "gover-fleet/migrate/advice.h"

#define MS_PER_S 1000

/* Why a proposed vGPU is not migrated. */
enum obstacle { NO_OBSTACLE, NO_MACHINE, HELD, ARRIVED, RETURNED, FAILED, REFUSED };

struct proposal {
	const struct state_vgpu *vgpu;
	enum advice_alarm alarm;
	char why[ADVICE_REASON_MAX / 2];
	enum obstacle obstacle;
	uint64_t wait_ns; /* time after which the obstacle is gone; 0: an operator must act */
};

static enum advice_alarm find_alarm(const char *name)
{
	static const char *const names[ADVICE_ALARMS] = {
		[ADVICE_SEVERE_OVERLOAD] = "severe_overload",
		[ADVICE_SALE_FAILED] = "sale_failed",
		[ADVICE_PROMISE_BROKEN] = "promise_broken",
	};
	int alarm = 0;

	while (alarm < ADVICE_ALARMS && strcmp(names[alarm], name) != 0)
		alarm++;
	return (enum advice_alarm)alarm;
}

static bool is_on_gpu(const struct state_vgpu *vgpu, const char *gpu)
{
	return vgpu->sold && strcmp(vgpu->gpu, gpu) == 0;
}

static const struct state_vgpu *find_vgpu(const struct host_state *state, const char *gpu,
					  const char *id)
{
	for (size_t i = 0; i < state->n_vgpus; i++)
		if (is_on_gpu(&state->vgpus[i], gpu) && strcmp(state->vgpus[i].id, id) == 0)
			return &state->vgpus[i];
	return NULL;
}

/* Returns true if a vGPU of the GPU is served badly now. */
static bool is_served_badly(const struct host_state *state, const char *gpu)
{
	for (size_t i = 0; i < state->n_vgpus; i++)
		if (is_on_gpu(&state->vgpus[i], gpu) &&
		    (state->vgpus[i].overloaded || state->vgpus[i].broken))
			return true;
	return false;
}

/* Returns true if another vGPU could give cap once an operator releases it or lowers its floor. */
static bool has_bound_donor(const struct host_state *state, const struct state_vgpu *vgpu)
{
	for (size_t i = 0; i < state->n_vgpus; i++) {
		const struct state_vgpu *other = &state->vgpus[i];

		if (other != vgpu && is_on_gpu(other, vgpu->gpu) &&
		    (other->held || other->min_cap_pct > 0))
			return true;
	}
	return false;
}

static const struct state_vgpu *failed_newcomer(const struct host_state *state, const char *gpu)
{
	for (size_t i = 0; i < state->n_offers; i++)
		if (state->offers[i].failed && strcmp(state->offers[i].gpu, gpu) == 0)
			return find_vgpu(state, gpu, state->offers[i].vgpu);
	return NULL;
}

/* Returns the vGPU that should leave because of @alert, or NULL. */
static const struct state_vgpu *propose_vgpu(const struct host_state *state,
					     const struct state_alert *alert,
					     enum advice_alarm alarm, char *why, size_t size)
{
	const struct state_vgpu *vgpu = find_vgpu(state, alert->gpu, alert->vgpu);

	switch (alarm) {
	case ADVICE_SEVERE_OVERLOAD:
		/* Without a name, the policy still weighs the overload against a migration. */
		snprintf(why, size, "alert severe_overload of GPU %s names it", alert->gpu);
		return is_served_badly(state, alert->gpu) ? vgpu : NULL;
	case ADVICE_SALE_FAILED:
		snprintf(why, size, "it failed the probation of its sale on GPU %s", alert->gpu);
		return failed_newcomer(state, alert->gpu);
	case ADVICE_PROMISE_BROKEN:
		if (!vgpu || !vgpu->broken)
			return NULL;
		if (strcmp(alert->cause, "gpu_overcommitted") == 0) {
			snprintf(why, size, "its promise is broken and GPU %s is overcommitted",
				 alert->gpu);
			return vgpu;
		}
		snprintf(why, size, "its promise is broken and no vGPU of GPU %s can give cap",
			 alert->gpu);
		return strcmp(alert->cause, "donors_at_floor") == 0 && !has_bound_donor(state, vgpu)
			       ? vgpu
			       : NULL;
	case ADVICE_ALARMS:
		break;
	}
	return NULL;
}

/* Returns how much of @limit_s is left @since_ns before now; 0: nothing. */
static uint64_t left_ns(uint64_t since_ns, uint64_t now_ns, int limit_s)
{
	uint64_t limit_ns = (uint64_t)limit_s * NS_PER_S;
	uint64_t passed_ns = now_ns > since_ns ? now_ns - since_ns : 0;

	return passed_ns < limit_ns ? limit_ns - passed_ns : 0;
}

static void find_time_obstacle(const struct advice_input *input, struct instant now,
			       struct proposal *p)
{
	const struct advice_limits *limits = &input->limits;
	const int limits_s[] = {
		[ADVICE_MOVED] = limits->stay_s,
		[ADVICE_FAILED] = limits->retry_s,
		[ADVICE_REFUSED] = limits->ask_s,
	};
	static const enum obstacle obstacles[] = {
		[ADVICE_MOVED] = RETURNED,
		[ADVICE_FAILED] = FAILED,
		[ADVICE_REFUSED] = REFUSED,
	};
	int64_t here_ms = now.wall_ms - p->vgpu->created_ms;

	/* A negative time means that the clock was set back: the vGPU stays for the whole time. */
	if (p->vgpu->migrated && p->vgpu->created_ms > 0 &&
	    here_ms < (int64_t)limits->stay_s * MS_PER_S) {
		int64_t left_ms = (int64_t)limits->stay_s * MS_PER_S - (here_ms > 0 ? here_ms : 0);

		p->obstacle = ARRIVED;
		p->wait_ns = (uint64_t)left_ms * NS_PER_MS;
	}
	for (size_t i = 0; i < input->n_past; i++) {
		const struct advice_past *past = &input->past[i];
		uint64_t wait_ns = left_ns(past->ended_ns, now.mono_ns, limits_s[past->end]);

		if (strcmp(past->vgpu, p->vgpu->id) != 0 || wait_ns <= p->wait_ns)
			continue;
		p->obstacle = obstacles[past->end];
		p->wait_ns = wait_ns;
	}
}

const char *advice_machine(const struct state_vgpu *vgpu)
{
	return vgpu->domain[0] ? vgpu->domain : vgpu->vm;
}

static void find_obstacle(const struct advice_input *input, struct instant now, struct proposal *p)
{
	p->obstacle = NO_OBSTACLE;
	p->wait_ns = 0;
	if (!advice_machine(p->vgpu)[0])
		p->obstacle = NO_MACHINE;
	else if (p->vgpu->held)
		p->obstacle = HELD;
	else
		find_time_obstacle(input, now, p);
}

/* Returns true if @a comes before @b, which does not depend on the order of the alerts. */
static bool is_better(const struct proposal *a, const struct proposal *b)
{
	if (!b->vgpu || (a->obstacle == NO_OBSTACLE) != (b->obstacle == NO_OBSTACLE))
		return !b->vgpu || a->obstacle == NO_OBSTACLE;
	if (a->alarm != b->alarm)
		return a->alarm < b->alarm;
	/* A smaller contract finds room on another host more easily. */
	if (a->vgpu->initial_cap_pct != b->vgpu->initial_cap_pct)
		return a->vgpu->initial_cap_pct < b->vgpu->initial_cap_pct;
	return id_compare(a->vgpu->id, b->vgpu->id) < 0;
}

static void find_best(const struct advice_input *input, struct instant now, struct proposal *best)
{
	for (size_t i = 0; input->state && i < input->state->n_alerts; i++) {
		const struct state_alert *alert = &input->state->alerts[i];
		struct proposal p = {.alarm = find_alarm(alert->name)};

		if (!alert->silenced)
			p.vgpu = propose_vgpu(input->state, alert, p.alarm, p.why, sizeof(p.why));
		if (!p.vgpu)
			continue;
		find_obstacle(input, now, &p);
		if (is_better(&p, best))
			*best = p;
	}
}

/* Returns the time until the load has settled after the last migration. */
static uint64_t holdoff_ns(const struct advice_input *input, struct instant now)
{
	uint64_t longest_ns = 0;

	for (size_t i = 0; i < input->n_past; i++) {
		uint64_t wait_ns =
			left_ns(input->past[i].ended_ns, now.mono_ns, input->limits.holdoff_s);

		if (input->past[i].end != ADVICE_REFUSED && wait_ns > longest_ns)
			longest_ns = wait_ns;
	}
	return longest_ns;
}

static void conclude(struct advice *a, enum advice_kind kind, const char *why, const char *problem)
{
	a->kind = kind;
	snprintf(a->reason, sizeof(a->reason), "%s%s%s", why, problem[0] ? "; " : "", problem);
}

/* Advises an operator about a vGPU that is not migrated. */
static void conclude_blocked(const struct proposal *p, struct advice *a)
{
	static const char *const problems[] = {
		[NO_OBSTACLE] = "",
		[NO_MACHINE] = "no virtual machine is known for it",
		[HELD] = "its cap is held, so an operator must decide",
		[ARRIVED] = "a migration brought it here lately",
		[RETURNED] = "it was migrated away lately and is back",
		[FAILED] = "its last migration failed",
		[REFUSED] = "its migration was refused",
	};

	a->refused = p->obstacle == REFUSED;
	conclude(a, ADVICE_ADVISE, p->why, problems[p->obstacle]);
}

void advice_decide(const struct advice_input *input, struct instant now, struct advice *ret_advice)
{
	struct advice a = {.kind = ADVICE_NOTHING, .alarm = ADVICE_ALARMS};
	struct proposal best = {0};
	uint64_t settle_ns = holdoff_ns(input, now);

	find_best(input, now, &best);
	if (!best.vgpu) {
		*ret_advice = a;
		return;
	}
	a.alarm = best.alarm;
	snprintf(a.vgpu, sizeof(a.vgpu), "%s", best.vgpu->id);
	snprintf(a.gpu, sizeof(a.gpu), "%s", best.vgpu->gpu);
	snprintf(a.vm, sizeof(a.vm), "%s", advice_machine(best.vgpu));
	if (best.wait_ns > 0)
		a.again_ns = now.mono_ns + best.wait_ns;
	if (settle_ns > 0) {
		conclude(&a, ADVICE_NOTHING, best.why, "the load settles after a migration");
		a.again_ns = now.mono_ns + settle_ns;
	} else if (best.obstacle != NO_OBSTACLE) {
		conclude_blocked(&best, &a);
	} else if (!input->may_migrate) {
		conclude(&a, ADVICE_ADVISE, best.why, "");
	} else if (!input->published) {
		conclude(&a, ADVICE_NOTHING, best.why, "the cloud does not know the overload yet");
		a.waits = true;
	} else {
		conclude(&a, ADVICE_MIGRATE, best.why, "");
	}
	*ret_advice = a;
}
