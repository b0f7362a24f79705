/* SPDX-License-Identifier: MIT */
/* Judges each period: demands, bad time, alarms and causes. */
#include <math.h>
#include <string.h>

#include "policy/plan.h"
#include "policy/promise/burn.h"
#include "policy/promise/cause.h"
#include "policy/rate.h"
#include "policy/signal.h"

/* Time constants of the means. Short, because operators watch the effect of a change. */
#define MEAN_S	5
#define CAUSE_S 10
/* Share of bad time from which the promise counts as broken; lower during an alarm. */
#define BROKEN_SHARE	   0.5
#define STILL_BROKEN_SHARE 0.2
#define WANTED_NOISE_PCT   0.5	/* sums of demands are measured with noise of about this size */
#define ESTIMATE_PCT	   10	/* an assumed demand is an upper bound, so it needs a margin */
#define IDLE_LOAD	   0.01 /* a vGPU without frames that uses less of the GPU is idle */

void promise_limits_default(struct promise_limits *limits)
{
	*limits = (struct promise_limits){
		.fast_pct = 50, .fast_window_s = 60, .slow_pct = 5, .slow_window_s = 3600};
}

static double weight_of(double dt_s, double constant_s)
{
	return dt_s / (dt_s + constant_s);
}

static void approach(double *mean, double value, double weight)
{
	*mean += weight * (value - *mean);
}

/* --- demand --- */

/*
 * Returns the demand in this period, percent of the GPU, at most the ceiling. With a target, the
 * demand is the GPU time of a frame times the target. A vGPU without a target that uses its whole
 * cap may want more than it shows: its contract is assumed, and *ret_estimated is set.
 */
static double want_pct(const struct policy_params *params, const struct policy_gpu *gpu,
		       const struct policy_vgpu *v, bool *ret_estimated)
{
	double ceiling_pct = policy_ceiling_pct(gpu, &v->terms);
	double load_pct = 100 * rate_load(v), target = v->terms.target_fps, pct = load_pct;

	if (target > 0 && v->fps_valid && v->rate > 0) {
		bool bound = signal_gpu_bound(params->qos_gpu_bound_pct / 100.0, gpu, v);

		if (bound || !v->short_of_target)
			pct = load_pct * target / v->rate;
	} else if (v->track->overload_run >= params->overload_periods && load_pct < ceiling_pct) {
		*ret_estimated = true;
		pct = fmax(load_pct, v->terms.initial_cap_pct);
	}
	return fmin(pct, ceiling_pct);
}

static void read_demand(const struct policy_params *params, const struct policy_gpu *gpu,
			const struct policy_vgpu *v, struct promise_vgpu *vgpu,
			struct promise_gpu *host)
{
	struct promise_track *t = &vgpu->track;
	double weight = t->seen ? weight_of(vgpu->dt_s, MEAN_S) : 1;
	bool estimated = false;
	double pct;

	if (vgpu->dt_s > 0 && v->busy_valid) {
		pct = want_pct(params, gpu, v, &estimated);
		approach(&t->load_pct, 100 * v->load, weight);
		approach(&t->want_pct, pct, weight);
		approach(&t->sure_pct, estimated ? 100 * v->load : pct, weight);
		t->seen = true;
	}
	if (vgpu->dt_s > 0 && v->fps_valid) {
		approach(&t->rate, v->rate, t->rate_seen ? weight_of(vgpu->dt_s, MEAN_S) : 1);
		t->rate_seen = true;
	} else if (!v->fps_valid) {
		t->rate_seen = false;
	}
	host->wanted_pct += t->want_pct;
	host->sure_pct += t->sure_pct;
	host->spare_pct += cause_spare_pct(params, gpu, v);
}

static void read_gpu(const struct policy_params *params, const struct policy_gpu *gpu,
		     struct promise_gpu *host, struct promise_vgpu *const vgpus[])
{
	int free_pct = 100 - plan_sum_cap_pct(gpu);

	host->wanted_pct = host->sure_pct = 0;
	host->spare_pct = free_pct > 0 ? free_pct : 0;
	for (int i = 0; i < gpu->n_vgpus; i++)
		read_demand(params, gpu, &gpu->vgpus[i], vgpus[i], host);
}

/* --- service --- */

/* A vGPU that draws nothing and uses no GPU time has paused. */
static bool is_idle(const struct policy_vgpu *v)
{
	return v->busy_valid && v->load < IDLE_LOAD && v->fps_valid && v->rate <= 0;
}

static bool is_stalled(const struct promise_vgpu *vgpu)
{
	return vgpu->service.state == SERVICE_STALLED;
}

/* Without GPU time it cannot draw: then it is starved, not idle. */
static bool is_bad(const struct cause_facts *facts)
{
	const struct policy_vgpu *v = facts->view;
	bool idle = is_idle(v) && !cause_is_not_enforced(facts);

	return is_stalled(facts->vgpu) || (v->short_of_target && !idle) || v->broken;
}

/* Returns the missing reading without which the promise cannot be judged. */
static enum promise_cause missing_reading(const struct policy_vgpu *v,
					  const struct service_vgpu *service)
{
	if (service->state == SERVICE_DOUBT && service->confirmed)
		return PROMISE_SERVICE_UNKNOWN;
	if (v->terms.target_fps > 0 && v->fps_valid)
		return PROMISE_NO_CAUSE;
	if (!v->busy_valid)
		return PROMISE_TELEMETRY_STALE;
	return v->terms.target_fps > 0 ? PROMISE_FRAMES_MISSING : PROMISE_NO_CAUSE;
}

/* Returns the cause that applied most in the last bad seconds. */
static enum promise_cause heaviest_cause(const struct promise_track *t, bool host_only)
{
	enum promise_cause heaviest = PROMISE_NO_CAUSE;

	for (int i = PROMISE_NO_CAUSE + 1; i < PROMISE_CAUSE_COUNT; i++) {
		if (t->weight[i] <= 0 || (host_only && i == PROMISE_GUEST_LIMIT))
			continue;
		if (heaviest == PROMISE_NO_CAUSE || t->weight[i] > t->weight[heaviest])
			heaviest = (enum promise_cause)i;
	}
	return heaviest;
}

static bool burns(const struct promise_burn *burn)
{
	return burn->fast_burns || burn->slow_burns;
}

static void count(const struct promise_limits *limits, const struct cause_facts *facts,
		  struct promise_vgpu *vgpu)
{
	struct promise_track *t = &vgpu->track;
	bool bad = is_bad(facts);
	enum promise_cause cause = bad ? cause_find(facts) : PROMISE_NO_CAUSE;
	bool guest = cause == PROMISE_GUEST_LIMIT;

	approach(&t->bad, bad, weight_of(vgpu->dt_s, MEAN_S));
	for (int i = PROMISE_NO_CAUSE + 1; i < PROMISE_CAUSE_COUNT && bad; i++)
		approach(&t->weight[i], i == (int)cause, weight_of(vgpu->dt_s, CAUSE_S));
	burn_add(&t->burn[PROMISE_HOST], limits, vgpu->dt_s, bad && !guest ? vgpu->dt_s : 0);
	burn_add(&t->burn[PROMISE_GUEST], limits, vgpu->dt_s, guest ? vgpu->dt_s : 0);
}

static void set_alarm(struct promise_vgpu *vgpu)
{
	struct promise_track *t = &vgpu->track;

	vgpu->alarm_cause = PROMISE_NO_CAUSE;
	vgpu->alarm = true;
	if (burns(&t->burn[PROMISE_HOST]))
		vgpu->alarm_cause = heaviest_cause(t, true);
	else if (burns(&t->burn[PROMISE_GUEST]))
		vgpu->alarm_cause = PROMISE_GUEST_LIMIT;
	else
		vgpu->alarm = false;
}

/* A vGPU whose programs have ended has no bad time. */
static void pass(const struct promise_limits *limits, struct promise_vgpu *vgpu)
{
	struct promise_track *t = &vgpu->track;

	approach(&t->bad, 0, weight_of(vgpu->dt_s, MEAN_S));
	for (int side = 0; side < PROMISE_SIDES; side++)
		burn_add(&t->burn[side], limits, vgpu->dt_s, 0);
}

/* The mean of the last seconds shows a fix sooner than the share of bad time. */
static bool is_broken_now(const struct policy_vgpu *view, const struct promise_vgpu *vgpu)
{
	double line = vgpu->alarm ? STILL_BROKEN_SHARE : BROKEN_SHARE;
	double target = view->terms.target_fps;

	return vgpu->track.bad > line && !(target > 0 && vgpu->track.rate >= target);
}

static void judge(const struct promise_limits *limits, const struct cause_facts *facts,
		  struct promise_vgpu *vgpu)
{
	enum promise_cause missing = missing_reading(facts->view, &vgpu->service);
	bool unread = vgpu->dt_s <= 0 && facts->host->telemetry_valid;

	if (vgpu->dt_s > 0 && missing == PROMISE_NO_CAUSE)
		count(limits, facts, vgpu);
	else if (vgpu->dt_s > 0 && missing == PROMISE_FRAMES_MISSING)
		pass(limits, vgpu);
	set_alarm(vgpu);
	if (unread) /* a first period or a late sweep does not change the state */
		return;
	vgpu->state = PROMISE_KEPT;
	vgpu->cause = PROMISE_NO_CAUSE;
	if (missing != PROMISE_NO_CAUSE) {
		vgpu->state = PROMISE_UNKNOWN;
		vgpu->cause = missing;
	} else if (is_stalled(vgpu)) {
		vgpu->state = PROMISE_BROKEN;
		vgpu->cause = PROMISE_GPU_STALLED;
	} else if (is_broken_now(facts->view, vgpu)) {
		vgpu->state = PROMISE_BROKEN;
		vgpu->cause = heaviest_cause(&vgpu->track, burns(&vgpu->track.burn[PROMISE_HOST]));
	}
}

/* Counts the bad time since the cap of the vGPU was raised above all earlier caps of this time. */
static void watch_cap(const struct cause_facts *facts, struct promise_vgpu *vgpu)
{
	struct promise_track *t = &vgpu->track;
	int cap_pct = facts->view->cap_pct;

	t->unraised_s += vgpu->dt_s;
	if (is_bad(facts) && cap_pct <= t->highest_cap_pct)
		return;
	t->unraised_s = 0;
	t->highest_cap_pct = cap_pct;
}

void promise_step(const struct policy_params *params, const struct promise_limits *limits,
		  const struct policy_gpu *gpu, struct promise_gpu *host,
		  struct promise_vgpu *const vgpus[])
{
	read_gpu(params, gpu, host, vgpus);
	for (int i = 0; i < gpu->n_vgpus; i++) {
		const struct policy_vgpu *view = &gpu->vgpus[i];
		const struct cause_facts facts = {
			.params = params, .gpu = gpu, .view = view, .vgpu = vgpus[i], .host = host};

		watch_cap(&facts, vgpus[i]);
		judge(limits, &facts, vgpus[i]);
	}
}

/* --- results and changes --- */

static const struct promise_burn *shown_burn(const struct promise_vgpu *vgpu)
{
	const struct promise_burn *burn = vgpu->track.burn;
	bool guest = burns(&burn[PROMISE_GUEST]) && !burns(&burn[PROMISE_HOST]);

	return &burn[guest ? PROMISE_GUEST : PROMISE_HOST];
}

double promise_fast_pct(const struct promise_vgpu *vgpu)
{
	return burn_share_pct(&shown_burn(vgpu)->fast, PROMISE_SLOTS);
}

double promise_slow_pct(const struct promise_vgpu *vgpu)
{
	return burn_share_pct(&shown_burn(vgpu)->slow, PROMISE_SLOTS);
}

double promise_slow_bad_s(const struct promise_vgpu *vgpu)
{
	const struct promise_window *slow = &vgpu->track.burn[PROMISE_HOST].slow;

	return burn_share_pct(slow, PROMISE_SLOTS) / 100 * PROMISE_SLOTS * slow->slot_s;
}

bool promise_is_overcommitted(const struct promise_gpu *gpu)
{
	return gpu->sure_pct > 100 + WANTED_NOISE_PCT || gpu->wanted_pct > 100 + ESTIMATE_PCT;
}

void promise_reset(struct promise_vgpu *vgpu)
{
	struct promise_track *t = &vgpu->track;

	memset(t->burn, 0, sizeof(t->burn));
	memset(t->weight, 0, sizeof(t->weight));
	t->bad = 0;
}

void promise_restore_slow(struct promise_vgpu *vgpu, const struct promise_limits *limits,
			  double bad_s, bool burns)
{
	burn_fill_slow(&vgpu->track.burn[PROMISE_HOST], limits, bad_s, burns);
}

void promise_resume(struct promise_vgpu *vgpu, const struct promise_limits *limits,
		    enum promise_cause cause)
{
	enum promise_side side = cause == PROMISE_GUEST_LIMIT ? PROMISE_GUEST : PROMISE_HOST;

	burn_fill_fast(&vgpu->track.burn[side], limits);
	if (cause != PROMISE_NO_CAUSE)
		vgpu->track.weight[cause] = 1;
	vgpu->track.bad = 1;
}
