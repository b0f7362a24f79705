/* SPDX-License-Identifier: MIT */
/* Composes the sentence: the service of the vGPU, the cause, and the share of bad time. */
#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "gover-d/diagnosis/cause-text.h"

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

static void add_service(const struct subject *s, char text[DIAGNOSIS_TEXT_MAX])
{
	const struct vgpu *v = s->vgpu;
	double target = s->terms.target_fps;

	text_append(text, DIAGNOSIS_TEXT_MAX, "%s ", v->contract.id);
	if (target > 0 && v->promise.track.rate_seen)
		text_append(text, DIAGNOSIS_TEXT_MAX, "gets %.*f of %.6g %s", s->digits,
			    v->promise.track.rate, target, s->unit);
	else if (target > 0)
		text_append(text, DIAGNOSIS_TEXT_MAX, "reports no %s (target %.6g %s)",
			    s->terms.counts_work ? "work" : "frames", target, s->unit);
	else if (v->promise.state == PROMISE_BROKEN)
		text_append(text, DIAGNOSIS_TEXT_MAX,
			    "uses its whole cap of %d %% and has bought %d %% of the GPU",
			    v->cap_pct, s->terms.initial_cap_pct);
	else
		text_append(text, DIAGNOSIS_TEXT_MAX, "uses %.1f %% of the GPU",
			    v->promise.track.load_pct);
}

/* Appends the state of a vGPU without a cause. */
static void add_kept(const struct subject *s, char text[DIAGNOSIS_TEXT_MAX])
{
	text_append(text, DIAGNOSIS_TEXT_MAX, " with a cap of %d %% (sold %d %%)", s->vgpu->cap_pct,
		    s->terms.initial_cap_pct);
}

/* During an alarm, states for how much of the time the promise was broken. */
static void add_share(const struct subject *s, char text[DIAGNOSIS_TEXT_MAX])
{
	const struct promise_vgpu *promise = &s->vgpu->promise;
	const struct promise_limits *limits = &s->config->promise;
	double fast_pct = promise_fast_pct(promise);
	bool fast = fast_pct >= limits->fast_pct / 2;
	double window_s = fast ? limits->fast_window_s : limits->slow_window_s;
	bool seconds = window_s < 120;

	if (!promise->alarm)
		return;
	text_append(text, DIAGNOSIS_TEXT_MAX, "; below the promise for %.3g %% of the last %.0f %s",
		    fast ? fast_pct : promise_slow_pct(promise), seconds ? window_s : window_s / 60,
		    seconds ? "s" : "min");
}

static void explain_missing(const struct subject *s, struct diagnosis *d)
{
	snprintf(d->text, sizeof(d->text),
		 "%s has a contract of %d %% and does not exist on GPU %s", s->vgpu->contract.id,
		 s->vgpu->contract.terms.initial_cap_pct, s->gpu->config.name);
	snprintf(d->fix, sizeof(d->fix), "create the vGPU again, or end its contract");
	snprintf(d->command, sizeof(d->command), "gover-ctl vgpu show %s", s->vgpu->contract.id);
}

void diagnose(const struct config *config, const struct host_gpu *gpu, const struct vgpu *vgpu,
	      enum promise_cause cause, struct diagnosis *ret_diagnosis)
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

	*ret_diagnosis = (struct diagnosis){.text = ""};
	if (!vgpu->device) {
		explain_missing(&subject, ret_diagnosis);
		return;
	}
	if (!vgpu->promise.track.seen && cause == PROMISE_NO_CAUSE) {
		text_append(ret_diagnosis->text, sizeof(ret_diagnosis->text),
			    "%s has no reading yet", vgpu->contract.id);
		return;
	}
	add_service(&subject, ret_diagnosis->text);
	if (cause == PROMISE_NO_CAUSE) {
		add_kept(&subject, ret_diagnosis->text);
	} else {
		text_append(ret_diagnosis->text, sizeof(ret_diagnosis->text), ": ");
		cause_text_add(&subject, cause, ret_diagnosis);
	}
	add_share(&subject, ret_diagnosis->text);
}
