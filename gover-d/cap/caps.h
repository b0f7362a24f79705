/* SPDX-License-Identifier: MIT */
/*
 * Determines the origin of each cap that is read from a vGPU: at the start, in every tick, and
 * around a write. A cap that another program wrote stays in force: the vGPU is on hold until an
 * operator releases it. If a lease has ended and the cap is therefore the initial cap again, the
 * last cap is written again. actuate.c writes the caps.
 */
#ifndef GOVER_D_CAP_CAPS_H
#define GOVER_D_CAP_CAPS_H

#include "gover-d/cap/actuate.h"
#include "gover-d/cap/frames.h"
#include "gover-d/store/save.h"

/* The caps of this host. */
struct caps {
	struct actuator actuator; /* writes them */
	struct frames frames;	  /* frames of the vGPUs */
	bool contracts_lost;	  /* the cap journal lists vGPUs whose contracts are missing */
	struct host *host;
	struct store *store;
	struct recorder *recorder;
	struct sales *sales;
	const struct settings *settings;
};

/*
 * Adopts the cap @found_pct (0: the vGPU has no cap) of a device that was just attached. The caller
 * saves the contracts.
 */
void caps_adopt(struct caps *caps, struct host_gpu *gpu, struct vgpu *vgpu, int found_pct,
		struct instant now);
/* Checks the sampled cap. @gap: the tick is late, so a lease may have expired. */
void caps_check_sample(struct caps *caps, struct host_gpu *gpu, struct vgpu *vgpu, bool gap,
		       struct instant now);
/* Stores the result of the renewal of the lease in a sweep. */
void caps_note_lease(struct vgpu *vgpu, const struct gpu_io_sample *sample);
/*
 * Reads and checks the cap before a request changes it. Returns 1 with a message if an external
 * writer changed the cap; the vGPU is on hold then.
 */
int caps_check_now(struct caps *caps, struct host_gpu *gpu, struct vgpu *vgpu, struct instant now,
		   struct err *reterr);
/*
 * Checks @found_pct, which was read just before a write and is not the cap that was expected.
 * Nothing was written. A new initial cap of a vGPU without a contract is accepted. If the lease of
 * the cap has ended, the next tick writes the last cap again.
 */
void caps_check_found(struct caps *caps, struct host_gpu *gpu, struct vgpu *vgpu, int found_pct,
		      struct instant now);

/*
 * Reports the condition of the alert foreign_write. Also called between ticks, because the vGPU may
 * vanish before the next tick.
 */
void caps_hold_foreign_alert(struct alerts *alerts, const char *gpu, const struct vgpu *vgpu,
			     int64_t now_ms);

#endif
