/* SPDX-License-Identifier: MIT */
/*
 * Composes the sentence: the service of the vGPU, the cause, and the share of bad time.
 *
 * One function finds the words for each cause. A command that changes something is one that the
 * operator can run as it is printed; where the right change depends on facts that gover-d does not
 * know, the command shows more.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "gover-d/diagnosis/diagnosis.h"

struct subject {
	const struct config *config;
	const struct host_gpu *gpu;
	const struct vgpu *vgpu;
	struct policy_terms terms; /* in the unit of the GPU */
	const char *unit;	   /* of rates: "FPS" or "units/s" */
	int digits;		   /* decimal places of rates */
};

#define DONORS_NAMED	3
#define SATURATED	0.95 /* share of the cap; the rest is the granularity of the slices */
#define SPARE_USED	1.05 /* share of the cap above which it uses time that others leave */
#define NEED_MARGIN	1.05 /* a cap of exactly the demand leaves no room for a heavier frame */
#define ADD(d, ...)	text_append((d)->text, sizeof((d)->text), __VA_ARGS__)
#define WHY(d, ...)	text_append((d)->why, sizeof((d)->why), __VA_ARGS__)
#define FIX(d, ...)	snprintf((d)->fix, sizeof((d)->fix), __VA_ARGS__)
#define COMMAND(d, ...) snprintf((d)->command, sizeof((d)->command), __VA_ARGS__)

static const char *id_of(const struct subject *s)
{
	return s->vgpu->contract.id;
}

static const char *gpu_of(const struct subject *s)
{
	return s->gpu->config.name;
}

static void add_telemetry_stale(const struct subject *s, struct diagnosis *d)
{
	WHY(d, "the busy time on GPU %s cannot be read, so gover-d moves no capacity", gpu_of(s));
	FIX(d, "restore the reading of the busy time");
	COMMAND(d, "gover-ctl doctor");
}

static void add_gpu_stalled(const struct subject *s, struct diagnosis *d)
{
	const struct service_gpu *service = &s->gpu->promise.service;

	WHY(d,
	    "GPU %s serves nothing: %d vGPUs with live programs stopped within %.1f s of each "
	    "other, and no vGPU was served since",
	    gpu_of(s), service->stalled, service->apart_s);
	FIX(d, "find the hang or reset of the GPU in the log of the kernel, and restart the GPU or "
	       "the programs that do not continue");
	COMMAND(d, "journalctl -k -n 50");
}

static void add_service_unknown(const struct subject *s, struct diagnosis *d)
{
	const struct service_vgpu *service = &s->vgpu->promise.service;

	WHY(d,
	    "it has used no GPU time for %.0f s, and its program lives: ", service->track.silent_s);
	if (service->ask == SERVICE_ASK_WAITS)
		WHY(d, "the program waits for the GPU or for its display");
	else
		WHY(d, "it is unknown whether the program waits for its user, because the GPU has "
		       "served no other vGPU since");
	FIX(d, "if the program should work, look for a hang of the GPU in the log of the kernel");
	COMMAND(d, "journalctl -k -n 50");
}

/* With guarantees, a vGPU may use the time that others leave, up to its contract. */
static int limit_pct(const struct subject *s, const struct vgpu *v)
{
	const struct policy_terms terms = host_terms(s->gpu, &v->contract);
	int ceiling_pct = policy_terms_ceiling_pct(&terms);

	return s->gpu->traits.guarantees && ceiling_pct > v->cap.pct ? ceiling_pct : v->cap.pct;
}

static const struct vgpu *heaviest_excess(const struct subject *s)
{
	const struct vgpu *worst = NULL;
	double most = 0;

	for (const struct vgpu *v = s->gpu->vgpus; v; v = v->next) {
		double excess = 100 * v->row.sample.load - limit_pct(s, v);

		if (v == s->vgpu || !v->device || !v->row.sample.busy_valid || excess <= most)
			continue;
		most = excess;
		worst = v;
	}
	return worst;
}

static void add_caps_not_enforced(const struct subject *s, struct diagnosis *d)
{
	const struct vgpu *other = heaviest_excess(s);

	WHY(d, "the scheduler of GPU %s does not enforce the caps", gpu_of(s));
	if (other)
		WHY(d, " (vGPU %s uses %.0f %% of the GPU with a %s of %d %%)", other->contract.id,
		    100 * other->row.sample.load,
		    limit_pct(s, other) > other->cap.pct ? "contract" : "cap", limit_pct(s, other));
	FIX(d, "enable the vGPU scheduler of GPU %s", gpu_of(s));
	COMMAND(d, "gover-ctl doctor");
}

static void add_guest_limit(const struct subject *s, struct diagnosis *d)
{
	const struct promise_track *t = &s->vgpu->promise.track;

	WHY(d, "the guest is the limit, because it uses only %.1f %% of the GPU", t->load_pct);
	if (t->load_pct > SPARE_USED * t->allotted_pct)
		WHY(d, ", which has unused time");
	else
		WHY(d, " with a cap of %.0f %%", t->allotted_pct);
	FIX(d, "find the limit inside the guest: CPU, memory, network or a frame limiter; a larger "
	       "cap does not help");
	COMMAND(d, "gover-ctl history %s --from -10m", id_of(s));
}

static void add_foreign_cap(const struct subject *s, struct diagnosis *d)
{
	WHY(d, "another program set the cap to %d %%, and gover-d does not overwrite it",
	    s->vgpu->cap.pct);
	FIX(d, "stop the other program, then release the vGPU");
	COMMAND(d, "gover-ctl vgpu release %s", id_of(s));
}

static void add_held(const struct subject *s, struct diagnosis *d)
{
	if (!s->vgpu->contract.held) {
		WHY(d, "the driver does not keep the caps that are written, and the cap is %d %%",
		    s->vgpu->cap.pct);
		FIX(d, "see the alert write_failed");
		COMMAND(d, "gover-ctl alerts");
		return;
	}
	WHY(d, "an operator holds its cap at %d %%", s->vgpu->cap.pct);
	FIX(d, "release the vGPU");
	COMMAND(d, "gover-ctl vgpu release %s", id_of(s));
}

/* A program that does not use its whole cap is also limited by something else. */
static bool uses_whole_cap(const struct subject *s)
{
	return s->vgpu->promise.track.load_pct >= SATURATED * s->vgpu->promise.track.allotted_pct;
}

/* Returns the cap that the target needs, also above the contract; 0: unknown. */
static double need_pct(const struct subject *s)
{
	const struct promise_track *t = &s->vgpu->promise.track;
	bool known = s->terms.target_fps > 0 && t->rate_seen && t->rate > 0 && uses_whole_cap(s);

	return known ? t->load_pct * s->terms.target_fps / t->rate : 0;
}

/* Returns the rate that the vGPU reaches now, rounded down to a number that can be promised. */
static double reached_rate(const struct subject *s)
{
	double scale = s->digits > 1 ? 100 : 1;

	return floor(s->vgpu->promise.track.rate * scale) / scale;
}

/* Returns the cap to sell, in whole steps above the present contract; above 100: none. */
static int sufficient_cap_pct(const struct subject *s, double need)
{
	int step = s->gpu->traits.step_pct > 0 ? s->gpu->traits.step_pct : 1;
	int least = s->terms.initial_cap_pct + step;
	double pct = ceil(NEED_MARGIN * need / step) * step;

	if (need <= 0 || pct > 100 || s->terms.burst)
		return 101;
	return pct > least ? (int)pct : least;
}

static void add_contract_too_small(const struct subject *s, struct diagnosis *d)
{
	const struct promise_track *t = &s->vgpu->promise.track;
	double need = need_pct(s), rate = reached_rate(s);
	int cap_pct = sufficient_cap_pct(s, need);

	if (s->terms.burst)
		WHY(d, "even the whole GPU is too small for the target");
	else
		WHY(d, "its contract of %d %% of the GPU is too small for the target",
		    s->terms.initial_cap_pct);
	if (need > s->terms.initial_cap_pct)
		WHY(d, ", which needs about %.0f %%", need);
	else if (!uses_whole_cap(s))
		WHY(d, ", and the guest limits it too, because it uses only %.0f %% of its cap",
		    100 * t->load_pct / t->allotted_pct);
	if (cap_pct <= 100) {
		FIX(d,
		    "sell at least %d %% of the GPU, or lower the target to the %.6g %s that it "
		    "reaches",
		    cap_pct, rate, s->unit);
		COMMAND(d, "gover-ctl vgpu set %s --cap %d", id_of(s), cap_pct);
	} else if (rate > 0) {
		FIX(d, "lower the target to the %.6g %s that it reaches", rate, s->unit);
		COMMAND(d, "gover-ctl vgpu set %s --target-%s %.6g", id_of(s),
			s->terms.counts_work ? "rate" : "fps", rate);
	} else {
		FIX(d, "lower the target, or move the vGPU to a faster GPU");
		COMMAND(d, "gover-ctl vgpu show %s", id_of(s));
	}
}

static void add_not_acting(const struct subject *s, struct diagnosis *d)
{
	if (s->gpu->traits.observes) {
		WHY(d, "GPU %s is only observed, because backend %s cannot set caps", gpu_of(s),
		    s->gpu->config.backend);
		FIX(d, "move a vGPU to another GPU");
		COMMAND(d, "gover-ctl vgpu list");
		return;
	}
	if (s->gpu->mode == GPU_MODE_ACT) {
		WHY(d, "gover-d runs with --dry-run and changes no cap");
		FIX(d, "start gover-d without --dry-run");
		COMMAND(d, "systemctl cat gover-d");
		return;
	}
	WHY(d, "GPU %s is in mode %s, in which gover-d changes no cap", gpu_of(s),
	    gpu_mode_name(s->gpu->mode));
	FIX(d, "let gover-d act on the GPU again");
	COMMAND(d, "gover-ctl thaw %s", gpu_of(s));
}

static void add_cap_write_failed(const struct subject *s, struct diagnosis *d)
{
	WHY(d, "a cap could not be written, so its cap stays at %d %%", s->vgpu->cap.pct);
	FIX(d, "remove the error that the log contains for each write");
	COMMAND(d, "journalctl -u gover-d GOVER_VGPU=%s", id_of(s));
}

static void add_gpu_overcommitted(const struct subject *s, struct diagnosis *d)
{
	const struct promise_gpu *host = &s->gpu->promise;
	const struct vgpu *move = diagnosis_best_move(s->gpu);

	WHY(d, "the GPU is overcommitted, %s%.0f %% wanted (",
	    host->wanted_pct > host->sure_pct + 1 ? "up to " : "", host->wanted_pct);
	diagnosis_append_wants(s->gpu, d->why, sizeof(d->why));
	WHY(d, ")%s",
	    host->spare_pct < s->gpu->traits.step_pct ? ", and no donor has a whole step left"
						      : "");
	if (move)
		FIX(d,
		    "move %s to another host (%.0f %% wanted without it); stop selling on GPU %s "
		    "until then",
		    move->contract.id, host->wanted_pct - move->promise.track.want_pct, gpu_of(s));
	COMMAND(d, "gover-ctl drain %s", gpu_of(s));
}

static int floor_pct(const struct subject *s, const struct vgpu *v)
{
	return policy_floor_pct(&s->config->params, &s->gpu->view, &v->contract.terms);
}

/* Appends why @v gives no cap. */
static void add_reason(const struct subject *s, const struct vgpu *v, struct diagnosis *d)
{
	if (v->contract.held)
		WHY(d, "%s is held at %d %%", v->contract.id, v->cap.pct);
	else if (v->cap.pct - floor_pct(s, v) < s->gpu->traits.step_pct)
		WHY(d, "%s is at its floor of %d %%", v->contract.id, floor_pct(s, v));
	else
		WHY(d, "%s needs its cap of %d %%", v->contract.id, v->cap.pct);
}

static void add_donors_at_floor(const struct subject *s, struct diagnosis *d)
{
	const struct vgpu *held = NULL, *floored = NULL;
	int n = 0;

	WHY(d, "no other vGPU can give a step of its cap");
	for (const struct vgpu *v = s->gpu->vgpus; v; v = v->next) {
		if (v == s->vgpu || !v->device)
			continue;
		if (n++ < DONORS_NAMED) {
			WHY(d, "%s", n == 1 ? ": " : ", ");
			add_reason(s, v, d);
		}
		if (!held && v->contract.held)
			held = v;
		if (!floored && !v->contract.held && v->contract.terms.min_cap_pct > 0)
			floored = v;
	}
	if (n > DONORS_NAMED)
		WHY(d, " and %d others", n - DONORS_NAMED);
	if (held) {
		FIX(d, "release %s", held->contract.id);
		COMMAND(d, "gover-ctl vgpu release %s", held->contract.id);
	} else if (floored) {
		FIX(d, "lower the floor of %s", floored->contract.id);
		COMMAND(d, "gover-ctl vgpu set %s --min-cap 0", floored->contract.id);
	} else {
		FIX(d, "move one vGPU to another host");
		COMMAND(d, "gover-ctl vgpu list");
	}
}

static void add_policy_idle(const struct subject *s, struct diagnosis *d)
{
	const char *policy = s->config->policy;
	bool severe = s->gpu->view.conditions & POLICY_SEVERE_OVERLOAD;

	WHY(d, "policy %s moves no capacity to it%s, although %d %% of the GPU is spare", policy,
	    severe ? " while two or more vGPUs are overloaded" : "", s->gpu->promise.spare_pct);
	if (strcmp(policy, "qos") == 0) {
		FIX(d, "the last decisions show which vGPU the policy prefers");
		COMMAND(d, "gover-ctl decisions --vgpu %s", id_of(s));
	} else {
		FIX(d, "select policy qos, which serves several overloaded vGPUs");
		COMMAND(d, "gover-ctl policy set name=qos");
	}
}

static void add_adjusting(const struct subject *s, struct diagnosis *d)
{
	WHY(d, "gover-d is raising its cap (%d %% now)", s->vgpu->cap.pct);
	FIX(d, "wait: the next periods show whether the cap becomes sufficient");
	COMMAND(d, "gover-ctl why %s", id_of(s));
}

static void add_frames_missing(const struct subject *s, struct diagnosis *d)
{
	bool work = s->terms.counts_work;

	WHY(d, "none of its programs reports %s, so the promise cannot be checked",
	    work ? "units of work" : "frames");
	FIX(d, "start its programs with %s", work ? "libgover-cl.so" : "libgover-fps.so");
	COMMAND(d, "gover-ctl vgpu show %s", id_of(s));
}

/* Each sets why, fix and command. */
static void (*const causes[PROMISE_CAUSE_COUNT])(const struct subject *, struct diagnosis *) = {
	[PROMISE_TELEMETRY_STALE] = add_telemetry_stale,
	[PROMISE_GPU_STALLED] = add_gpu_stalled,
	[PROMISE_SERVICE_UNKNOWN] = add_service_unknown,
	[PROMISE_CAPS_NOT_ENFORCED] = add_caps_not_enforced,
	[PROMISE_GUEST_LIMIT] = add_guest_limit,
	[PROMISE_FOREIGN_CAP] = add_foreign_cap,
	[PROMISE_HELD] = add_held,
	[PROMISE_CONTRACT_TOO_SMALL] = add_contract_too_small,
	[PROMISE_NOT_ACTING] = add_not_acting,
	[PROMISE_CAP_WRITE_FAILED] = add_cap_write_failed,
	[PROMISE_GPU_OVERCOMMITTED] = add_gpu_overcommitted,
	[PROMISE_DONORS_AT_FLOOR] = add_donors_at_floor,
	[PROMISE_POLICY_IDLE] = add_policy_idle,
	[PROMISE_ADJUSTING] = add_adjusting,
	[PROMISE_FRAMES_MISSING] = add_frames_missing,
};

#define WANTS_NAMED 4

/* --- demands --- */

/* Demands are compared as they are printed, so that the order of nearly equal ones is stable. */
static long want_pct(const struct vgpu *vgpu)
{
	return vgpu->device ? lround(vgpu->promise.track.want_pct) : 0;
}

const struct vgpu *diagnosis_best_move(const struct host_gpu *gpu)
{
	long over_pct = lround(gpu->promise.wanted_pct - 100);
	const struct vgpu *fits = NULL, *largest = NULL;

	for (const struct vgpu *v = gpu->vgpus; v; v = v->next) {
		if (!v->device)
			continue;
		if (!largest || want_pct(v) > want_pct(largest))
			largest = v;
		if (want_pct(v) >= over_pct && (!fits || want_pct(v) < want_pct(fits)))
			fits = v;
	}
	return fits ? fits : largest;
}

const struct vgpu *diagnosis_next_want(const struct host_gpu *gpu, const struct vgpu *last)
{
	const struct vgpu *best = NULL;
	bool passed = false;

	for (const struct vgpu *v = gpu->vgpus; v; v = v->next) {
		bool later = !last || want_pct(v) < want_pct(last) ||
			     (passed && want_pct(v) <= want_pct(last));

		passed = passed || v == last;
		if (v->device && later && (!best || want_pct(v) > want_pct(best)))
			best = v;
	}
	return best;
}

void diagnosis_append_wants(const struct host_gpu *gpu, char *text, size_t size)
{
	const struct vgpu *v = NULL;
	int n = 0, more = 0;

	while (n < WANTS_NAMED && (v = diagnosis_next_want(gpu, v))) {
		text_append(text, size, "%s%s %.0f %%", n > 0 ? ", " : "", v->contract.id,
			    v->promise.track.want_pct);
		n++;
	}
	while (v && (v = diagnosis_next_want(gpu, v)))
		more++;
	if (more > 0)
		text_append(text, size, " and %d others", more);
}

const char *diagnosis_state_name(const struct vgpu *vgpu)
{
	static const char *const names[] = {
		[PROMISE_UNKNOWN] = "unknown",
		[PROMISE_KEPT] = "kept",
		[PROMISE_BROKEN] = "broken",
	};

	return vgpu->device ? names[vgpu->promise.state] : "missing";
}

/* --- the sentence --- */

static void add_service(const struct subject *s, struct diagnosis *d)
{
	const struct vgpu *v = s->vgpu;
	double target = s->terms.target_fps;

	ADD(d, "%s ", v->contract.id);
	if (target > 0 && v->promise.track.rate_seen)
		ADD(d, "gets %.*f of %.6g %s", s->digits, v->promise.track.rate, target, s->unit);
	else if (target > 0)
		ADD(d, "reports no %s (target %.6g %s)", s->terms.counts_work ? "work" : "frames",
		    target, s->unit);
	else if (v->promise.state == PROMISE_BROKEN && s->gpu->traits.guarantees)
		ADD(d, "uses %.1f %% of the GPU with a cap of %d %% and has bought %d %%",
		    v->promise.track.load_pct, v->cap.pct, s->terms.initial_cap_pct);
	else if (v->promise.state == PROMISE_BROKEN)
		ADD(d, "uses its whole cap of %d %% and has bought %d %% of the GPU", v->cap.pct,
		    s->terms.initial_cap_pct);
	else
		ADD(d, "uses %.1f %% of the GPU", v->promise.track.load_pct);
}

/* During an alarm, states for how much of the time the promise was broken. */
static void add_share(const struct subject *s, struct diagnosis *d)
{
	const struct promise_vgpu *promise = &s->vgpu->promise;
	const struct promise_limits *limits = &s->config->promise;
	double fast_pct = promise_fast_pct(promise);
	bool fast = fast_pct >= limits->fast_pct / 2;
	double window_s = fast ? limits->fast_window_s : limits->slow_window_s;
	bool seconds = window_s < 120;

	if (!promise->alarm)
		return;
	ADD(d, "; below the promise for %.3g %% of the last %.0f %s",
	    fast ? fast_pct : promise_slow_pct(promise), seconds ? window_s : window_s / 60,
	    seconds ? "s" : "min");
}

static void explain_missing(const struct subject *s, struct diagnosis *d)
{
	ADD(d, "%s has a contract of %d %% and does not exist on GPU %s", s->vgpu->contract.id,
	    s->vgpu->contract.terms.initial_cap_pct, s->gpu->config.name);
	FIX(d, "create the vGPU again, or end its contract");
	COMMAND(d, "gover-ctl vgpu show %s", s->vgpu->contract.id);
}

static void explain_cause(const struct subject *s, enum promise_cause cause, struct diagnosis *d)
{
	bool kept = cause == d->cause && cause != s->vgpu->promise.found;

	if (cause == PROMISE_NO_CAUSE || kept)
		return;
	*d = (struct diagnosis){.cause = cause};
	causes[cause](s, d);
}

static void explain(const struct subject *s, enum promise_cause cause, struct diagnosis *d)
{
	d->text[0] = '\0';
	if (!s->vgpu->promise.track.seen && cause == PROMISE_NO_CAUSE) {
		ADD(d, "%s has no reading yet", id_of(s));
		return;
	}
	add_service(s, d);
	if (cause == PROMISE_NO_CAUSE)
		ADD(d, " with a cap of %d %% (sold %d %%)", s->vgpu->cap.pct,
		    s->terms.initial_cap_pct);
	else
		ADD(d, ": %s", d->why);
	add_share(s, d);
}

void diagnose(const struct config *config, const struct host_gpu *gpu, const struct vgpu *vgpu,
	      struct diagnosis *diagnosis)
{
	const struct policy_terms terms = host_terms(gpu, &vgpu->contract);
	const struct subject subject = {
		.config = config,
		.gpu = gpu,
		.vgpu = vgpu,
		.terms = terms,
		.unit = terms.counts_work ? "units/s" : "FPS",
		.digits = terms.counts_work && terms.target_fps < 10 ? 2 : 1,
	};
	enum promise_cause cause = vgpu->promise.cause;

	if (!vgpu->device || cause == PROMISE_NO_CAUSE)
		*diagnosis = (struct diagnosis){.cause = PROMISE_NO_CAUSE};
	if (!vgpu->device) {
		explain_missing(&subject, diagnosis);
		return;
	}
	explain_cause(&subject, cause, diagnosis);
	explain(&subject, cause, diagnosis);
}
