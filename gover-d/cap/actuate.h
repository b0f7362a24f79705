/* SPDX-License-Identifier: MIT */
/*
 * Writes caps and limits of memory, and creates and removes vGPUs. No other module does this. In a
 * dry run nothing is written.
 *
 * Decreases are written and read back first. Increases use only capacity that is free afterwards
 * (rule 6).
 *
 * Each cap is read just before it is written, so that an external change since the last sample is
 * not overwritten. Only an external change between this read and the write is overwritten.
 */
#ifndef GOVER_D_CAP_ACTUATE_H
#define GOVER_D_CAP_ACTUATE_H

#include "gover-d/config/settings.h"
#include "gover-d/model/error.h"
#include "gover-d/model/host.h"
#include "gover-d/store/cap-journal.h"

struct history;

struct actuator {
	struct cap_journal *journal;
	const struct history *history;	 /* records the cap writes; NULL: they are not recorded */
	const struct settings *settings; /* in a dry run nothing is written */
};

/* A planned change of a cap and its result. */
struct actuate_move {
	struct vgpu *vgpu;
	int from_pct, to_pct;
	int read_back_pct; /* cap after the write; -1: not written or not readable */
	/* cap that an external writer set since the last sample; -1: no external write */
	int foreign_pct;
	int error; /* errno of this move; 0: no error */
};

/* True if @cap_pct is a cap that the daemon wrote but could not read back. */
bool actuate_intended(const struct actuator *actuator, const struct vgpu *vgpu, int cap_pct);
/* True if @cap_pct is the cap that the daemon wrote last, or one that it could not read back. */
static inline bool actuate_is_ours(const struct actuator *actuator, const struct vgpu *vgpu,
				   int cap_pct)
{
	return cap_pct == vgpu->cap.expected_pct || actuate_intended(actuator, vgpu, cap_pct);
}

/*
 * Reads the cap. Returns true if an external writer set it; otherwise stores it in
 * vgpu->cap.expected_pct. Returns false if the cap cannot be read.
 */
bool actuate_is_foreign(const struct actuator *actuator, const struct host_gpu *gpu,
			struct vgpu *vgpu, int *ret_cap_pct);

/*
 * Applies @moves, which may be in any order, for @cause ("steal", ...). Sets cap.pct and
 * cap.expected_pct of each vGPU. If a decrease fails, less capacity is available for the increases.
 * Returns 0, or -EIO if a move failed (see its error). -ESTALE: an external writer changed one of
 * these caps (see foreign_pct), and nothing was written.
 */
int actuate_moves(struct actuator *actuator, struct host_gpu *gpu, struct actuate_move *moves,
		  size_t n_moves, const char *cause, struct instant now);

/*
 * Writes @cap_pct again after the end of a lease has changed the cap. The sum of the caps is not
 * checked. -ESTALE: an external writer changed the cap, and nothing was written.
 */
int actuate_cap(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu, int cap_pct,
		const char *cause, struct instant now);

/*
 * Sets the cap to the initial cap of the contract and reads it back. The journal does not change,
 * so that the next start restores the last cap. -EIO: a different cap was read back.
 */
int actuate_restore(struct host_gpu *gpu, struct vgpu *vgpu, struct instant now);

/*
 * Returns the lease in ms that the cap needs now; 0: the lease must end. -1: nothing to do, because
 * this is a dry run, the backend has no leases, or the lease has ended already.
 */
static inline int actuate_plan_lease(const struct actuator *actuator, const struct host_gpu *gpu,
				     const struct vgpu *vgpu)
{
	bool observed = gpu->mode == GPU_MODE_OBSERVE;
	int lease_ms = observed ? 0 : gpu->config.lease_ms;

	if (actuator->settings->dry_run || !gpu->traits.leases)
		return -1;
	/* In mode observe, do not end the leases of other programs. */
	if (lease_ms == 0 &&
	    (vgpu->cap.lease == CAP_LEASE_ENDED || (observed && vgpu->cap.lease != CAP_LEASE_RUNS)))
		return -1;
	return lease_ms;
}

/* Renews or ends the lease of the cap, if this is needed. The next sweep tries again on errors. */
void actuate_lease(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu,
		   struct instant now);

/*
 * Sets the initial cap in the backend, if the backend still allows this. The cap in force does not
 * change. At the end of a lease, the backend resets the cap to the initial cap.
 */
void actuate_initial_cap(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu,
			 int initial_cap_pct);

/*
 * Limits the device memory to @memory_mib (0: no limit), unless this is the limit in force, the
 * backend cannot limit memory, or this is a dry run. Returns a negative errno if the write failed;
 * it is then in vgpu->memory_errno, and the next tick writes the limit of the contract.
 */
int actuate_memory(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu,
		   int memory_mib);

/*
 * With guarantees, sets the ceiling of the whole GPU time to that of the contract, unless it is in
 * force, or this is a dry run. Logs an error, after which the next call tries again. If the backend
 * has no ceiling, the initial cap of the kernel stays the ceiling. @rewrite: also write a ceiling
 * that is in force, because another program may have changed it.
 */
void actuate_ceiling(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu,
		     bool rewrite);
/* The next actuate_ceiling() of each vGPU writes. Call it after the sharing has changed. */
void actuate_forget_ceilings(struct host_gpu *gpu);

/* Forgets the errors of cap writes, after the tick has reported them. */
static inline void actuate_end_tick(struct host_gpu *gpu)
{
	for (struct vgpu *v = gpu->vgpus; v; v = v->next)
		v->write_errno = 0;
}

/* Attaches the device of @vgpu. Errors: as gpu_io_attach(). */
int actuate_attach(struct host_gpu *gpu, struct vgpu *vgpu, struct instant now, struct err *reterr);
/* Detaches the device, which may still exist. */
void actuate_detach(struct host_gpu *gpu, struct vgpu *vgpu);
/*
 * Creates the vGPU in its backend with @cap_pct and attaches it. Errors: CONTROL_E_DRY_RUN,
 * _NOT_STORED, _EXISTS, _INVALID, _DOES_NOT_FIT, _UNSUPPORTED or _NO_ANSWER.
 */
int actuate_create(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu, int cap_pct,
		   struct instant now, struct err *reterr);
/*
 * Removes the vGPU and detaches it. Errors: CONTROL_E_DRY_RUN, _IN_USE or _NO_ANSWER. After an
 * error nothing has changed; only after _NO_ANSWER the vGPU may still disappear later.
 */
int actuate_destroy(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu,
		    struct err *reterr);

#endif
