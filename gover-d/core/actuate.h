/* SPDX-License-Identifier: MIT */
/*
 * The only module that changes the machine: it writes caps and creates and removes vGPUs. Decreases
 * are written and read back first; an increase gets only what they really freed (rule 6). In a dry
 * run nothing is written.
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
	const struct history *history; /* cap writes are recorded here; may be NULL */
	bool dry_run;
};

/* A planned change of a cap and its result. */
struct actuate_move {
	struct vgpu *vgpu;
	int from_pct, to_pct;
	int read_back_pct; /* the cap read after the write; -1: nothing was written */
	int foreign_pct;   /* set by an external writer meanwhile; -1: not changed */
	int error;	   /* errno of this write; 0: no error */
};

/* True if the daemon wrote @cap_pct last, or was about to write it when it could not read it back.
 */
bool actuate_is_ours(const struct actuator *actuator, const struct vgpu *vgpu, int cap_pct);
/* Reads the cap. Returns true if an external writer set it; otherwise the cap becomes the expected
 * one. A cap that cannot be read is not foreign. */
bool actuate_is_foreign(const struct actuator *actuator, const struct host_gpu *gpu,
			struct vgpu *vgpu, int *ret_cap_pct);

/*
 * Applies @moves, in any order, for @cause ("steal", ...). Returns 0 if all succeeded, or -EIO if
 * one did not; its error says why, and what a failed decrease did not free is not given to others.
 * Sets cap_pct and expected_cap_pct of each vGPU. -ESTALE: an external writer changed one of these
 * caps (see foreign_pct), and nothing was written.
 */
int actuate_moves(struct actuator *actuator, struct host_gpu *gpu, struct actuate_move *moves,
		  size_t n_moves, const char *cause, struct instant now);

/* Writes one cap without a budget, after the end of a lease. -ESTALE as above. */
int actuate_cap(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu, int cap_pct,
		const char *cause, struct instant now);

/* Sets the initial cap of the contract and reads it back. The journal stays as it is, so that the
 * next start restores the last caps. -EIO: another cap was read back. */
int actuate_restore(struct host_gpu *gpu, struct vgpu *vgpu, struct instant now);

/* Renews the lease of the cap, or ends it if the configuration has none. Returns 0, also without
 * leases or in a dry run, or the error of the backend. */
int actuate_lease(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu,
		  struct instant now);

/* Sets the initial cap in the backend, to which the end of a lease returns, if the backend still
 * allows it. The cap in force does not change. */
void actuate_initial_cap(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu,
			 int initial_cap_pct);

/* Creates the vGPU in its backend with @cap_pct and attaches it. CONTROL_E_DRY_RUN, _NOT_STORED,
 * _EXISTS, _INVALID, _DOES_NOT_FIT or _UNSUPPORTED. */
int actuate_create(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu, int cap_pct,
		   struct instant now, struct err *reterr);
/* Removes the vGPU and detaches it. CONTROL_E_DRY_RUN or _IN_USE: nothing was changed. */
int actuate_destroy(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu,
		    struct err *reterr);

#endif
