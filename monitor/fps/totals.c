/* SPDX-License-Identifier: MIT */
/* The vGPUs are a sorted array, which is searched for each connection and at every tick. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "monitor/fps/totals.h"

bool fps_quota_take(struct fps_quota *quota, int *held)
{
	int limit = *held < quota->few ? quota->all : quota->all - quota->reserved;

	if (*held >= quota->each || quota->used >= limit)
		return false;
	quota->used++;
	(*held)++;
	return true;
}

void fps_quota_give(struct fps_quota *quota, int *held)
{
	quota->used--;
	(*held)--;
}

void fps_refusals_add(struct fps_refusals *refusals, int held, uint64_t now_ns)
{
	refusals->n++;
	refusals->newest_ns = now_ns;
	refusals->held = held;
}

/*
 * A rate from a count is wrong by up to one frame at each end of the period, that is 10 FPS if the
 * period is 200 ms. The parts of the frames at both ends correct it. A sum over several periods is
 * not changed by more than one frame, because the part at the end of a period is that at the begin
 * of the next.
 */
#define PAUSE_NS NS_PER_S

double fps_phase_take(struct fps_phase *phase, uint64_t frames, uint64_t newest_ns, uint64_t now_ns)
{
	uint64_t passed_ns;

	if (frames > 0) {
		if (phase->newest_ns > 0 && newest_ns > phase->newest_ns)
			phase->interval_ns = (newest_ns - phase->newest_ns) / frames;
		if (phase->interval_ns > PAUSE_NS)
			phase->interval_ns = 0;
		phase->newest_ns = newest_ns;
	}
	if (phase->interval_ns == 0 || now_ns <= phase->newest_ns)
		return 0;
	passed_ns = now_ns - phase->newest_ns;
	return passed_ns < phase->interval_ns ? (double)passed_ns / (double)phase->interval_ns : 1;
}

static int compare(const void *id, const void *entry)
{
	return strcmp(id, (*(struct fps_vgpu *const *)entry)->id);
}

static struct fps_vgpu **find(const struct fps_vgpus *vgpus, const char *id)
{
	if (vgpus->n == 0)
		return NULL;
	return bsearch(id, vgpus->list, vgpus->n, sizeof(struct fps_vgpu *), compare);
}

struct fps_vgpu *fps_vgpus_find(const struct fps_vgpus *vgpus, const char *id)
{
	struct fps_vgpu **known = find(vgpus, id);

	return known ? *known : NULL;
}

struct fps_vgpu *fps_vgpus_get(struct fps_vgpus *vgpus, const char *id)
{
	struct fps_vgpu **known = find(vgpus, id), **list;
	struct fps_vgpu *fresh;
	size_t at = 0;

	if (known)
		return *known;
	vgpus->list = list = xreallocarray(vgpus->list, vgpus->n + 1, sizeof(struct fps_vgpu *));
	fresh = xcalloc(1, sizeof(*fresh));
	(void)id_copy(fresh->id, id);
	while (at < vgpus->n && strcmp(list[at]->id, id) < 0)
		at++;
	memmove(&list[at + 1], &list[at], (vgpus->n - at) * sizeof(struct fps_vgpu *));
	list[at] = fresh;
	vgpus->n++;
	return fresh;
}

void fps_vgpus_remove(struct fps_vgpus *vgpus, struct fps_vgpu *vgpu)
{
	struct fps_vgpu **known = find(vgpus, vgpu->id);

	vgpus->n--;
	memmove(known, known + 1, (size_t)(vgpus->list + vgpus->n - known) * sizeof(*known));
	free(vgpu);
}

void fps_vgpus_free(struct fps_vgpus *vgpus)
{
	for (size_t i = 0; i < vgpus->n; i++)
		free(vgpus->list[i]);
	free(vgpus->list);
	*vgpus = (struct fps_vgpus){.n = 0};
}

/* Returns the middle of the bucket that contains the percentile. The error is at most 9 %. */
double fps_percentile_ms(const uint64_t frame_time[FPS_WIRE_BUCKETS], double above)
{
	uint64_t frames = 0, up_to = 0;
	int b = 0;

	for (int i = 0; i < FPS_WIRE_BUCKETS; i++)
		frames += frame_time[i];
	if (frames == 0)
		return 0;
	for (; b < FPS_WIRE_BUCKETS - 1; b++) {
		up_to += frame_time[b];
		if (up_to >= frames - (uint64_t)((double)frames * above))
			break;
	}
	return FPS_WIRE_BUCKET0_NS / 1e6 * exp2((b + 0.5) / 4);
}

enum fps_present fps_present_of(const struct fps_totals *totals)
{
	if (totals->present_waits > 0)
		return FPS_PRESENT_WAITS;
	return totals->open > 0 && totals->present_outside == totals->open && totals->reporting == 0
		       ? FPS_PRESENT_OUTSIDE
		       : FPS_PRESENT_UNKNOWN;
}
