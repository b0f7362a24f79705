/* SPDX-License-Identifier: MIT */
/* Judges each period: demands, bad time, its burn in the windows, alarms and causes. */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "policy/plan.h"
#include "policy/promise/promise.h"
#include "policy/promise/service.h"
#include "policy/signal.h"
#include "policy/window.h"

/* Everything that the rules look at. */
struct cause_facts {
	const struct policy_params *params;
	const struct policy_gpu *gpu;
	const struct policy_vgpu *view;
	const struct promise_vgpu *vgpu;
	const struct promise_gpu *host;
};

/*
 * --- alarms: a window is a ring of slots with the bad seconds of each slot; a share refers to the
 * whole window, also before the window was seen completely: a new vGPU raises no alarm after a
 * second ---
 */

#define RING (PROMISE_SLOTS + 1)
/* The newest part of the slow window that must be bad too. */
#define CONFIRM_SLOTS (PROMISE_SLOTS / 12)
/* The newest part of the slow window that ends the slow alarm. */
#define QUIET_SLOTS (PROMISE_SLOTS / 6)
/* An alarm ends below this fraction of the share that raised it. */
#define CLEAR_SHARE 0.5

static void clear_window(struct promise_window *window, double window_s)
{
	*window = (struct promise_window){.slot_s = window_s / PROMISE_SLOTS};
}

static void add(struct promise_window *window, double window_s, double dt_s, double bad_s)
{
	double bad = dt_s > 0 ? bad_s / dt_s : 0;

	if (fabs(window->slot_s * PROMISE_SLOTS - window_s) > 1e-6) /* new, or a changed key */
		clear_window(window, window_s);
	if (dt_s > 2 * window_s) /* the window contains nothing older */
		dt_s = 2 * window_s;
	while (dt_s > 0) {
		double part_s = fmin(dt_s, window->slot_s - window->in_slot_s);

		window->bad_s[window->at] += part_s * bad;
		window->in_slot_s += part_s;
		dt_s -= part_s;
		if (window->slot_s - window->in_slot_s > 1e-9)
			break;
		window->in_slot_s = 0;
		window->at = (window->at + 1) % RING;
		window->bad_s[window->at] = 0;
	}
}

double burn_share_pct(const struct promise_window *window, int slots)
{
	/* The present slot is not complete: it counts in addition to the complete ones. */
	double bad_s = 0, length_s = slots * window->slot_s;

	for (int ago = 0; ago <= slots; ago++)
		bad_s += window->bad_s[(window->at - ago + RING) % RING];
	return length_s > 0 ? fmin(100, 100 * bad_s / length_s) : 0;
}

/* An active alarm ends at a lower share than the one that raises it. */
static bool exceeds(bool burns, double share_pct, double limit_pct)
{
	return share_pct >= (burns ? CLEAR_SHARE * limit_pct : limit_pct) - 1e-9;
}

/*
 * The share of the whole window and that of its newest part raise the alarm. A larger newest part
 * ends it, so that breaks that follow each other within minutes are one alarm.
 */
static bool slow_burns(const struct promise_burn *burn, const struct promise_limits *limits)
{
	const struct promise_window *slow = &burn->slow;

	if (burn->slow_burns)
		return exceeds(true, burn_share_pct(slow, QUIET_SLOTS), limits->slow_pct);
	return exceeds(false, burn_share_pct(slow, CONFIRM_SLOTS), limits->slow_pct) &&
	       exceeds(false, burn_share_pct(slow, PROMISE_SLOTS), limits->slow_pct);
}

void burn_add(struct promise_burn *burn, const struct promise_limits *limits, double dt_s,
	      double bad_s)
{
	add(&burn->fast, limits->fast_window_s, dt_s, bad_s);
	add(&burn->slow, limits->slow_window_s, dt_s, bad_s);
	burn->fast_burns = exceeds(burn->fast_burns, burn_share_pct(&burn->fast, PROMISE_SLOTS),
				   limits->fast_pct);
	burn->slow_burns = slow_burns(burn, limits);
}

/* Spreads @bad_s bad seconds over the window. */
static void fill(struct promise_window *window, double window_s, double bad_s)
{
	clear_window(window, window_s);
	for (int i = 0; i < RING; i++)
		window->bad_s[i] = i == window->at ? 0 : bad_s / PROMISE_SLOTS;
}

/* --- causes: the first rule that applies gives the cause --- */

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

/*
 * Returns the cap in percent that @view can give without becoming overloaded, in whole steps (as
 * rule 6 of docs/design.md). 0 if it is held or its busy time is unknown.
 */
static int spare_pct_of(const struct policy_params *params, const struct policy_gpu *gpu,
			const struct policy_vgpu *view)
{
	double line = params->overload_pct / 100.0;
	double needed_pct = fmax(policy_floor_pct(params, gpu, &view->terms),
				 line > 0 ? 100 * view->sample.load / line : 100);
	int steps;

	if (view->held || !view->sample.busy_valid)
		return 0;
	steps = plan_whole_steps(gpu, view->cap_pct - needed_pct);
	return steps > 0 ? steps * gpu->step_pct : 0;
}

/* --- the rules --- */

#define RULE(name, applies)                           \
	static bool name(const struct cause_facts *f) \
	{                                             \
		return applies;                       \
	}

RULE(is_stale, !f->host->telemetry_valid || !f->view->sample.busy_valid)
RULE(is_stalled, f->vgpu->service.state == SERVICE_STALLED)

/* True if another vGPU uses much more than its cap, so that caps guarantee nothing. */
static bool is_not_enforced(const struct cause_facts *f)
{
	for (int i = 0; i < f->gpu->n_vgpus && f->host->hard_caps; i++) {
		const struct policy_vgpu *other = &f->gpu->vgpus[i];
		double load_pct = 100 * other->sample.load, limit_pct = other->cap_pct;

		if (f->gpu->sharing == POLICY_SHARING_GUARANTEE)
			limit_pct = fmax(limit_pct, policy_terms_ceiling_pct(&other->terms));
		if (other != f->view && other->sample.busy_valid &&
		    load_pct > EXCESS_FACTOR * limit_pct && load_pct > limit_pct + EXCESS_PCT)
			return true;
	}
	return false;
}

static bool is_guest_limit(const struct cause_facts *f)
{
	return f->view->short_of_target &&
	       !signal_gpu_bound(f->params->qos_gpu_bound_pct / 100.0, f->gpu, f->view);
}

RULE(is_foreign, f->view->held && f->vgpu->foreign)
RULE(is_held, f->view->held)

static bool is_at_ceiling(const struct cause_facts *f)
{
	int ceiling_pct = policy_terms_ceiling_pct(&f->view->terms);

	/* Without limits, a vGPU is at its ceiling only if it uses what was sold. */
	if (f->host->observes)
		return 100 * f->view->sample.load >= CEILING_USED * ceiling_pct;
	return signal_room_steps(f->gpu, f->view) == 0;
}

RULE(is_not_acting, !f->host->acts)
RULE(is_write_failed, f->vgpu->write_failed)
RULE(is_overcommitted, promise_is_overcommitted(f->host))

static bool has_no_donor(const struct cause_facts *f)
{
	int own_pct = spare_pct_of(f->params, f->gpu, f->view);

	return f->host->spare_pct - own_pct < f->gpu->step_pct;
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

/* Returns the first row of PROMISE_CAUSES that applies to a bad period. */
static enum promise_cause find_cause(const struct cause_facts *facts)
{
	static bool (*const applies[PROMISE_CAUSE_COUNT])(const struct cause_facts *) = {
		[PROMISE_TELEMETRY_STALE] = is_stale,
		[PROMISE_GPU_STALLED] = is_stalled,
		[PROMISE_CAPS_NOT_ENFORCED] = is_not_enforced,
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

	if (target > 0 && v->sample.fps_valid && v->rate > 0) {
		bool bound = signal_gpu_bound(params->qos_gpu_bound_pct / 100.0, gpu, v);

		if (bound || !v->short_of_target)
			pct = load_pct * target / v->rate;
	} else if (v->track->overload_run >= params->overload_periods && load_pct < ceiling_pct) {
		*ret_estimated = true;
		pct = fmax(load_pct, v->terms.initial_cap_pct);
	}
	return fmin(pct, ceiling_pct);
}

/* A cap that changed within the period has been in force for a part of it. */
static double allotted_pct(const struct policy_vgpu *v)
{
	return v->sample.util > 0 ? 100 * v->sample.load / v->sample.util : v->cap_pct;
}

static void read_demand(const struct policy_params *params, const struct policy_gpu *gpu,
			const struct policy_vgpu *v, struct promise_vgpu *vgpu,
			struct promise_gpu *host)
{
	struct promise_track *t = &vgpu->track;
	double weight = t->seen ? weight_of(v->sample.dt_s, MEAN_S) : 1;
	bool estimated = false;
	double pct;

	if (v->sample.dt_s > 0 && v->sample.busy_valid) {
		pct = want_pct(params, gpu, v, &estimated);
		approach(&t->load_pct, 100 * v->sample.load, weight);
		approach(&t->allotted_pct, allotted_pct(v), weight);
		approach(&t->want_pct, pct, weight);
		approach(&t->sure_pct, estimated ? 100 * v->sample.load : pct, weight);
		t->seen = true;
	}
	if (v->sample.dt_s > 0 && v->sample.fps_valid) {
		approach(&t->rate, v->rate, t->rate_seen ? weight_of(v->sample.dt_s, MEAN_S) : 1);
		t->rate_seen = true;
	} else if (!v->sample.fps_valid) {
		t->rate_seen = false;
	}
	host->wanted_pct += t->want_pct;
	host->sure_pct += t->sure_pct;
	host->spare_pct += spare_pct_of(params, gpu, v);
}

/* --- service --- */

/* A vGPU that draws nothing and uses no GPU time has paused. */
static bool is_idle(const struct policy_vgpu *v)
{
	return v->sample.busy_valid && v->sample.load < IDLE_LOAD && v->sample.fps_valid &&
	       v->rate <= 0;
}

/* Without GPU time it cannot draw: then it is starved, not idle. */
static bool is_bad(const struct cause_facts *facts)
{
	const struct policy_vgpu *v = facts->view;
	bool idle = is_idle(v) && !is_not_enforced(facts);

	return is_stalled(facts) || (v->short_of_target && !idle) || v->broken;
}

/* Returns the missing reading without which the promise cannot be judged. */
static enum promise_cause missing_reading(const struct policy_vgpu *v,
					  const struct service_vgpu *service)
{
	if (service->state == SERVICE_DOUBT && service->confirmed)
		return PROMISE_SERVICE_UNKNOWN;
	if (v->terms.target_fps > 0 && v->sample.fps_valid)
		return PROMISE_NO_CAUSE;
	if (!v->sample.busy_valid)
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
	double dt_s = facts->view->sample.dt_s;
	bool bad = is_bad(facts);
	enum promise_cause cause = bad ? find_cause(facts) : PROMISE_NO_CAUSE;
	bool guest = cause == PROMISE_GUEST_LIMIT;

	vgpu->found = cause;
	approach(&t->bad, bad, weight_of(dt_s, MEAN_S));
	/* In good time too, so that a new break does not begin with the cause of an older one. */
	for (int i = PROMISE_NO_CAUSE + 1; i < PROMISE_CAUSE_COUNT; i++)
		approach(&t->weight[i], i == (int)cause, weight_of(dt_s, CAUSE_S));
	burn_add(&t->burn[PROMISE_HOST], limits, dt_s, bad && !guest ? dt_s : 0);
	burn_add(&t->burn[PROMISE_GUEST], limits, dt_s, guest ? dt_s : 0);
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
static void pass(const struct promise_limits *limits, double dt_s, struct promise_vgpu *vgpu)
{
	struct promise_track *t = &vgpu->track;

	approach(&t->bad, 0, weight_of(dt_s, MEAN_S));
	for (int side = 0; side < PROMISE_SIDES; side++)
		burn_add(&t->burn[side], limits, dt_s, 0);
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
	double dt_s = facts->view->sample.dt_s;
	bool unread = dt_s <= 0 && facts->host->telemetry_valid;

	vgpu->found = PROMISE_NO_CAUSE;
	if (dt_s > 0 && missing == PROMISE_NO_CAUSE)
		count(limits, facts, vgpu);
	else if (dt_s > 0 && missing == PROMISE_FRAMES_MISSING)
		pass(limits, dt_s, vgpu);
	set_alarm(vgpu);
	if (unread) /* a first period or a late sweep does not change the state */
		return;
	vgpu->state = PROMISE_KEPT;
	vgpu->cause = PROMISE_NO_CAUSE;
	if (missing != PROMISE_NO_CAUSE) {
		vgpu->state = PROMISE_UNKNOWN;
		vgpu->cause = vgpu->found = missing;
	} else if (is_stalled(facts)) {
		vgpu->state = PROMISE_BROKEN;
		vgpu->cause = vgpu->found = PROMISE_GPU_STALLED;
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

	t->unraised_s += facts->view->sample.dt_s;
	if (is_bad(facts) && cap_pct <= t->highest_cap_pct)
		return;
	t->unraised_s = 0;
	t->highest_cap_pct = cap_pct;
}

void promise_step(const struct policy_params *params, const struct promise_limits *limits,
		  const struct policy_gpu *gpu, struct promise_gpu *host,
		  struct promise_vgpu *const vgpus[])
{
	host->wanted_pct = host->sure_pct = 0;
	host->spare_pct = max_int(100 - plan_sum_cap_pct(gpu), 0);
	for (int i = 0; i < gpu->n_vgpus; i++)
		read_demand(params, gpu, &gpu->vgpus[i], vgpus[i], host);
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
	struct promise_burn *burn = &vgpu->track.burn[PROMISE_HOST];

	fill(&burn->slow, limits->slow_window_s, fmin(fmax(bad_s, 0), limits->slow_window_s));
	burn->slow_burns = burns;
}

void promise_resume(struct promise_vgpu *vgpu, const struct promise_limits *limits,
		    enum promise_cause cause)
{
	enum promise_side side = cause == PROMISE_GUEST_LIMIT ? PROMISE_GUEST : PROMISE_HOST;
	struct promise_burn *burn = &vgpu->track.burn[side];

	fill(&burn->fast, limits->fast_window_s, limits->fast_window_s);
	burn->fast_burns = true;
	if (cause != PROMISE_NO_CAUSE)
		vgpu->track.weight[cause] = 1;
	vgpu->track.bad = 1;
}
