/* SPDX-License-Identifier: MIT */
/*
 * Requests about GPUs, offers, alerts and silences, and the reports of gover-fleet. control-vgpu.c
 * and control-sale.c contain the requests about vGPUs.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/xalloc.h"
#include "gover-d/change/change.h"
#include "gover-d/change/control.h"
#include "gover-d/record/memory-mark.h"
#include "gover-d/record/record.h"
#include "gover-d/store/save.h"

/* --- GPUs --- */

struct gpu_change {
	struct change change; /* must be the first member */
	bool sets_mode, sets_selling;
	enum gpu_mode mode;
	bool selling;
	struct instant requested; /* a freeze begins here */
};

static int plan_gpu(struct changes *changes, struct change *change, struct err *reterr)
{
	const struct gpu_change *c = (const struct gpu_change *)change;
	const char *name = change->subject.gpu;
	const struct host_gpu *gpu = host_find_gpu(changes->host, name);

	if (!gpu)
		return err_condition(reterr, CONTROL_E_NOT_FOUND, "no GPU %s on this host", name);
	if (c->sets_mode && c->mode != GPU_MODE_OBSERVE && gpu->traits.observes)
		return err_condition(reterr, CONTROL_E_UNSUPPORTED,
				     "mode: %s is not possible for GPU %s (allowed: observe, "
				     "because backend %s cannot set caps)",
				     gpu_mode_name(c->mode), name, gpu->config.backend);
	return 0;
}

static int amend_gpu(const struct change *change, struct contracts *contracts)
{
	const struct gpu_change *c = (const struct gpu_change *)change;
	struct contracts_gpu *entry = contracts_find_gpu(contracts, change->subject.gpu);

	if (c->sets_mode)
		entry->mode = c->mode;
	since_update(&entry->frozen_since, entry->mode == GPU_MODE_FROZEN, c->requested);
	if (c->sets_selling)
		entry->selling = c->selling;
	return 0;
}

/*
 * In mode observe, the daemon renews no lease and writes no cap: a lease may have ended, also since
 * the last tick, and the cap journal does not contain the cap that it has left.
 */
static void end_observation(struct changes *changes, struct host_gpu *gpu)
{
	host_gpu_check_caps(gpu);
	for (struct vgpu *v = gpu->vgpus; v; v = v->next) {
		if (!v->device)
			continue;
		cap_set_unknown(&v->cap, true);
		if (!changes->settings->dry_run)
			cap_journal_settle(changes->caps->actuator.journal, v->contract.id,
					   v->cap.expected_pct);
	}
}

static int apply_gpu(struct changes *changes, struct change *change, struct err *reterr)
{
	const struct gpu_change *c = (const struct gpu_change *)change;
	struct host_gpu *gpu = host_find_gpu(changes->host, change->subject.gpu);
	struct offer *offer = offers_live(changes->sales->offers, change->subject.gpu);
	struct instant now = clock_now();
	enum gpu_mode mode = c->sets_mode ? c->mode : gpu->mode;
	struct since frozen_since = gpu->frozen_since;

	(void)reterr;
	if (gpu->mode == GPU_MODE_OBSERVE)
		end_observation(changes, gpu);
	since_update(&frozen_since, mode == GPU_MODE_FROZEN, c->requested);
	host_gpu_set_mode(gpu, mode, c->sets_selling ? c->selling : gpu->selling, frozen_since);
	record_decision(changes->recorder, gpu, NULL, DECISION_SET, DECISION_NOTED, now,
			"an operator set GPU %s to mode %s, selling %s", change->subject.gpu,
			gpu_mode_name(gpu->mode), gpu->selling ? "on" : "off");
	if (offer && offer->life.state == OFFER_OPEN &&
	    (!gpu->selling || gpu->mode != GPU_MODE_ACT))
		offers_end(changes->sales->offers, offer, OFFER_CLOSED, now,
			   "an operator set GPU %s to %s%s", change->subject.gpu,
			   gpu->selling ? "mode " : "selling off",
			   gpu->selling ? gpu_mode_name(gpu->mode) : "");
	return 0;
}

static const struct change_kind gpu_kind = {
	.plan = plan_gpu, .amend = amend_gpu, .apply = apply_gpu};

int control_gpu_change(struct changes *changes, const char *name, const enum gpu_mode *mode,
		       const bool *selling, struct change_done done, struct err *reterr)
{
	struct gpu_change *c = xcalloc(1, sizeof(*c));

	c->change.kind = &gpu_kind;
	(void)id_copy(c->change.subject.gpu, name); /* a name that is not valid is not found */
	c->sets_mode = mode;
	c->sets_selling = selling;
	c->mode = mode ? *mode : GPU_MODE_ACT;
	c->selling = selling && *selling;
	c->requested = clock_now();
	return change_begin(changes, &c->change, done, reterr);
}

/* --- offers and alerts --- */

struct id_change {
	struct change change; /* must be the first member */
	int64_t id;
	int64_t now_ms;	       /* time of the request */
	char by[ALERT_BY_MAX]; /* principal of the request */
};

static int begin_id_change(struct changes *changes, const struct change_kind *kind,
			   const struct change_subject *subject, int64_t id, const char *by,
			   struct change_done done, struct err *reterr)
{
	struct id_change *c = xcalloc(1, sizeof(*c));

	c->change.kind = kind;
	c->change.subject = *subject;
	c->id = id;
	snprintf(c->by, sizeof(c->by), "%s", by);
	c->now_ms = clock_now().wall_ms;
	return change_begin(changes, &c->change, done, reterr);
}

/* Finds an open offer. @participle: the end of the message about another offer. */
static int find_open(struct changes *changes, int64_t id, const char *participle,
		     const struct offer **ret_offer, struct err *reterr)
{
	const struct offer *offer = offers_find(changes->sales->offers, id);

	if (!offer)
		return err_condition(reterr, CONTROL_E_NOT_FOUND, "no offer %lld", (long long)id);
	if (offer->life.state != OFFER_OPEN)
		return err_condition(reterr, CONTROL_E_OFFER_OVER,
				     "offer %lld is %s (only an open offer can be %s)",
				     (long long)id, offer_state_name(offer->life.state),
				     participle);
	*ret_offer = offer;
	return 0;
}

static int plan_withdrawal(struct changes *changes, struct change *change, struct err *reterr)
{
	const struct offer *offer;

	return find_open(changes, ((struct id_change *)change)->id, "withdrawn", &offer, reterr);
}

static int amend_withdrawal(const struct change *change, struct contracts *contracts)
{
	operator_state_remove_hold(contracts->operator_state,
				   ((const struct id_change *)change)->id);
	return operator_state_add_withdrawn(contracts->operator_state,
					    ((const struct id_change *)change)->id);
}

static int apply_withdrawal(struct changes *changes, struct change *change, struct err *reterr)
{
	struct offer *offer = offers_find(changes->sales->offers, ((struct id_change *)change)->id);
	struct instant now = clock_now();
	bool held = offers_is_held(offer, now);

	(void)reterr;
	offer->withdrawn = true;
	offers_end(changes->sales->offers, offer, OFFER_CLOSED, now, OFFERS_WITHDRAWN "%s%s",
		   held ? " while it was held by " : "", held ? offer->hold.holder : "");
	return 0;
}

static const struct change_kind withdrawal_kind = {
	.plan = plan_withdrawal, .amend = amend_withdrawal, .apply = apply_withdrawal};

int control_offer_close(struct changes *changes, int64_t id, struct change_done done,
			struct err *reterr)
{
	const struct offer *offer = offers_find(changes->sales->offers, id);
	struct change_subject subject = {.gpu = ""};

	if (offer) /* otherwise plan_withdrawal() rejects the request */
		(void)id_copy(subject.gpu, offer->gpu);
	return begin_id_change(changes, &withdrawal_kind, &subject, id, "", done, reterr);
}

struct hold_change {
	struct change change; /* must be the first member */
	int64_t id;
	struct offer_hold hold;
	struct operator_hold stored; /* set by plan_hold() */
};

static int plan_hold(struct changes *changes, struct change *change, struct err *reterr)
{
	struct hold_change *c = (struct hold_change *)change;
	struct instant now = clock_now();
	const struct offer *offer = NULL;
	int r = find_open(changes, c->id, "held", &offer, reterr);

	if (r == 0)
		r = offers_check_holder(offer, c->hold.holder, now, reterr);
	if (r != 0)
		return r;
	/* A hold never becomes shorter. */
	if (offers_is_held(offer, now) && c->hold.until_ns < offer->hold.until_ns)
		c->hold = offer->hold;
	c->stored = save_hold_of(offer, &c->hold);
	return 0;
}

static int amend_hold(const struct change *change, struct contracts *contracts)
{
	return operator_state_set_hold(contracts->operator_state,
				       &((const struct hold_change *)change)->stored);
}

static int apply_hold(struct changes *changes, struct change *change, struct err *reterr)
{
	const struct hold_change *c = (const struct hold_change *)change;

	(void)reterr;
	offers_hold(changes->sales->offers, offers_find(changes->sales->offers, c->id), &c->hold,
		    clock_now());
	return 0;
}

static const struct change_kind hold_kind = {
	.plan = plan_hold, .amend = amend_hold, .apply = apply_hold};

int control_offer_hold(struct changes *changes, int64_t id, const char *holder, int ttl_s,
		       struct change_done done, struct err *reterr)
{
	const struct offer *offer = offers_find(changes->sales->offers, id);
	struct hold_change *c = xcalloc(1, sizeof(*c));
	struct instant now = clock_now();

	c->change.kind = &hold_kind;
	if (offer) /* otherwise plan_hold() rejects the request */
		(void)id_copy(c->change.subject.gpu, offer->gpu);
	c->id = id;
	snprintf(c->hold.holder, sizeof(c->hold.holder), "%s", holder);
	c->hold.until_ms = now.wall_ms + (int64_t)ttl_s * 1000;
	c->hold.until_ns = now.mono_ns + (uint64_t)ttl_s * NS_PER_S;
	return change_begin(changes, &c->change, done, reterr);
}

static int plan_ack(struct changes *changes, struct change *change, struct err *reterr)
{
	int64_t id = ((struct id_change *)change)->id;

	return alerts_find(changes->recorder->alerts, id)
		       ? 0
		       : err_condition(reterr, CONTROL_E_NOT_FOUND, "no alert %lld", (long long)id);
}

static int amend_ack(const struct change *change, struct contracts *contracts)
{
	const struct id_change *c = (const struct id_change *)change;

	if (operator_state_acked_ms(contracts->operator_state, c->id))
		return 0;
	return operator_state_add_ack(contracts->operator_state, c->id, c->now_ms);
}

static int apply_ack(struct changes *changes, struct change *change, struct err *reterr)
{
	const struct id_change *c = (const struct id_change *)change;

	(void)reterr;
	memory_mark_acknowledge(changes->recorder->alerts, c->id);
	return alerts_ack(changes->recorder->alerts, c->id, c->by, c->now_ms);
}

static const struct change_kind ack_kind = {
	.plan = plan_ack, .amend = amend_ack, .apply = apply_ack};

int control_alert_ack(struct changes *changes, int64_t id, const char *by, struct change_done done,
		      struct err *reterr)
{
	static const struct change_subject subject = {.other = "acknowledgements"};

	return begin_id_change(changes, &ack_kind, &subject, id, by, done, reterr);
}

/* --- silences --- */

#define SILENCE_DAYS_MAX 366

static int check_silence(struct changes *changes, const struct db_silence *s, int64_t now_ms,
			 struct err *reterr)
{
	enum alert_kind kind;

	if (!s->alert[0] && !s->gpu[0] && !s->vgpu[0])
		return err_condition(reterr, CONTROL_E_INVALID,
				     "alert, gpu or vgpu: at least one of them is required");
	if (s->alert[0] && alerts_kind_parse(s->alert, &kind) < 0)
		return err_condition(reterr, CONTROL_E_INVALID, "alert: unknown alert %s",
				     s->alert);
	if (s->gpu[0] && !host_find_gpu(changes->host, s->gpu))
		return err_condition(reterr, CONTROL_E_INVALID, "gpu: no GPU %s on this host",
				     s->gpu);
	if (s->vgpu[0] && !host_find_vgpu(changes->host, s->vgpu, NULL))
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
static const struct change_subject all_silences = {.other = "silences"};

struct silence_change {
	struct change change; /* must be the first member */
	struct db_silence silence;
};

static int plan_add(struct changes *changes, struct change *change, struct err *reterr)
{
	const struct silence_change *c = (const struct silence_change *)change;
	int r = check_silence(changes, &c->silence, clock_now().wall_ms, reterr);

	if (r == 0 && changes->recorder->silences.n == SILENCES_MAX)
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

static int apply_add(struct changes *changes, struct change *change, struct err *reterr)
{
	struct silence_change *c = (struct silence_change *)change;

	(void)reterr;
	(void)silences_add(&changes->recorder->silences,
			   &c->silence); /* plan_add() has checked the number */
	record_silence(changes->recorder, &c->silence, clock_now());
	return 0;
}

static const struct change_kind add_kind = {
	.plan = plan_add, .amend = amend_add, .apply = apply_add};

int control_silence_add(struct changes *changes, const struct db_silence *silence,
			struct change_done done, struct err *reterr)
{
	struct silence_change *c = xcalloc(1, sizeof(*c));

	c->change.kind = &add_kind;
	c->change.subject = all_silences;
	c->silence = *silence;
	c->silence.created_ms = clock_now().wall_ms;
	return change_begin(changes, &c->change, done, reterr);
}

static int plan_removal(struct changes *changes, struct change *change, struct err *reterr)
{
	int64_t id = ((struct id_change *)change)->id;

	if (silences_find(&changes->recorder->silences, id))
		return 0;
	return err_condition(reterr, CONTROL_E_NOT_FOUND, "no silence %lld", (long long)id);
}

static int amend_removal(const struct change *change, struct contracts *contracts)
{
	struct db_silence removed;

	(void)silences_remove(&contracts->operator_state->silences,
			      ((const struct id_change *)change)->id, &removed);
	return 0;
}

static int apply_removal(struct changes *changes, struct change *change, struct err *reterr)
{
	struct db_silence removed;

	(void)reterr;
	(void)silences_remove(&changes->recorder->silences, ((struct id_change *)change)->id,
			      &removed);
	removed.ended_ms = clock_now().wall_ms;
	record_silence(changes->recorder, &removed, clock_now());
	return 0;
}

static const struct change_kind removal_kind = {
	.plan = plan_removal, .amend = amend_removal, .apply = apply_removal};

int control_silence_remove(struct changes *changes, int64_t id, struct change_done done,
			   struct err *reterr)
{
	return begin_id_change(changes, &removal_kind, &all_silences, id, "", done, reterr);
}

/* --- reports of gover-fleet --- */

void control_fleet_report(struct changes *changes, const struct fleet_report *report,
			  struct instant now)
{
	enum fleet_state before = fleet_state_at(changes->fleet, now);

	changes->fleet->report = *report;
	changes->fleet->reported = now;
	if (report->state != before)
		observers_pass(&changes->recorder->observers, change, "fleet", "");
}

/* Writes the sentence of the decision. */
static void explain(const char *vgpu, const struct fleet_migration *migration, char *text,
		    size_t size)
{
	static const char *const words[FLEET_MIGRATION_STATES] = {
		[FLEET_REQUESTED] = "was requested",
		[FLEET_COMPLETED] = "was completed",
		[FLEET_FAILED] = "failed",
	};

	text_append(text, size, "the migration of vGPU %s", vgpu);
	if (migration->to[0])
		text_append(text, size, " to %s", migration->to);
	text_append(text, size, " %s", words[migration->state]);
	if (migration->duration_ms >= 0)
		text_append(text, size, " after %.1f s", (double)migration->duration_ms / 1000);
	if (migration->reason[0])
		text_append(text, size, ": %s", migration->reason);
}

static void count(struct fleet *fleet, const struct fleet_migration *migration)
{
	fleet->migrations[migration->state]++;
	if (migration->state == FLEET_COMPLETED && migration->duration_ms >= 0)
		fleet->migration_s += (double)migration->duration_ms / 1000;
}

/* A completed migration needs no record: the policy sees the departure of the vGPU. */
static void teach_policy(struct fleet *fleet, struct policy_gpu *gpu, const char *vgpu,
			 enum fleet_migration_state state, struct instant now)
{
	if (fleet_migrates(fleet, now))
		gpu->migrates = true;
	if (state == FLEET_REQUESTED)
		moving_note_requested(gpu, vgpu);
	else if (state == FLEET_FAILED)
		moving_note_failed(gpu, vgpu);
}

struct migration_change {
	struct change change; /* must be the first member */
	char id[ID_MAX];
	struct fleet_migration migration;
	struct instant now; /* time of the report */
};

static int plan_migration(struct changes *changes, struct change *change, struct err *reterr)
{
	const char *id = ((const struct migration_change *)change)->id;

	if (host_find_vgpu(changes->host, id, NULL) || fleet_asked_gpu(changes->fleet, id))
		return 0;
	return err_condition(reterr, CONTROL_E_NOT_FOUND, "no vGPU %s on this host", id);
}

static void record_migration(struct changes *changes, const char *id,
			     const struct fleet_migration *migration, struct instant now)
{
	struct host_gpu *gpu = NULL;
	struct vgpu *vgpu = host_find_vgpu(changes->host, id, &gpu);
	char why[DECISION_WHY_MAX] = "";
	struct decision d = {
		.ts_ms = now.wall_ms,
		.kind = DECISION_MIGRATION,
		.result = DECISION_NOTED,
		.why = why,
	};

	snprintf(d.gpu, sizeof(d.gpu), "%s",
		 vgpu ? gpu->config.name : fleet_asked_gpu(changes->fleet, id));
	snprintf(d.vgpu, sizeof(d.vgpu), "%s", id);
	explain(id, migration, why, sizeof(why));
	if (migration->duration_ms >= 0)
		d.numbers = json_pack("{s:f}", "duration_s", (double)migration->duration_ms / 1000);
	if (migration->state == FLEET_REQUESTED && vgpu)
		fleet_remember(changes->fleet, id, gpu->config.name);
	count(changes->fleet, migration);
	fleet_note_migration(changes->fleet, id, d.gpu, migration, now.wall_ms);
	if (vgpu)
		teach_policy(changes->fleet, &gpu->view, id, migration->state, now);
	record_add(changes->recorder, &d, &vgpu, vgpu != NULL);
	observers_pass(&changes->recorder->observers, change, "vgpu", id);
}

static int apply_migration(struct changes *changes, struct change *change, struct err *reterr)
{
	const struct migration_change *c = (const struct migration_change *)change;

	(void)reterr;
	if (c->migration.state == FLEET_REQUESTED &&
	    fleet_add_destination(changes->fleet, c->id, c->migration.to))
		observers_pass(&changes->recorder->observers, change, "fleet", "");
	else
		record_migration(changes, c->id, &c->migration, c->now);
	return 0;
}

/* The file contains no fact about a migration, only the row of the audit log. */
static int amend_nothing(const struct change *change, struct contracts *contracts)
{
	(void)change, (void)contracts;
	return 0;
}

static const struct change_kind migration_kind = {
	.plan = plan_migration, .amend = amend_nothing, .apply = apply_migration};

int control_fleet_migration(struct changes *changes, const char *id,
			    const struct fleet_migration *migration, struct instant now,
			    struct change_done done, struct err *reterr)
{
	struct migration_change *c = xcalloc(1, sizeof(*c));

	c->change.kind = &migration_kind;
	(void)id_copy(c->id, id); /* an id that is not valid is not found */
	memcpy(c->change.subject.vgpu, c->id, sizeof(c->id));
	c->migration = *migration;
	c->now = now;
	return change_begin(changes, &c->change, done, reterr);
}

/* --- changes of other files --- */

static int plan_nothing(struct changes *changes, struct change *change, struct err *reterr)
{
	(void)changes, (void)change, (void)reterr;
	return 0;
}

static const struct change_kind audit_kind = {
	.plan = plan_nothing, .amend = amend_nothing, .apply = plan_nothing};

int control_store_audit(struct changes *changes, struct change_done done, struct err *reterr)
{
	struct change *change = xcalloc(1, sizeof(*change));

	change->kind = &audit_kind;
	return change_begin(changes, change, done, reterr);
}
