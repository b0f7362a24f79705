/* SPDX-License-Identifier: MIT */
/*
 * Looks up GPUs and vGPUs in memory, and inserts and removes vGPUs. Accesses a device only to
 * detach that device.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/xalloc.h"
#include "gover-d/model/host.h"
#include "policy/plan.h"

const struct host_delay_bound host_delay_bounds[HOST_DELAY_BUCKETS] = {
	{0.0001, "0.0001"}, {0.00025, "0.00025"}, {0.0005, "0.0005"}, {0.001, "0.001"},
	{0.0025, "0.0025"}, {0.005, "0.005"},	  {0.01, "0.01"},     {0.025, "0.025"},
	{0.05, "0.05"},	    {0.1, "0.1"},	  {0.25, "0.25"},     {0.5, "0.5"},
	{1, "1.0"},	    {INFINITY, "+Inf"},
};

static const char *const mode_names[] = {
	[GPU_MODE_ACT] = "act",
	[GPU_MODE_OBSERVE] = "observe",
	[GPU_MODE_FROZEN] = "frozen",
};

const char *gpu_mode_name(enum gpu_mode mode)
{
	return mode_names[mode];
}

int gpu_mode_parse(const char *word, enum gpu_mode *ret_mode)
{
	for (size_t i = 0; i < ARRAY_SIZE(mode_names); i++) {
		if (strcmp(mode_names[i], word) == 0) {
			*ret_mode = (enum gpu_mode)i;
			return 0;
		}
	}
	return -EINVAL;
}

const struct host_gpu *host_view_gpu(const struct host *host, const char *name)
{
	for (int i = 0; i < host->n_gpus; i++)
		if (strcmp(host->gpus[i].config.name, name) == 0)
			return &host->gpus[i];
	return NULL;
}

struct host_gpu *host_find_gpu(struct host *host, const char *name)
{
	const struct host_gpu *gpu = host_view_gpu(host, name);

	return gpu ? &host->gpus[gpu - host->gpus] : NULL;
}

struct vgpu *host_find_vgpu(struct host *host, const char *id, struct host_gpu **ret_gpu)
{
	for (int i = 0; i < host->n_gpus; i++) {
		struct vgpu *vgpu = host_gpu_find_vgpu(&host->gpus[i], id);

		if (!vgpu)
			continue;
		if (ret_gpu)
			*ret_gpu = &host->gpus[i];
		return vgpu;
	}
	return NULL;
}

const struct vgpu *host_view_vgpu(const struct host *host, const char *id,
				  const struct host_gpu **ret_gpu)
{
	for (int i = 0; i < host->n_gpus; i++) {
		const struct vgpu *vgpu = host_gpu_find_vgpu(&host->gpus[i], id);

		if (!vgpu)
			continue;
		if (ret_gpu)
			*ret_gpu = &host->gpus[i];
		return vgpu;
	}
	return NULL;
}

void host_gpu_set_mode(struct host_gpu *gpu, enum gpu_mode mode, bool selling,
		       struct since frozen_since)
{
	gpu->mode = gpu->traits.observes ? GPU_MODE_OBSERVE : mode;
	gpu->frozen_since =
		gpu->mode == GPU_MODE_FROZEN ? frozen_since : (struct since){.at_ms = 0};
	gpu->selling = selling;
}

void host_gpu_check_caps(struct host_gpu *gpu)
{
	gpu->caps_due = true;
}

struct vgpu *vgpu_new(struct contract *contract, bool found)
{
	struct vgpu *vgpu = xcalloc(1, sizeof(*vgpu));

	vgpu->contract = *contract;
	contract->labels = NULL;
	vgpu->found = found;
	return vgpu;
}

void vgpu_set_contract(struct vgpu *vgpu, const struct contract *contract)
{
	json_t *labels = json_incref(contract->labels);

	contract_fini(&vgpu->contract);
	vgpu->contract = *contract;
	vgpu->contract.labels = labels;
}

void vgpu_mark_sold(struct vgpu *vgpu)
{
	vgpu->found = false;
}

void vgpu_set_found_cap(struct vgpu *vgpu, int pct)
{
	vgpu->contract.terms.initial_cap_pct = pct;
}

void vgpu_hold(struct vgpu *vgpu, struct instant now)
{
	vgpu->contract.held = true;
	vgpu->contract.held_cap_pct = vgpu->cap.pct;
	since_update(&vgpu->contract.held_since, true, now);
}

bool host_follow_clock(struct host *host, struct instant now)
{
	bool moved = false;

	for (int i = 0; i < host->n_gpus; i++) {
		moved |= since_follow(&host->gpus[i].frozen_since, now);
		for (struct vgpu *v = host->gpus[i].vgpus; v; v = v->next)
			moved |= since_follow(&v->contract.held_since, now);
	}
	return moved;
}

void host_gpu_insert(struct host_gpu *gpu, struct vgpu *vgpu)
{
	struct vgpu **at = &gpu->vgpus;

	while (*at && id_compare((*at)->contract.id, vgpu->contract.id) < 0)
		at = &(*at)->next;
	vgpu->next = *at;
	*at = vgpu;
	gpu->n_vgpus++;
}

void host_gpu_remove(struct host_gpu *gpu, struct vgpu *vgpu)
{
	struct vgpu **at = &gpu->vgpus;

	while (*at && *at != vgpu)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = vgpu->next;
	vgpu->next = NULL;
	gpu->n_vgpus--;
}

struct vgpu *vgpu_free(struct host_gpu *gpu, struct vgpu *vgpu)
{
	if (!vgpu)
		return NULL;
	gpu_io_detach(gpu->io, vgpu->device);
	contract_fini(&vgpu->contract);
	free(vgpu);
	return NULL;
}

const struct host_gpu *host_gpu_for(const struct host *host, const struct contract *contract)
{
	const struct host_gpu *gpu = NULL;

	if (contract->gpu[0])
		return host_view_gpu(host, contract->gpu);
	if (host_view_vgpu(host, contract->id, &gpu))
		return gpu;
	return host->n_gpus == 1 ? &host->gpus[0] : NULL;
}

int host_reserved_cap_pct(const struct policy_params *params, const struct host_gpu *gpu,
			  const struct contract *c, int last_pct)
{
	/* Before the first tick, gpu->view contains no steps. */
	const struct policy_gpu steps = {.step_pct = gpu->traits.step_pct,
					 .floor_pct = gpu->traits.floor_pct};
	const struct policy_terms *terms = &c->terms;

	if (c->held)
		return c->held_cap_pct;
	if (last_pct <= 0)
		return plan_contract_pct(&steps, terms);
	return max_int(policy_floor_pct(params, &steps, terms),
		       min_int(last_pct, policy_ceiling_pct(&steps, terms)));
}
