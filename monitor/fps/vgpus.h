/* SPDX-License-Identifier: MIT */
/* The vGPUs for which programs report frames, by id. */
#ifndef MONITOR_FPS_VGPUS_H
#define MONITOR_FPS_VGPUS_H

#include <stddef.h>
#include <stdint.h>

#include "monitor/fps/totals.h"

/* The state of one vGPU in the hub. */
struct fps_vgpu {
	char id[ID_MAX];
	uint64_t limit_ns; /* minimum time of a frame; 0: no limit */
	int held;	   /* connections of its programs to the unix socket */
	struct fps_refusals refused;
	struct fps_totals totals;
};

/* Zero-initialised. A pointer to a vGPU is valid until the vGPU is removed. */
struct fps_vgpus {
	struct fps_vgpu **list; /* sorted by id */
	size_t n;
};

void fps_vgpus_free(struct fps_vgpus *vgpus); /* frees the vGPUs, not @vgpus */

/* Returns the vGPU, or NULL. */
struct fps_vgpu *fps_vgpus_find(const struct fps_vgpus *vgpus, const char *id);
/* Returns the vGPU @id (valid), which is created if needed. */
struct fps_vgpu *fps_vgpus_get(struct fps_vgpus *vgpus, const char *id);
/* Frees a vGPU of the list. */
void fps_vgpus_remove(struct fps_vgpus *vgpus, struct fps_vgpu *vgpu);

#endif
