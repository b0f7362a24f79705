/* SPDX-License-Identifier: MIT */
/*
 * Writes caps, and creates and removes vGPUs; no other module does this. Decreases are written and
 * read back first. Increases use only capacity that is really free (rule 6). In a dry run nothing
 * is written.
 *
 * Each cap is read just before it is written, so that an external change since the last sample is
 * not overwritten. Only a change between this read and the write is lost.
 */
#ifndef GOVER_D_CORE_ACTUATE_H
#define GOVER_D_CORE_ACTUATE_H

#include "gover-d/core/error.h"
#include "gover-d/model/host.h"
#include "gover-d/store/cap-journal.h"

struct history;

struct actuator {
	struct cap_journal *journal;
	const struct history *history; /* records the cap writes; NULL: they are not recorded */
	bool dry_run;
};

/* A planned change of a cap and its result. */
struct actuate_move {
	struct vgpu *vgpu;
	int from_pct, to_pct;
	int read_back_pct; /* cap read back after the write; -1: not written, or not readable */
	int foreign_pct;   /* cap that an external writer set since the last sample; -1: none */
	int error;	   /* errno of this move; 0: no error */
};

/*
 * True if @cap_pct is the cap that the daemon wrote last, or a cap that the daemon wrote but could
 * not read back.
 */
bool actuate_is_ours(const struct actuator *actuator, const struct vgpu *vgpu, int cap_pct);
/*
 * Reads the cap. Returns true if an external writer set it; otherwise stores it in
 * vgpu->expected_cap_pct. Returns false if the cap cannot be read.
 */
bool actuate_is_foreign(const struct actuator *actuator, const struct host_gpu *gpu,
			struct vgpu *vgpu, int *ret_cap_pct);

/*
 * Applies @moves, which may be in any order, for @cause ("steal", ...). Sets cap_pct and
 * expected_cap_pct of each vGPU. Increases do not use capacity that a failed decrease did not free.
 * Returns 0, or -EIO if a move failed (see its error). -ESTALE: an external writer changed one of
 * these caps (see foreign_pct), and nothing was written.
 */
int actuate_moves(struct actuator *actuator, struct host_gpu *gpu, struct actuate_move *moves,
		  size_t n_moves, const char *cause, struct instant now);

/*
 * Writes one cap again after the end of a lease changed it. The sum of the caps is not checked.
 * -ESTALE: an external writer changed the cap, and nothing was written.
 */
int actuate_cap(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu, int cap_pct,
		const char *cause, struct instant now);

/*
 * Sets the initial cap of the contract and reads it back. The journal does not change, so that the
 * next start restores the last cap. -EIO: a different cap was read back.
 */
int actuate_restore(struct host_gpu *gpu, struct vgpu *vgpu, struct instant now);

/*
 * Renews the lease of the cap, or ends the lease if the configuration has none. Does nothing
 * without leases and in a dry run. Returns 0 or the error of the backend.
 */
int actuate_lease(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu,
		  struct instant now);

/*
 * Sets the initial cap in the backend, if the backend still allows this. The cap in force does not
 * change; the end of a lease resets it to the initial cap.
 */
void actuate_initial_cap(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu,
			 int initial_cap_pct);

/*
 * Creates the vGPU in its backend with @cap_pct and attaches it. Errors: CONTROL_E_DRY_RUN,
 * _NOT_STORED, _EXISTS, _INVALID, _DOES_NOT_FIT or _UNSUPPORTED.
 */
int actuate_create(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu, int cap_pct,
		   struct instant now, struct err *reterr);
/*
 * Removes the vGPU and detaches it. Errors: CONTROL_E_DRY_RUN or _IN_USE; nothing was changed then.
 */
int actuate_destroy(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu,
		    struct err *reterr);

#endif
