/* SPDX-License-Identifier: MIT */
/* Checks, plans and applies the new contract of a vGPU. */
#include <errno.h>
#include <string.h>

#include "gover-d/change/contract-change.h"
#include "gover-d/config/flavor.h"
#include "monitor/fps/fps.h"

int contract_change_check_flavor(const struct changes *changes, const struct contract *c,
				 struct err *reterr)
{
	struct flavor flavor;

	if (flavor_find(&changes->settings->config, c->flavor, &flavor))
		return 0;
	(void)flavor_refuse(&changes->settings->config, c->flavor, reterr);
	return CONTROL_E_INVALID;
}

int contract_change_check_answers(const struct host_gpu *gpu, struct err *reterr)
{
	if (gpu->state == GPU_OPEN && !gpu_io_silent_ns(gpu->io))
		return 0;
	return err_condition(reterr, CONTROL_E_NO_ANSWER,
			     "GPU %s does not answer; nothing was changed", gpu->config.name);
}

int contract_change_check_terms(const struct host_gpu *gpu, const struct contract *c,
				struct err *reterr)
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

int contract_change_check_units(const struct host_gpu *gpu, unsigned int fields,
				const struct contract *c, struct err *reterr)
{
	bool fps = (fields & CONTRACT_TARGET_FPS) && c->terms.target_fps > 0;
	bool rate = (fields & CONTRACT_TARGET_RATE) && c->target_rate > 0;
	bool limit = (fields & CONTRACT_FPS_LIMIT) && c->fps_limit > 0;

	if (limit && host_gpu_unit(gpu, c) == GPU_WORK)
		return err_condition(
			reterr, CONTROL_E_INVALID,
			"fps_limit: %g is not allowed for vGPU %s (allowed: 0, because "
			"GPU %s counts units of work)",
			c->fps_limit, c->id, gpu->config.name);
	/* Only an open GPU has a unit. Contracts without units of work can change at any time. */
	if (gpu->state != GPU_OPEN)
		return rate ? contract_change_check_answers(gpu, reterr) : 0;
	if (gpu->traits.unit == GPU_WORK && fps)
		return err_condition(reterr, CONTROL_E_INVALID,
				     "target_fps: %g is not allowed for vGPU %s (allowed: 0, or "
				     "target_rate, because GPU %s counts units of work)",
				     c->terms.target_fps, c->id, gpu->config.name);
	if (gpu->traits.unit != GPU_WORK && rate)
		return err_condition(reterr, CONTROL_E_INVALID,
				     "target_rate: %g is not allowed for vGPU %s (allowed: 0, or "
				     "target_fps, because GPU %s counts frames)",
				     c->target_rate, c->id, gpu->config.name);
	return 0;
}

int contract_change_check_memory(const struct host_gpu *gpu, unsigned int fields,
				 const struct contract *c, struct err *reterr)
{
	bool limits = gpu->state == GPU_OPEN && gpu->traits.limits_memory;

	if (!(fields & CONTRACT_MEMORY) || (c->memory_mib == 0 && !limits))
		return 0;
	if (gpu->state == GPU_OPEN && !limits)
		return err_condition(reterr, CONTROL_E_INVALID,
				     "memory_mib: %d is not allowed for vGPU %s (allowed: 0, "
				     "because GPU %s does not limit memory)",
				     c->memory_mib, c->id, gpu->config.name);
	return contract_change_check_answers(gpu, reterr);
}

int contract_change_apply_memory(struct changes *changes, struct host_gpu *gpu, struct vgpu *vgpu,
				 const struct contract *c, struct err *reterr)
{
	int r = vgpu->device ? actuate_memory(&changes->caps->actuator, gpu, vgpu, c->memory_mib)
			     : 0;

	return r < 0 ? err_fail(reterr, -r, "memory_mib: the limit of vGPU %s could not be set: %s",
				c->id, strerror(-r))
		     : 0;
}

static int check_hold(struct host_gpu *gpu, const struct contract *c, struct err *reterr)
{
	int ceiling_pct = policy_ceiling_pct(&gpu->view, &c->terms);

	if (!c->held)
		return 0;
	if (gpu->traits.observes)
		return err_condition(reterr, CONTROL_E_UNSUPPORTED,
				     "held: not possible for vGPU %s, because GPU %s is only "
				     "observed (backend %s cannot set caps)",
				     c->id, gpu->config.name, gpu->config.backend);
	if (c->held_cap_pct < gpu->traits.floor_pct || c->held_cap_pct > ceiling_pct ||
	    c->held_cap_pct % gpu->traits.step_pct)
		return err_condition(
			reterr, CONTROL_E_INVALID,
			"held_cap_pct: %d is not allowed (allowed: %d..%d in steps of %d)",
			c->held_cap_pct, gpu->traits.floor_pct, ceiling_pct, gpu->traits.step_pct);
	return 0;
}

/* Plans the room for the return of a vGPU that does not exist now. */
static int plan_reserve(struct changes *changes, struct host_gpu *gpu, struct plan_round *round,
			const struct vgpu *vgpu, const struct contract *c, int *ret_largest_pct)
{
	int cap_pct = host_reserved_cap_pct(&changes->settings->params, gpu, c, vgpu->cap.pct);

	return policy_reserve(&changes->settings->params, &gpu->view, vgpu->cap.pct, cap_pct,
			      &round->out, ret_largest_pct);
}

/* Plans the cap for @c: the held cap, or the nearest cap that the terms of @c allow. */
static int plan_cap(struct changes *changes, struct host_gpu *gpu, struct plan_round *round,
		    const struct vgpu *vgpu, const struct contract *c, struct err *reterr)
{
	const struct policy_terms terms = host_terms(gpu, c);
	int largest_pct = 0, index = 0, r;

	if (c->held && c->held_cap_pct == vgpu->cap.pct)
		return 0;
	while (vgpu->device && round->viewed[index] != vgpu)
		index++;
	if (!vgpu->device)
		r = plan_reserve(changes, gpu, round, vgpu, c, &largest_pct);
	else if (c->held)
		r = policy_hold(&changes->settings->params, &gpu->view, index, c->held_cap_pct,
				&round->out, &largest_pct);
	else
		r = policy_set(&changes->settings->params, &gpu->view, index, &terms, &round->out,
			       &largest_pct);
	if (r < 0)
		return err_condition(reterr, CONTROL_E_DOES_NOT_FIT,
				     "a cap of %d %% for vGPU %s does not fit on GPU %s (largest "
				     "that fits: %d %%)",
				     c->held ? c->held_cap_pct
					     : policy_floor_pct(&changes->settings->params,
								&gpu->view, &c->terms),
				     vgpu->contract.id, gpu->config.name, largest_pct);
	return 0;
}

int contract_change_plan(struct changes *changes, struct host_gpu *gpu, struct vgpu *vgpu,
			 unsigned int fields, const struct contract *c, struct instant now,
			 struct err *reterr)
{
	struct plan_round *round = changes->tick->round;
	int r;

	round->out.n_decisions = round->out.n_moves = 0;
	r = contract_change_check_units(gpu, fields, c, reterr);
	if (r == 0)
		r = contract_change_check_memory(gpu, fields, c, reterr);
	if (r != 0)
		return r;
	if (!(fields & CONTRACT_CHANGE_CAP_FIELDS))
		return 0;
	round_view(changes->tick, gpu);
	r = contract_change_check_answers(gpu, reterr);
	if (r == 0)
		r = contract_change_check_terms(gpu, c, reterr);
	if (r == 0)
		r = check_hold(gpu, c, reterr);
	if (r == 0 && !gpu->traits.observes)
		r = plan_cap(changes, gpu, round, vgpu, c, reterr);
	return r == 0 ? round_check(changes->tick, gpu, vgpu, now, reterr) : r;
}

int contract_change_apply_labels(struct host_gpu *gpu, struct vgpu *vgpu, json_t *labels,
				 struct err *reterr)
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

void contract_change_commit(struct changes *changes, struct host_gpu *gpu, struct vgpu *vgpu,
			    const struct contract *c, struct instant now)
{
	struct plan_round *round = changes->tick->round;
	bool frees = round->out.n_moves > 0 || c->held != vgpu->contract.held ||
		     c->terms.initial_cap_pct != vgpu->contract.terms.initial_cap_pct;

	if (changes->caps->frames.hub)
		fps_hub_rematch(changes->caps->frames.hub);
	vgpu_set_contract(vgpu, c);
	if (!c->held)
		cap_set_foreign(&vgpu->cap, false);
	if (!vgpu->device) {
		/* The next tick makes room for it. */
		cap_assume(&vgpu->cap, host_reserved_cap_pct(&changes->settings->params, gpu, c,
							     vgpu->cap.pct));
		return;
	}
	actuate_initial_cap(&changes->caps->actuator, gpu, vgpu, c->terms.initial_cap_pct);
	/* A failed write is recorded with the decision and raises an alert. */
	(void)round_apply(changes->tick, gpu, /* act= */ true, now);
	/* In modes other than act, only the requested cap changes. */
	if (frees && gpu->mode == GPU_MODE_ACT)
		contract_change_give_back(changes, gpu, now);
}

void contract_change_give_back(struct changes *changes, struct host_gpu *gpu, struct instant now)
{
	struct plan_round *round = changes->tick->round;

	round_view(changes->tick, gpu);
	changes->settings->policy->give_back(&changes->settings->params, &gpu->view, &round->out);
	/*
	 * A failed write is recorded with the decision. The next tick plans from the caps in force.
	 */
	(void)round_apply(changes->tick, gpu, /* act= */ true, now);
}
