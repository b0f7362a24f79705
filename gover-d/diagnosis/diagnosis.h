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

/*
 * Updates @diagnosis, which is that of the last period of @vgpu or empty. Call it after the promise
 * was judged and before caps change. The cause may be kept from an earlier period: its words, its
 * fix and its command are kept with it.
 */
void diagnose(const struct config *config, const struct host_gpu *gpu, const struct vgpu *vgpu,
	      struct diagnosis *diagnosis);

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
