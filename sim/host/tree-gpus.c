/* SPDX-License-Identifier: MIT */
/* The simulated GPUs, and the creation and removal of their vGPUs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "sim/host/tree-gpus.h"

const struct tree_type tree_types[TREE_TYPES_N] = {
	{"i915-GVTg_V5_8", 8, TREE_LOW_GM_LEAST_MB, 384, "1024x768"},
	{"i915-GVTg_V5_4", 4, 128, 512, "1920x1200"},
	{"i915-GVTg_V5_2", 2, 256, 1024, "1920x1200"},
	{"i915-GVTg_V5_1", 1, 512, 2048, "1920x1200"},
};

static void new_functions(struct tree_gpu *gpu, int n_vfs)
{
	gpu->autoprobe = true;
	gpu->functions = xmalloc(sizeof(*gpu->functions));
	quanta_gpu_start(gpu->functions, (unsigned int)n_vfs, 0);
}

struct tree *tree_new(enum tree_host host, int gpus, int vgpus)
{
	struct tree *tree = xcalloc(1, sizeof(*tree));

	tree->host = host;
	for (int i = 0; i < gpus; i++) {
		struct tree_gpu *gpu = &tree->gpus[tree->n_gpus++];

		/* The first GPU has the PCI address of integrated graphics. The other GPUs are
		 * on other buses. */
		snprintf(gpu->name, sizeof(gpu->name), "0000:%02x:%02x.0", (unsigned int)i & 0xff,
			 i == 0 ? 2U : 0U);
		gpu->low_gm_mb = vgpus * TREE_LOW_GM_LEAST_MB;
		if (host == TREE_XE)
			new_functions(gpu, vgpus);
		else
			gpu->sim = sim_new();
	}
	return tree;
}

static void unref(struct tree_vgpu *vgpu)
{
	if (--vgpu->refs == 0)
		free(vgpu);
}

struct tree *tree_free(struct tree *tree)
{
	if (!tree)
		return NULL;
	for (int i = 0; i < tree->n_gpus; i++) {
		while (tree->gpus[i].vgpus)
			tree_remove_vgpu(tree->gpus[i].vgpus);
		if (tree->gpus[i].sim)
			sim_free(tree->gpus[i].sim);
		free(tree->gpus[i].functions);
	}
	free(tree);
	return NULL;
}

void tree_set_now(struct tree *tree, uint64_t now_ns)
{
	tree->now_ns = now_ns;
}

void tree_update(struct tree *tree, struct tree_gpu *gpu)
{
	if (gpu->functions)
		quanta_gpu_advance(gpu->functions, tree->now_ns);
	else
		sim_advance(gpu->sim, tree->now_ns);
}

void tree_advance(struct tree *tree)
{
	for (int i = 0; i < tree->n_gpus; i++)
		tree_update(tree, &tree->gpus[i]);
}

void tree_hold(const struct tree_node *node)
{
	if (node->vgpu)
		node->vgpu->refs++;
}

void tree_release(const struct tree_node *node)
{
	if (node->vgpu)
		unref(node->vgpu);
}

/* Returns the lowest vGPU id from 1 that is not in use on @gpu. */
static int free_id(const struct tree_gpu *gpu)
{
	for (int id = 1;; id++) {
		const struct tree_vgpu *vgpu = gpu->vgpus;

		while (vgpu && vgpu->id != id)
			vgpu = vgpu->next;
		if (!vgpu)
			return id;
	}
}

int tree_add_vgpu(struct tree *tree, struct tree_gpu *gpu, int type, const char *uuid)
{
	struct tree_vgpu *vgpu;
	int r;

	for (int i = 0; i < tree->n_gpus; i++)
		for (vgpu = tree->gpus[i].vgpus; vgpu; vgpu = vgpu->next)
			if (strcmp(vgpu->uuid, uuid) == 0)
				return -EEXIST;
	if (gpu->low_gm_mb < tree_types[type].low_gm_mb)
		return -ENOSPC;
	vgpu = xcalloc(1, sizeof(*vgpu));
	r = sim_add(gpu->sim, uuid, 100 / tree_types[type].parts, &vgpu->sim);
	if (r < 0) {
		free(vgpu);
		return r;
	}
	strcpy(vgpu->uuid, uuid);
	strcpy(vgpu->load, "0");
	vgpu->id = free_id(gpu);
	vgpu->life = ++tree->lives;
	vgpu->type = type;
	vgpu->gpu = gpu;
	vgpu->refs = 1;
	vgpu->next = gpu->vgpus;
	gpu->vgpus = vgpu;
	gpu->low_gm_mb -= tree_types[type].low_gm_mb;
	return 0;
}

void tree_remove_vgpu(struct tree_vgpu *vgpu)
{
	struct tree_vgpu **at = &vgpu->gpu->vgpus;

	while (*at != vgpu)
		at = &(*at)->next;
	*at = vgpu->next;
	vgpu->gpu->low_gm_mb += tree_types[vgpu->type].low_gm_mb;
	sim_remove(vgpu->gpu->sim, vgpu->sim);
	vgpu->sim = NULL;
	unref(vgpu);
}
