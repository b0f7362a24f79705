/* SPDX-License-Identifier: MIT */
/*
 * Requests that sell, change, hold and remove vGPUs. policy/ plans each request, actuate.c applies
 * the plan, and a decision records it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/config/flavor.h"
#include "gover-d/core/adopt.h"
#include "gover-d/core/control-vgpu.h"
#include "gover-d/core/external-change.h"
#include "gover-d/core/frames.h"
#include "gover-d/core/ledger.h"
#include "gover-d/core/record.h"
#include "gover-d/core/round.h"
#include "gover-d/core/state.h"
#include "monitor/fps/fps.h"

static int check_flavor(const struct manager *m, const struct contract *c, struct err *reterr)
{
	struct flavor flavor;

	if (flavor_find(&m->config, c->flavor, &flavor))
		return 0;
	(void)flavor_refuse(&m->config, c->flavor, reterr);
	return CONTROL_E_INVALID;
}

static int check_answers(const struct host_gpu *gpu, struct err *reterr)
{
	if (gpu->open && !gpu_io_silent_ns(gpu->io))
		return 0;
	return err_condition(reterr, CONTROL_E_NO_ANSWER,
			     "GPU %s does not answer; nothing was changed", gpu->config.name);
}

static int check_terms(const struct host_gpu *gpu, const struct contract *c, struct err *reterr)
{
	const struct policy_terms *t = &c->terms;
	int step = gpu->traits.step_pct;

	if (t->initial_cap_pct < gpu->traits.floor_pct || t->initial_cap_pct > 100 ||
	    t->initial_cap_pct % step)
		return err_condition(reterr, CONTROL_E_INVALID,
				     "initial_cap_pct: %d is not allowed (allowed: %d..100 in "
				     "steps of %d on GPU %s)",
				     t->initial_cap_pct, gpu->traits.floor_pct, step,
				     gpu->config.name);
	if (t->min_cap_pct < 0 || t->min_cap_pct > t->initial_cap_pct || t->min_cap_pct % step)
		return err_condition(reterr, CONTROL_E_INVALID,
				     "min_cap_pct: %d is not allowed (allowed: 0..%d, the initial "
				     "cap, in steps of %d)",
				     t->min_cap_pct, t->initial_cap_pct, step);
	return 0;
}

/* Passes the labels to the backend. Stops at the first label that the backend rejects. */
static int apply_labels(struct host_gpu *gpu, struct vgpu *vgpu, json_t *labels, struct err *reterr)
{
	struct err inner = {""};
	const char *key;
	json_t *value;
	int r;

	if (!vgpu->device)
		return 0;
	json_object_foreach (labels, key, value) {
		r = gpu_io_label(gpu->io, vgpu->device, key, json_string_value(value), &inner);
		if (r == -EINVAL)
			return err_condition(reterr, CONTROL_E_INVALID, "labels: %s: %s", key,
					     inner.msg);
		if (r < 0)
			return err_fail(reterr, -r, "labels: %s: %s", key, inner.msg);
	}
	return 0;
}

/* Distributes free capacity to the vGPUs that have less than their contract. */
static void give_back(struct manager *m, struct host_gpu *gpu, struct plan_round *round,
		      struct instant now)
{
	round_view(m, gpu, round);
	m->policy->give_back(&m->params, &gpu->view, &round->out);
	/*
	 * A failed write is recorded with the decision. The next tick plans from the caps in force.
	 */
	(void)round_apply(m, gpu, round, /* act= */ true, now);
}

/* --- replacing a contract --- */

/* Fields whose change may require another cap. */
#define CAP_FIELDS                                                                  \
	(CONTRACT_INITIAL_CAP | CONTRACT_MIN_CAP | CONTRACT_BURST | CONTRACT_HELD | \
	 CONTRACT_HELD_CAP)

static int check_hold(struct host_gpu *gpu, const struct contract *c, struct err *reterr)
{
	int ceiling_pct = policy_ceiling_pct(&gpu->view, &c->terms);

	if (!c->held)
		return 0;
	if (c->held_cap_pct < gpu->traits.floor_pct || c->held_cap_pct > ceiling_pct ||
	    c->held_cap_pct % gpu->traits.step_pct)
		return err_condition(
			reterr, CONTROL_E_INVALID,
			"held_cap_pct: %d is not allowed (allowed: %d..%d in steps of %d)",
			c->held_cap_pct, gpu->traits.floor_pct, ceiling_pct, gpu->traits.step_pct);
	return 0;
}

/* Plans the cap for @c: the held cap, or the nearest cap that the terms of @c allow. */
static int plan_cap(struct manager *m, struct host_gpu *gpu, struct plan_round *round,
		    const struct vgpu *vgpu, const struct contract *c, struct err *reterr)
{
	int largest_pct = 0, index = 0, r;

	if (!vgpu->device || (c->held && c->held_cap_pct == vgpu->cap_pct))
		return 0;
	while (round->viewed[index] != vgpu)
		index++;
	if (c->held)
		r = policy_hold(&m->params, &gpu->view, index, c->held_cap_pct, &round->out,
				&largest_pct);
	else
		r = policy_set(&m->params, &gpu->view, index, &c->terms, &round->out, &largest_pct);
	if (r < 0)
		return err_condition(reterr, CONTROL_E_DOES_NOT_FIT,
				     "a cap of %d %% for vGPU %s does not fit on GPU %s (largest "
				     "that fits: %d %%)",
				     c->held ? c->held_cap_pct
					     : policy_floor_pct(&m->params, &gpu->view, &c->terms),
				     vgpu->contract.id, gpu->config.name, largest_pct);
	return 0;
}

/*
 * Checks @c and plans its cap in round->out. Passes the labels of @c to the backend, which may
 * reject them.
 */
static int plan_change(struct manager *m, struct host_gpu *gpu, struct plan_round *round,
		       struct vgpu *vgpu, unsigned int fields, const struct contract *c,
		       struct instant now, struct err *reterr)
{
	int r = 0;

	round->out.n_decisions = round->out.n_moves = 0;
	if (fields & CAP_FIELDS) {
		round_view(m, gpu, round);
		r = check_answers(gpu, reterr);
		if (r == 0)
			r = check_terms(gpu, c, reterr);
		if (r == 0)
			r = check_hold(gpu, c, reterr);
		if (r == 0)
			r = plan_cap(m, gpu, round, vgpu, c, reterr);
		if (r == 0)
			r = round_check(m, gpu, round, vgpu, now, reterr);
	}
	if (r == 0 && (fields & CONTRACT_LABELS))
		r = apply_labels(gpu, vgpu, c->labels, reterr);
	return r;
}

/* Replaces the contract, applies the plan, and distributes free capacity. */
static void commit_change(struct manager *m, struct host_gpu *gpu, struct plan_round *round,
			  struct vgpu *vgpu, const struct contract *c, struct instant now)
{
	bool frees = round->out.n_moves > 0 || c->held != vgpu->contract.held ||
		     c->terms.initial_cap_pct != vgpu->contract.terms.initial_cap_pct;
	json_t *labels = json_incref(c->labels);

	if (m->frames.hub)
		fps_hub_rematch(m->frames.hub);
	contract_fini(&vgpu->contract);
	vgpu->contract = *c;
	vgpu->contract.labels = labels;
	if (!c->held)
		vgpu->foreign = false;
	if (!vgpu->device)
		return;
	actuate_initial_cap(&m->actuator, gpu, vgpu, c->terms.initial_cap_pct);
	/* A failed write is recorded with the decision and raises an alert. */
	(void)round_apply(m, gpu, round, /* act= */ true, now);
	/* In modes other than act, only the requested cap changes. */
	if (frees && gpu->mode == GPU_MODE_ACT)
		give_back(m, gpu, round, now);
}

/* --- changing a contract --- */

/* Fields whose change may end an alert. */
#define ALERT_FIELDS                                                                      \
	(CONTRACT_INITIAL_CAP | CONTRACT_MIN_CAP | CONTRACT_TARGET_FPS | CONTRACT_BURST | \
	 CONTRACT_HELD | CONTRACT_HELD_CAP)

static void record_change(struct manager *m, struct host_gpu *gpu, struct vgpu *vgpu,
			  unsigned int fields, const struct contract *c, struct instant now)
{
	char changed[160];

	if ((fields & (CONTRACT_HELD | CONTRACT_HELD_CAP)) && c->held) {
		record_decision(m, gpu, vgpu, DECISION_HOLD, DECISION_NOTED, now,
				"an operator holds vGPU %s at %d %%", c->id, c->held_cap_pct);
	} else if (fields & CONTRACT_HELD) {
		record_decision(m, gpu, vgpu, DECISION_RELEASE, DECISION_NOTED, now,
				"an operator released vGPU %s; its cap is %d %%", c->id,
				vgpu->cap_pct);
	} else {
		contract_list_names(fields, changed, sizeof(changed));
		record_decision(
			m, gpu, vgpu, DECISION_SET, DECISION_NOTED, now,
			"the contract of vGPU %s (%d %% sold, target %g fps) was changed: %s",
			c->id, c->terms.initial_cap_pct, c->terms.target_fps, changed);
	}
}

int control_vgpu_change(struct manager *m, const char *id, unsigned int fields,
			const struct contract *values, struct err *reterr)
{
	struct plan_round *round = m->round;
	struct instant now = clock_now();
	struct contract merged;
	struct host_gpu *gpu;
	struct vgpu *vgpu = host_find_vgpu(&m->host, id, &gpu);
	int r;

	if (!vgpu)
		return err_condition(reterr, CONTROL_E_NOT_FOUND, "no vGPU %s on this host", id);
	if (fields == 0)
		return 0;
	if (fields & CONTRACT_FLAVOR) {
		r = check_flavor(m, values, reterr);
		if (r != 0)
			return r;
	}
	merged = vgpu->contract;
	contract_apply(&merged, fields, values);
	if ((fields & CONTRACT_HELD_CAP) && !merged.held)
		return err_condition(reterr, CONTROL_E_INVALID,
				     "held_cap_pct: only allowed if held is true");
	if (!merged.held)
		merged.held_cap_pct = 0;
	else if (merged.held_cap_pct == 0)
		merged.held_cap_pct = vgpu->cap_pct;
	r = plan_change(m, gpu, round, vgpu, fields, &merged, now, reterr);
	if (r != 0)
		return r;
	record_change(m, gpu, vgpu, fields, &merged, now);
	commit_change(m, gpu, round, vgpu, &merged, now);
	if (fields & ALERT_FIELDS)
		alerts_vgpu_changed(m->alerts, id);
	if (fields & ~(unsigned int)(CONTRACT_HELD | CONTRACT_HELD_CAP))
		vgpu->found = false; /* the vGPU has a contract now */
	return 0;
}

/* --- selling --- */

/* Plans the first cap of a new vGPU and, if needed, takes capacity from other vGPUs. */
static int fund_newcomer(struct manager *m, struct host_gpu *gpu, struct plan_round *round,
			 const struct contract *c, struct instant now, int *ret_cap_pct,
			 struct err *reterr)
{
	struct policy_params params = m->params;
	int cap_pct, free_pct, floor_pct, r;

	/* A contract may be smaller than the configured minimum for a newcomer. */
	if (params.min_newcomer_pct > c->terms.initial_cap_pct)
		params.min_newcomer_pct = c->terms.initial_cap_pct;
	round_view(m, gpu, round);
	floor_pct = policy_floor_pct(&params, &gpu->view, &c->terms);
	cap_pct = m->policy->fund(&params, &gpu->view, &c->terms, &round->out);
	if (cap_pct < 0)
		return err_condition(reterr, CONTROL_E_DOES_NOT_FIT,
				     "vGPU %s does not fit on GPU %s: the caps add up to %d %%, "
				     "and the vGPU needs at least %d %%",
				     c->id, gpu->config.name, host_gpu_sum_cap_pct(gpu),
				     floor_pct > params.min_newcomer_pct ? floor_pct
									 : params.min_newcomer_pct);
	r = round_check(m, gpu, round, NULL, now, reterr);
	if (r != 0)
		return r;
	/*
	 * If the plan has no moves, there is no decision to record: the free capacity is
	 * sufficient.
	 */
	if (round->out.n_moves > 0)
		(void)round_apply(m, gpu, round, /* act= */ true, now);
	free_pct = 100 - host_gpu_sum_cap_pct(gpu);
	if (free_pct < cap_pct)
		cap_pct = free_pct - free_pct % gpu->traits.step_pct;
	if (cap_pct >= floor_pct) {
		*ret_cap_pct = cap_pct;
		return 0;
	}
	give_back(m, gpu, round, now);
	return err_fail(reterr, EIO, "vGPU %s: the planned capacity could not be freed on GPU %s",
			c->id, gpu->config.name);
}

static int create_vgpu(struct manager *m, struct host_gpu *gpu, struct vgpu *vgpu,
		       struct instant now, struct err *reterr)
{
	struct plan_round *round = m->round;
	int cap_pct = 0, r;

	if (m->actuator.dry_run)
		return err_condition(reterr, CONTROL_E_DRY_RUN, "vGPU %s: not created in a dry run",
				     vgpu->contract.id);
	r = fund_newcomer(m, gpu, round, &vgpu->contract, now, &cap_pct, reterr);
	if (r != 0)
		return r;
	r = actuate_create(&m->actuator, gpu, vgpu, cap_pct, now, reterr);
	if (r == 0) {
		r = apply_labels(gpu, vgpu, vgpu->contract.labels, reterr);
		/* If the vGPU cannot be removed, the next tick adopts it without a contract. */
		if (r != 0 && actuate_destroy(&m->actuator, gpu, vgpu, NULL) != 0)
			gpu_io_detach(gpu->io, vgpu->device);
	}
	if (r != 0) {
		give_back(m, gpu, round, now);
		return r;
	}
	host_gpu_insert(gpu, vgpu);
	if (m->frames.hub)
		fps_hub_rematch(m->frames.hub);
	record_decision(m, gpu, vgpu, DECISION_ADD, DECISION_WRITTEN, now,
			"vGPU %s was sold with %d %% of GPU %s and starts with %d %%",
			vgpu->contract.id, vgpu->contract.terms.initial_cap_pct, gpu->config.name,
			cap_pct);
	return 0;
}

/* Adds the contract of a vGPU that exists without one. */
static int attach_contract(struct manager *m, struct host_gpu *gpu, struct vgpu *vgpu,
			   struct contract *contract, struct instant now, struct err *reterr)
{
	struct plan_round *round = m->round;
	int r;

	contract->held = vgpu->contract.held;
	contract->held_cap_pct = vgpu->contract.held_cap_pct;
	r = plan_change(m, gpu, round, vgpu, CAP_FIELDS | CONTRACT_LABELS, contract, now, reterr);
	if (r != 0)
		return r;
	record_decision(m, gpu, vgpu, DECISION_ADD, DECISION_NOTED, now,
			"vGPU %s existed without a contract and with a cap of %d %%; its contract "
			"is %d %% now",
			contract->id, vgpu->cap_pct, contract->terms.initial_cap_pct);
	commit_change(m, gpu, round, vgpu, contract, now);
	contract_fini(contract);
	vgpu->found = false;
	return 0;
}

static int pick_gpu(struct manager *m, struct contract *c, struct host_gpu **ret_gpu,
		    struct err *reterr)
{
	if (m->host.n_gpus == 0)
		return err_condition(reterr, CONTROL_E_INVALID,
				     "gpu: gover-d found no vGPU scheduler on this host");
	if (c->gpu[0] == '\0' && host_find_vgpu(&m->host, c->id, ret_gpu))
		(void)id_copy(c->gpu, (*ret_gpu)->config.name);
	if (c->gpu[0] == '\0' && m->host.n_gpus > 1)
		return err_condition(reterr, CONTROL_E_INVALID,
				     "gpu: required (this host has %d GPUs)", m->host.n_gpus);
	if (c->gpu[0] == '\0')
		(void)id_copy(c->gpu, m->host.gpus[0].config.name);
	*ret_gpu = host_find_gpu(&m->host, c->gpu);
	return *ret_gpu ? 0
			: err_condition(reterr, CONTROL_E_INVALID, "gpu: no GPU %s on this host",
					c->gpu);
}

int control_vgpu_add(struct manager *m, struct contract *contract, struct vgpu **ret_vgpu,
		     struct err *reterr)
{
	struct instant now = clock_now();
	struct host_gpu *gpu, *owner;
	struct vgpu *vgpu;
	int r;

	r = pick_gpu(m, contract, &gpu, reterr);
	if (r == 0)
		r = check_answers(gpu, reterr);
	if (r == 0)
		r = check_terms(gpu, contract, reterr);
	if (r == 0)
		r = check_flavor(m, contract, reterr);
	if (r != 0)
		return r;
	contract->created_ms = now.wall_ms;
	vgpu = host_find_vgpu(&m->host, contract->id, &owner);
	/* the vGPU may have been created after the last tick */
	if (!vgpu && !gpu->traits.creates) {
		(void)adopt_found(m, gpu, contract->id, /* initial_cap_pct= */ 0, now, NULL);
		vgpu = host_find_vgpu(&m->host, contract->id, &owner);
	}
	if (vgpu && !vgpu->found)
		return err_condition(reterr, CONTROL_E_EXISTS, "vGPU %s already has a contract",
				     contract->id);
	if (vgpu && owner != gpu)
		return err_condition(reterr, CONTROL_E_EXISTS, "vGPU %s belongs to GPU %s, not %s",
				     contract->id, owner->config.name, gpu->config.name);
	if (vgpu) {
		if (ret_vgpu)
			*ret_vgpu = vgpu;
		return attach_contract(m, gpu, vgpu, contract, now, reterr);
	}
	if (!gpu->traits.creates)
		return err_condition(reterr, CONTROL_E_UNSUPPORTED,
				     "vGPU %s does not exist on GPU %s, and the backend %s does "
				     "not create vGPUs",
				     contract->id, gpu->config.name, gpu_io_backend(gpu->io));
	if (gpu->n_vgpus == POLICY_VGPUS_MAX)
		return err_condition(reterr, CONTROL_E_DOES_NOT_FIT,
				     "GPU %s: too many vGPUs (limit %d)", gpu->config.name,
				     gpu->n_vgpus);
	vgpu = calloc(1, sizeof(*vgpu));
	if (!vgpu)
		return err_fail(reterr, ENOMEM, "out of memory");
	vgpu->contract = *contract;
	r = create_vgpu(m, gpu, vgpu, now, reterr);
	if (r != 0) {
		free(vgpu); /* the caller still owns the contract */
		return r;
	}
	if (ret_vgpu)
		*ret_vgpu = vgpu;
	return 0;
}

/* --- removing --- */

int control_vgpu_remove(struct manager *m, const char *id, struct err *reterr)
{
	struct plan_round *round = m->round;
	struct instant now = clock_now();
	struct host_gpu *gpu;
	struct vgpu *vgpu = host_find_vgpu(&m->host, id, &gpu);
	int r;

	if (!vgpu)
		return err_condition(reterr, CONTROL_E_NOT_FOUND, "no vGPU %s on this host", id);
	if (gpu->traits.creates) {
		r = actuate_destroy(&m->actuator, gpu, vgpu, reterr);
		if (r != 0)
			return r;
	}
	/* if the vGPU still exists, it is adopted as a vGPU without a contract */
	if (!m->actuator.dry_run)
		(void)cap_journal_remove(m->actuator.journal, id);
	host_gpu_remove(gpu, vgpu);
	record_decision(m, gpu, vgpu, DECISION_REMOVE, DECISION_WRITTEN, now,
			"vGPU %s and its contract of %d %% were removed; its cap was %d %%", id,
			vgpu->contract.terms.initial_cap_pct, vgpu->cap_pct);
	frames_forget(&m->frames, id);
	offers_vgpu_removed(m->offers, id, now);
	alerts_vgpu_changed(m->alerts, id);
	ledger_flush_vgpu(m, vgpu);
	vgpu_free(gpu, vgpu);
	if (gpu->mode == GPU_MODE_ACT)
		give_back(m, gpu, round, now);
	return 0;
}
