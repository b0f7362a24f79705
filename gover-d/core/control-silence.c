/* SPDX-License-Identifier: MIT */
/*
 * Adds, removes and expires silences. Each selector of a new silence must name an alert, a GPU or a
 * vGPU that exists.
 */
#include <errno.h>

#include "gover-d/core/control-silence.h"
#include "gover-d/core/state.h"

/* Applies a changed silence to the alerts at once. */
static void silence_changed(struct manager *m, const struct silence *silence, int64_t ended_ms)
{
	observers_silence(&m->observers, silence, ended_ms);
	alerts_update_silenced(m->alerts, clock_now().wall_ms);
}

#define SILENCE_DAYS_MAX 366

static int check_silence(struct manager *m, const struct silence *s, int64_t now_ms,
			 struct err *reterr)
{
	enum alert_kind kind;

	if (!s->alert[0] && !s->gpu[0] && !s->vgpu[0])
		return err_condition(reterr, CONTROL_E_INVALID,
				     "alert, gpu or vgpu: at least one of them is required");
	if (s->alert[0] && alerts_kind_parse(s->alert, &kind) < 0)
		return err_condition(reterr, CONTROL_E_INVALID, "alert: unknown alert %s",
				     s->alert);
	if (s->gpu[0] && !host_find_gpu(&m->host, s->gpu))
		return err_condition(reterr, CONTROL_E_INVALID, "gpu: no GPU %s on this host",
				     s->gpu);
	if (s->vgpu[0] && !host_find_vgpu(&m->host, s->vgpu, NULL))
		return err_condition(reterr, CONTROL_E_INVALID, "vgpu: no vGPU %s on this host",
				     s->vgpu);
	if (!s->reason[0])
		return err_condition(reterr, CONTROL_E_INVALID, "reason: required");
	if (s->until_ms <= now_ms || (s->until_ms - now_ms) / 86400000 >= SILENCE_DAYS_MAX)
		return err_condition(reterr, CONTROL_E_INVALID,
				     "until: must be in the future and at most %d days ahead",
				     SILENCE_DAYS_MAX);
	return 0;
}

int control_silence_add(struct manager *m, struct silence *silence, struct err *reterr)
{
	struct instant now = clock_now();
	int r = check_silence(m, silence, now.wall_ms, reterr);

	if (r != 0)
		return r;
	silence->created_ms = now.wall_ms;
	if (silences_add(&m->silences, silence) < 0)
		return err_condition(reterr, CONTROL_E_TOO_MANY, "too many silences (limit %d)",
				     SILENCES_MAX);
	silence_changed(m, silence, /* ended_ms= */ 0);
	return 0;
}

int control_silence_remove(struct manager *m, int64_t id, struct err *reterr)
{
	struct silence silence;

	if (silences_remove(&m->silences, id, &silence) < 0)
		return err_condition(reterr, CONTROL_E_NOT_FOUND, "no silence %lld", (long long)id);
	silence_changed(m, &silence, clock_now().wall_ms);
	return 0;
}

void control_silence_expire(struct manager *m, struct instant now)
{
	struct silence silence;

	while (silences_expire(&m->silences, now.wall_ms, &silence))
		silence_changed(m, &silence, now.wall_ms);
}
