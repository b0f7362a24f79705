/* SPDX-License-Identifier: MIT */
/*
 * Adds, removes and expires silences. Each selector of a new silence must name an alert, a GPU or a
 * vGPU that exists.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/xalloc.h"
#include "gover-d/core/change.h"
#include "gover-d/core/control.h"
#include "gover-d/core/save.h"
#include "gover-d/core/state.h"

/* Applies a changed silence to the alerts at once. */
static void silence_changed(struct manager *m, const struct db_silence *silence)
{
	observers_pass(&m->observers, silence, silence);
	alerts_update_silenced(m->alerts, clock_now().wall_ms);
}

#define SILENCE_DAYS_MAX 366

static int check_silence(struct manager *m, const struct db_silence *s, int64_t now_ms,
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

/* All changes of silences conflict, so that each new silence gets the id that was stored. */
#define SUBJECT "silences"

struct silence_change {
	struct change change;	   /* must be the first member */
	struct db_silence silence; /* of a removal, only the id is set */
};

static int plan_add(struct manager *m, struct change *change, struct err *reterr)
{
	const struct silence_change *c = (const struct silence_change *)change;
	int r = check_silence(m, &c->silence, clock_now().wall_ms, reterr);

	if (r == 0 && m->silences.n == SILENCES_MAX)
		r = err_condition(reterr, CONTROL_E_TOO_MANY, "too many silences (limit %d)",
				  SILENCES_MAX);
	return r;
}

/* silences_add() assigns the same id again in apply_add(). */
static int amend_add(const struct change *change, struct contracts *contracts)
{
	struct db_silence silence = ((const struct silence_change *)change)->silence;

	return silences_add(&contracts->operator_state->silences, &silence);
}

static int apply_add(struct manager *m, struct change *change, struct err *reterr)
{
	struct silence_change *c = (struct silence_change *)change;

	(void)reterr;
	(void)silences_add(&m->silences, &c->silence); /* plan_add() has checked the number */
	silence_changed(m, &c->silence);
	return 0;
}

static const struct change_kind add_kind = {
	.plan = plan_add, .amend = amend_add, .apply = apply_add};

int control_silence_add(struct manager *m, const struct db_silence *silence,
			struct change_done done, struct err *reterr)
{
	struct silence_change *c = xcalloc(1, sizeof(*c));

	c->change.kind = &add_kind;
	c->change.subject.other = SUBJECT;
	c->silence = *silence;
	c->silence.created_ms = clock_now().wall_ms;
	return change_begin(m, &c->change, done, reterr);
}

static int plan_removal(struct manager *m, struct change *change, struct err *reterr)
{
	int64_t id = ((struct silence_change *)change)->silence.id;

	if (silences_find(&m->silences, id))
		return 0;
	return err_condition(reterr, CONTROL_E_NOT_FOUND, "no silence %lld", (long long)id);
}

static int amend_removal(const struct change *change, struct contracts *contracts)
{
	struct db_silence removed;

	(void)silences_remove(&contracts->operator_state->silences,
			      ((const struct silence_change *)change)->silence.id, &removed);
	return 0;
}

static int apply_removal(struct manager *m, struct change *change, struct err *reterr)
{
	struct db_silence removed;

	(void)reterr;
	(void)silences_remove(&m->silences, ((struct silence_change *)change)->silence.id,
			      &removed);
	removed.ended_ms = clock_now().wall_ms;
	silence_changed(m, &removed);
	return 0;
}

static const struct change_kind removal_kind = {
	.plan = plan_removal, .amend = amend_removal, .apply = apply_removal};

int control_silence_remove(struct manager *m, int64_t id, struct change_done done,
			   struct err *reterr)
{
	struct silence_change *c = xcalloc(1, sizeof(*c));

	c->change.kind = &removal_kind;
	c->change.subject.other = SUBJECT;
	c->silence.id = id;
	return change_begin(m, &c->change, done, reterr);
}

void control_silence_expire(struct manager *m, struct instant now)
{
	struct db_silence silence;
	bool expired = false;

	while (silences_expire(&m->silences, now.wall_ms, &silence)) {
		silence.ended_ms = now.wall_ms;
		silence_changed(m, &silence);
		expired = true;
	}
	/* Otherwise it would be in force again after a restart if the clock is set back. */
	if (expired)
		save_soon(m);
}
