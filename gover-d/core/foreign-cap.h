/* SPDX-License-Identifier: MIT */
/*
 * Determines the origin of a cap that was read from a vGPU, at the start and in every tick. Adopts
 * caps that other programs set; the caller then saves the contract.
 */
#ifndef GOVER_D_CORE_FOREIGN_CAP_H
#define GOVER_D_CORE_FOREIGN_CAP_H

#include "gover-d/core/actuate.h"

struct manager;

enum cap_origin {
	CAP_OWN, /* a cap that the daemon wrote */
	/* a new initial cap of a vGPU without a contract, set by another program */
	CAP_NEW_INITIAL,
	/* the initial cap, set by the end of a lease, by gover-d --restore or in a new device */
	CAP_INITIAL,
	CAP_FOREIGN,  /* a cap that another program wrote */
	CAP_NOT_KEPT, /* the driver has acknowledged the last write and did not keep it */
	/* the initial cap cannot be read now, or the device of the cap was removed */
	CAP_UNKNOWN,
};

/*
 * Determines the origin of the cap @cap_pct (0: the vGPU has no cap). @lease_over: the lease of the
 * cap may have ended, or gover-d --restore may have run.
 */
enum cap_origin foreign_cap_judge(const struct actuator *actuator, const struct host_gpu *gpu,
				  const struct vgpu *vgpu, int cap_pct, bool lease_over);

/* For CAP_FOREIGN: puts the vGPU on hold at @found_pct until an operator releases it. */
void foreign_cap_hold(struct manager *manager, struct host_gpu *gpu, struct vgpu *vgpu,
		      int found_pct, struct instant now);
/* For CAP_NOT_KEPT: takes @found_pct as the cap in force. The cap is written again after a pause.
 */
void foreign_cap_note_loss(struct manager *manager, struct host_gpu *gpu, struct vgpu *vgpu,
			   int found_pct, struct instant now);
/* For CAP_NEW_INITIAL: records @found_pct as the sold cap. */
void foreign_cap_accept_initial(struct manager *manager, struct host_gpu *gpu, struct vgpu *vgpu,
				int found_pct, struct instant now);

#endif
