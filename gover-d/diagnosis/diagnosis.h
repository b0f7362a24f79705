/* SPDX-License-Identifier: MIT */
/*
 * Explains the service of a vGPU to people: one sentence with the state and its cause, the fix, and
 * the next command. The alert promise_broken, `gover-ctl why`, REST and the web page
 * show these texts, so that all of them agree.
 */
#ifndef GOVER_D_DIAGNOSIS_DIAGNOSIS_H
#define GOVER_D_DIAGNOSIS_DIAGNOSIS_H

#include "gover-d/config/config.h"
#include "gover-d/model/host.h"

#define DIAGNOSIS_TEXT_MAX    480
#define DIAGNOSIS_FIX_MAX     240
#define DIAGNOSIS_COMMAND_MAX 128

struct diagnosis {
	char text[DIAGNOSIS_TEXT_MAX];	     /* begins with the id of the vGPU */
	char fix[DIAGNOSIS_FIX_MAX];	     /* "": there is nothing to fix */
	char command[DIAGNOSIS_COMMAND_MAX]; /* "": there is nothing to do */
};

/* Composes the texts for @vgpu with @cause. PROMISE_NO_CAUSE: the cause is not known, or none. */
void diagnose(const struct config *config, const struct host_gpu *gpu, const struct vgpu *vgpu,
	      enum promise_cause cause, struct diagnosis *ret_diagnosis);

/* Returns the state in REST: "kept", "broken", "unknown" or "missing". */
const char *diagnosis_state_name(const struct vgpu *vgpu);

/*
 * Returns the vGPU with the smallest demand whose move makes all other demands fit on the GPU, or
 * else the vGPU with the largest demand. NULL: there is no vGPU.
 */
const struct vgpu *diagnosis_best_move(const struct host_gpu *gpu);

/*
 * Returns the vGPU with the largest demand after that of @last; ties are in the order of ids. @last
 * NULL: the largest demand. NULL: there is no further vGPU.
 */
const struct vgpu *diagnosis_next_want(const struct host_gpu *gpu, const struct vgpu *last);

/* Appends the demands of the vGPUs, the largest first: "a 48 %, b 30 % and 3 others". */
void diagnosis_append_wants(const struct host_gpu *gpu, char *text, size_t size);

#endif
