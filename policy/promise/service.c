/* SPDX-License-Identifier: MIT */
/* Distinguishes a vGPU without service from a vGPU without demand. */
#include <math.h>

#include "policy/promise/service.h"

#define USED	  0.01 /* a smaller load is none: reading a GPU costs GPU time too */
#define EXPECTED  1.5  /* frames or units that the target promises in a time that counts */
#define AT_ONCE_S 1.0  /* services that end within this time, or within */
#define AT_ONCE	  2    /* this number of periods, end at once */
#define CONFIRM_S 2.0  /* a state is reported after this time, and after */
#define CONFIRM	  3    /* this number of periods */

/* The readings of two periods differ by up to a period. */
static double at_once_s(double period_s)
{
	return fmax(AT_ONCE_S, AT_ONCE * period_s);
}

static bool works(const struct service_vgpu *v)
{
	return (v->sample.fps_valid && v->sample.fps > 0) ||
	       (v->sample.busy_valid && v->sample.load >= USED);
}

/* Busy time alone is no sign of life if frames are counted: a GPU that hangs may count it. */
static bool is_served(const struct service_vgpu *v)
{
	return v->sample.fps_valid ? v->sample.fps > 0
				   : v->sample.busy_valid && v->sample.load >= USED;
}

static bool is_silent(const struct service_vgpu *v)
{
	return v->target > 0 && v->sample.fps_valid && v->sample.busy_valid && !works(v) &&
	       v->track.silent_s * v->target >= EXPECTED;
}

static void read_period(struct service_vgpu *v)
{
	struct service_track *t = &v->track;

	if (v->sample.dt_s <= 0)
		return;
	if (!t->seen)
		*t = (struct service_track){.seen = true, .worked = v->delivered};
	if (works(v))
		*t = (struct service_track){.seen = true, .worked = true};
	else
		t->silent_s += v->sample.dt_s;
}

/* Others that were served in the period in which @v stopped may have stopped with it. */
static void note_others(struct service_vgpu *v, int others, double period_s)
{
	struct service_track *t = &v->track;

	if (others == 0 || t->silent_s <= at_once_s(period_s) + v->sample.dt_s)
		return;
	t->others = true;
	if (v->ask == SERVICE_ASK_NOTHING || v->ask == SERVICE_ASK_OUTSIDE)
		t->stalled = false;
}

static bool is_confirmed(const struct service_vgpu *v, double period_s)
{
	return v->track.silent_s >= fmax(CONFIRM_S, CONFIRM * period_s);
}

/* Rule 1 for one vGPU. */
static bool stopped_with_another(struct service_vgpu *const vgpus[], int n, int index,
				 double period_s)
{
	for (int i = 0; i < n; i++) {
		const struct service_vgpu *other = vgpus[i];
		double apart_s = fabs(other->track.silent_s - vgpus[index]->track.silent_s);

		if (i != index && is_silent(other) && other->track.worked && !other->track.others &&
		    other->ask != SERVICE_ASK_NOTHING && apart_s <= at_once_s(period_s))
			return true;
	}
	return false;
}

static bool may_stall(const struct service_vgpu *v, double period_s)
{
	return is_silent(v) && is_confirmed(v, period_s) && v->track.worked && !v->track.others &&
	       v->ask != SERVICE_ASK_NOTHING;
}

static enum service_state judge(const struct service_vgpu *v)
{
	const struct service_track *t = &v->track;

	if (!is_silent(v))
		return SERVICE_GIVEN;
	if (t->stalled)
		return SERVICE_STALLED;
	if (v->ask == SERVICE_ASK_WAITS)
		return SERVICE_DOUBT;
	if (v->ask == SERVICE_ASK_NOTHING || t->others || !t->worked)
		return SERVICE_PAUSED;
	if (v->ask == SERVICE_ASK_OUTSIDE && t->silent_s >= SERVICE_RESET_S)
		return SERVICE_PAUSED;
	return SERVICE_DOUBT;
}

static void summarize(struct service_vgpu *const vgpus[], int n, struct service_gpu *gpu)
{
	double longest_s = 0;

	*gpu = (struct service_gpu){.stalled = 0};
	for (int i = 0; i < n; i++) {
		double silent_s = vgpus[i]->track.silent_s;

		gpu->doubtful += vgpus[i]->state == SERVICE_DOUBT;
		if (vgpus[i]->state != SERVICE_STALLED)
			continue;
		gpu->silent_s = gpu->stalled ? fmin(gpu->silent_s, silent_s) : silent_s;
		longest_s = fmax(longest_s, silent_s);
		gpu->stalled++;
	}
	gpu->apart_s = longest_s - gpu->silent_s;
}

void service_step(struct service_vgpu *const vgpus[], int n, double period_s,
		  struct service_gpu *ret_gpu)
{
	int served = 0;

	for (int i = 0; i < n; i++) {
		read_period(vgpus[i]);
		served += vgpus[i]->sample.dt_s > 0 && is_served(vgpus[i]);
	}
	for (int i = 0; i < n; i++)
		note_others(vgpus[i], served - is_served(vgpus[i]), period_s);
	for (int i = 0; i < n; i++)
		if (served == 0 && may_stall(vgpus[i], period_s) &&
		    stopped_with_another(vgpus, n, i, period_s))
			vgpus[i]->track.stalled = true;
	for (int i = 0; i < n; i++) {
		vgpus[i]->state = judge(vgpus[i]);
		vgpus[i]->confirmed = is_confirmed(vgpus[i], period_s);
	}
	summarize(vgpus, n, ret_gpu);
}

bool service_is_missing(const struct service_gpu *gpu)
{
	return gpu->stalled + gpu->doubtful > 0;
}

enum policy_service service_for_policy(const struct service_vgpu *vgpu)
{
	if (vgpu->state == SERVICE_STALLED)
		return POLICY_STALLED;
	/* While the GPU serves others, the caps of the others go on following their demands. */
	return vgpu->state == SERVICE_DOUBT && !vgpu->track.others ? POLICY_UNSERVED
								   : POLICY_SERVED;
}
