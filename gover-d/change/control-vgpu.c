/* SPDX-License-Identifier: MIT */
/*
 * Requests that change, hold and remove vGPUs. policy/ plans each request, actuate.c applies the
 * plan, and a decision records it.
 */
#include <string.h>

#include "base/xalloc.h"
#include "gover-d/cap/frames.h"
#include "gover-d/change/change.h"
#include "gover-d/change/contract-change.h"
#include "gover-d/change/control.h"
#include "gover-d/record/record.h"
#include "gover-d/store/save.h"
#include "gover-d/tick/ledger.h"

/* --- changing a contract --- */

struct vgpu_change {
	struct change change; /* must be the first member */
	unsigned int fields;
	struct contract values;	  /* owns its labels */
	struct instant requested; /* a hold begins here */
	/* set by plan(): the cap of the vGPU, and its new contract, which borrows its labels */
	int cap_pct;
	struct contract merged;
};

/* Fields whose change may end an alert. */
#define ALERT_FIELDS                                                                            \
	(CONTRACT_INITIAL_CAP | CONTRACT_MIN_CAP | CONTRACT_TARGET_FPS | CONTRACT_TARGET_RATE | \
	 CONTRACT_BURST | CONTRACT_HELD | CONTRACT_HELD_CAP)

static void record_change(struct changes *changes, struct host_gpu *gpu, struct vgpu *vgpu,
			  unsigned int fields, const struct contract *c, struct instant now)
{
	const struct policy_terms terms = host_terms(gpu, c);
	char changed[160];

	if ((fields & (CONTRACT_HELD | CONTRACT_HELD_CAP)) && c->held) {
		record_decision(changes->recorder, gpu, vgpu, DECISION_HOLD, DECISION_NOTED, now,
				"an operator holds vGPU %s at %d %%", c->id, c->held_cap_pct);
	} else if (fields & CONTRACT_HELD) {
		record_decision(changes->recorder, gpu, vgpu, DECISION_RELEASE, DECISION_NOTED, now,
				"an operator released vGPU %s; its cap is %d %%", c->id,
				vgpu->cap.pct);
	} else {
		contract_list_names(fields, changed, sizeof(changed));
		record_decision(
			changes->recorder, gpu, vgpu, DECISION_SET, DECISION_NOTED, now,
			"the contract of vGPU %s (%d %% sold, target %g %s) was changed: %s", c->id,
			terms.initial_cap_pct, terms.target_fps,
			terms.counts_work ? "units/s" : "fps", changed);
	}
}

/* True if the change gives a contract to a vGPU that was found without one. */
static bool is_contract(unsigned int fields)
{
	return fields & ~(unsigned int)(CONTRACT_HELD | CONTRACT_HELD_CAP);
}

/* Makes the change in @contract. The labels are not referenced. */
static void merge(const struct vgpu_change *c, struct contract *contract)
{
	contract_apply(contract, c->fields, &c->values);
	if (!contract->held)
		contract->held_cap_pct = 0;
	else if (contract->held_cap_pct == 0)
		contract->held_cap_pct = c->cap_pct;
	since_update(&contract->held_since, contract->held, c->requested);
}

static int plan_change(struct changes *changes, struct change *change, struct err *reterr)
{
	struct vgpu_change *c = (struct vgpu_change *)change;
	struct host_gpu *gpu;
	struct vgpu *vgpu = host_find_vgpu(changes->host, change->subject.vgpu, &gpu);
	int r = 0;

	if (!vgpu)
		return err_condition(reterr, CONTROL_E_NOT_FOUND, "no vGPU %s on this host",
				     change->subject.vgpu);
	if (c->fields & CONTRACT_FLAVOR)
		r = contract_change_check_flavor(changes, &c->values, reterr);
	if (r != 0)
		return r;
	c->cap_pct = vgpu->cap.pct;
	c->merged = vgpu->contract;
	merge(c, &c->merged);
	if ((c->fields & CONTRACT_HELD_CAP) && !c->merged.held)
		return err_condition(reterr, CONTROL_E_INVALID,
				     "held_cap_pct: only allowed if held is true");
	return contract_change_plan(changes, gpu, vgpu, c->fields, &c->merged, clock_now(), reterr);
}

static int amend_change(const struct change *change, struct contracts *contracts)
{
	const struct vgpu_change *c = (const struct vgpu_change *)change;
	struct contract_entry *entry = contracts_find_vgpu(contracts, change->subject.vgpu);

	if (!entry)
		return 0; /* the vGPU vanished, and so did its entry: apply() will refuse */
	if (c->fields & CONTRACT_LABELS) {
		json_decref(entry->contract.labels);
		json_incref(c->values.labels);
	}
	merge(c, &entry->contract);
	if (is_contract(c->fields))
		entry->found = false;
	return 0;
}

/* Without a target, the sold cap is the promise. */
static bool is_other_promise(const struct host_gpu *gpu, const struct contract *before,
			     const struct contract *after)
{
	double old = host_terms(gpu, before).target_fps, new = host_terms(gpu, after).target_fps;

	return old != new ||
	       (new <= 0 && before->terms.initial_cap_pct != after->terms.initial_cap_pct);
}

static int apply_change(struct changes *changes, struct change *change, struct err *reterr)
{
	struct vgpu_change *c = (struct vgpu_change *)change;
	struct instant now = clock_now();
	struct host_gpu *gpu;
	struct vgpu *vgpu = host_find_vgpu(changes->host, change->subject.vgpu, &gpu);
	int r = 0;

	if (c->fields & CONTRACT_MEMORY)
		r = contract_change_apply_memory(changes, gpu, vgpu, &c->merged, reterr);
	if (r == 0 && (c->fields & CONTRACT_LABELS))
		r = contract_change_apply_labels(gpu, vgpu, c->merged.labels, reterr);
	if (r != 0)
		return r;
	if (is_other_promise(gpu, &vgpu->contract, &c->merged))
		promise_reset(&vgpu->promise); /* the bad time belongs to the old one */
	record_change(changes, gpu, vgpu, c->fields, &c->merged, now);
	contract_change_commit(changes, gpu, vgpu, &c->merged, now);
	if (c->fields & ALERT_FIELDS)
		alerts_vgpu_changed(changes->recorder->alerts, change->subject.vgpu);
	if (is_contract(c->fields))
		vgpu_mark_sold(vgpu);
	return 0;
}

static void fini_change(struct change *change)
{
	struct vgpu_change *c = (struct vgpu_change *)change;

	contract_fini(&c->values);
}

static const struct change_kind vgpu_change_kind = {
	.plan = plan_change, .amend = amend_change, .apply = apply_change, .fini = fini_change};

int control_vgpu_change(struct changes *changes, const char *id, unsigned int fields,
			const struct contract *values, struct change_done done, struct err *reterr)
{
	struct vgpu_change *c;
	struct host_gpu *gpu;

	if (!host_find_vgpu(changes->host, id, &gpu))
		return err_condition(reterr, CONTROL_E_NOT_FOUND, "no vGPU %s on this host", id);
	if (fields == 0) {
		done.call(done.userdata, 0, NULL);
		return 0;
	}
	c = xcalloc(1, sizeof(*c));
	c->change.kind = &vgpu_change_kind;
	(void)id_copy(c->change.subject.vgpu, id);
	if (fields & CONTRACT_CHANGE_CAP_FIELDS)
		(void)id_copy(c->change.subject.gpu, gpu->config.name);
	c->fields = fields;
	c->values = *values;
	c->requested = clock_now();
	json_incref(c->values.labels);
	return change_begin(changes, &c->change, done, reterr);
}

/* --- removing --- */

/*
 * If the daemon itself removes the vGPU, the contract is stored with a mark first: after a crash,
 * it has ended if the vGPU does not exist, and stays in force if the vGPU exists.
 */
struct vgpu_removal {
	struct change change; /* must be the first member */
	bool marks;	      /* set by plan(): store the mark instead of removing the contract */
};

static int plan_removal(struct changes *changes, struct change *change, struct err *reterr)
{
	struct vgpu_removal *c = (struct vgpu_removal *)change;
	struct host_gpu *gpu;

	if (!host_find_vgpu(changes->host, change->subject.vgpu, &gpu))
		return err_condition(reterr, CONTROL_E_NOT_FOUND, "no vGPU %s on this host",
				     change->subject.vgpu);
	/* before the open it is not known whether the daemon must remove the vGPU */
	c->marks = gpu->traits.creates;
	return gpu->state == GPU_OPEN ? 0 : contract_change_check_answers(gpu, reterr);
}

static int amend_removal(const struct change *change, struct contracts *contracts)
{
	const struct vgpu_removal *c = (const struct vgpu_removal *)change;
	struct contract_entry *entry = contracts_find_vgpu(contracts, change->subject.vgpu);

	if (entry && c->marks)
		entry->removing = true;
	else if (entry)
		contracts_remove_vgpu(contracts, entry);
	return 0;
}

static int apply_removal(struct changes *changes, struct change *change, struct err *reterr)
{
	const char *id = change->subject.vgpu;
	struct instant now = clock_now();
	struct host_gpu *gpu;
	struct vgpu *vgpu = host_find_vgpu(changes->host, id, &gpu);
	int r;

	if (gpu->traits.creates) {
		r = actuate_destroy(&changes->caps->actuator, gpu, vgpu, reterr);
		if (r != 0)
			return r;
	}
	/* if the vGPU still exists, it is adopted as a vGPU without a contract */
	if (!changes->settings->dry_run)
		(void)cap_journal_remove(changes->caps->actuator.journal, id);
	host_gpu_remove(gpu, vgpu);
	record_decision(changes->recorder, gpu, vgpu, DECISION_REMOVE, DECISION_WRITTEN, now,
			"vGPU %s and its contract of %d %% were removed; its cap was %d %%", id,
			vgpu->contract.terms.initial_cap_pct, vgpu->cap.pct);
	frames_forget(&changes->caps->frames, id);
	offers_vgpu_removed(changes->sales->offers, id, now);
	alerts_vgpu_removed(changes->recorder->alerts, id);
	ledger_flush_vgpu(changes->tick, vgpu);
	vgpu_free(gpu, vgpu);
	if (gpu->mode == GPU_MODE_ACT)
		contract_change_give_back(changes, gpu, now);
	save_soon(changes->store); /* the file still contains the marked contract */
	return 0;
}

static const struct change_kind vgpu_removal_kind = {
	.plan = plan_removal, .amend = amend_removal, .apply = apply_removal};

int control_vgpu_remove(struct changes *changes, const char *id, struct change_done done,
			struct err *reterr)
{
	struct vgpu_removal *c;
	struct host_gpu *gpu;

	if (!host_find_vgpu(changes->host, id, &gpu))
		return err_condition(reterr, CONTROL_E_NOT_FOUND, "no vGPU %s on this host", id);
	c = xcalloc(1, sizeof(*c));
	c->change.kind = &vgpu_removal_kind;
	(void)id_copy(c->change.subject.vgpu, id);
	(void)id_copy(c->change.subject.gpu, gpu->config.name);
	return change_begin(changes, &c->change, done, reterr);
}
