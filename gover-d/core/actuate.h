/* SPDX-License-Identifier: MIT */
/*
 * The only file that changes the machine: caps written, vGPUs made and removed. Decreases are
 * written and read back first; an increase is written only for what was really freed (rule 6). In a
 * dry run nothing is written and everything says so.
 *
 * A cap is read just before it is written, whoever asks: what somebody else wrote meanwhile is not
 * written over. Requests come at any time of a period, and even a tick has sampled all its vGPUs
 * before it writes to the first. One more read costs a microsecond, and only of those that change;
 * what remains is the instant between this read and the write, which no file can close.
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

/* One change asked for and what came of it. */
struct actuate_move {
	struct vgpu *vgpu;
	int from_pct, to_pct;
	int read_back_pct; /* in force afterwards, as read; -1: nothing was written */
	int foreign_pct;   /* what somebody else wrote meanwhile; -1: nobody did */
	int error;	   /* errno of this write, 0 = fine */
};

/*
 * Is @cap_pct, as read of @vgpu, what we wrote last, or were about to write when it could not be
 * read back?
 */
bool actuate_is_ours(const struct actuator *actuator, const struct vgpu *vgpu, int cap_pct);
/* Reads the cap in force. True: somebody else wrote it; a cap that cannot be read is nobody's, and
 * one of ours is expected from now on. */
bool actuate_is_foreign(const struct actuator *actuator, const struct host_gpu *gpu,
			struct vgpu *vgpu, int *ret_cap_pct);

/*
 * Applies @moves (any order) for @cause ("steal", ...). Returns 0 when every one came out as asked,
 * -EIO when one did not (each says its own), never half a step: what a failed decrease did not free
 * is not given. Each vGPU's cap_pct and expected_cap_pct are up to date afterwards. -ESTALE:
 * somebody else has written one of these caps (its foreign_pct), and nothing at all was done.
 */
int actuate_moves(struct actuator *actuator, struct host_gpu *gpu, struct actuate_move *moves,
		  size_t n_moves, const char *cause, struct instant now);

/* Writes one cap outside any budget: hand-back after a lease. -ESTALE as above. */
int actuate_cap(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu, int cap_pct,
		const char *cause, struct instant now);

/* Puts the contract's initial cap in force, reads it back, and leaves the journal as it is: the
 * next start finds there which caps to take up again. -EIO: another cap is read back. */
int actuate_restore(struct host_gpu *gpu, struct vgpu *vgpu, struct instant now);

/* Renews the lease of its cap; lets go of a lease of ours where none shall be. 0 too where there
 * are no leases, or in a dry run; else as the backend says. */
int actuate_lease(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu,
		  struct instant now);

/* Tells the backend what was sold, as far as it can still be told: what the end of a lease returns
 * to. The cap in force stays. */
void actuate_initial_cap(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu,
			 int initial_cap_pct);

/* Makes the vGPU in its backend with @cap_pct in force, and attaches it. CONTROL_E_DRY_RUN,
 * _NOT_STORED, _EXISTS, _INVALID, _DOES_NOT_FIT or _UNSUPPORTED. */
int actuate_create(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu, int cap_pct,
		   struct instant now, struct err *reterr);
/* Removes it, and detaches it once it is gone. CONTROL_E_DRY_RUN or _IN_USE: nothing has changed.
 */
int actuate_destroy(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu,
		    struct err *reterr);

#endif
