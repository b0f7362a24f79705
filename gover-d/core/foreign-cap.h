/* SPDX-License-Identifier: MIT */
/*
 * Judges where a cap comes from that was read from a vGPU, at the start and in every tick, and
 * takes over caps of other programs. The caller saves the contract afterwards.
 */
#ifndef GOVER_D_CORE_FOREIGN_CAP_H
#define GOVER_D_CORE_FOREIGN_CAP_H

#include "gover-d/core/actuate.h"

struct manager;

enum cap_origin {
	CAP_OWN,	 /* written by the daemon */
	CAP_NEW_INITIAL, /* the creator of a vGPU without a contract changed its initial cap */
	CAP_INITIAL,	 /* set by the end of a lease or by a restore */
	CAP_FOREIGN,	 /* written by another program */
};

/* Judges @cap_pct, 0: no limit, against vgpu->expected_cap_pct. @lease_over: the lease of the cap
 * may have ended, or a restore may have run. */
enum cap_origin foreign_cap_judge(const struct actuator *actuator, const struct host_gpu *gpu,
				  const struct vgpu *vgpu, int cap_pct, bool lease_over);

/* CAP_FOREIGN: puts the vGPU on hold at @found_pct until an operator releases it. */
void foreign_cap_hold(struct manager *manager, struct host_gpu *gpu, struct vgpu *vgpu,
		      int found_pct, struct instant now);
/* CAP_NEW_INITIAL: @found_pct counts as sold. */
void foreign_cap_accept_initial(struct manager *manager, struct host_gpu *gpu, struct vgpu *vgpu,
				int found_pct, struct instant now);

#endif
