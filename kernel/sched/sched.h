/* SPDX-License-Identifier: MIT */
/*
 * The vGPU scheduler: decides which vGPU uses the GPU next and for how long, so that each vGPU gets
 * its cap. Source: gOver (IEEE TC 2022) section 3.4, Algorithms 2 and 3; design.md section 4.
 *
 * A second has ten slots of 100 ms. Each slot adds slot x cap to the time slice of a vGPU. At the
 * beginning of a second the slice is reset, so that no debt or credit crosses the second. The next
 * vGPU is the first in round-robin order that has work and slice left. If no vGPU has both, the GPU
 * idles, even if some vGPUs have work: a cap is a hard limit. A turn is at most one quantum, which
 * is proportional to the cap. Therefore a vGPU that wakes with a full slice does not reduce the
 * shares of the others. If the caps exceed 100 in sum, each vGPU gets less, in proportion to its
 * cap.
 *
 * These rules are the discipline "cap". The disciplines are rows of a table
 * (kernel/sched/discipline.c). A discipline decides which vGPUs can run and which vGPU is next;
 * turns, caps, leases and accounting are the same in all disciplines.
 *
 * In the discipline "guarantee", the slice is time that the vGPU can always use, and the ceiling
 * limits its total time. If no vGPU has both work and slice left, the time is spare: a vGPU with
 * work borrows it, up to its ceiling. vGPUs share spare time in proportion to their caps. Borrowed
 * time is not deducted from the slice. A borrower loses the GPU at the next sched_pick() after a
 * vGPU with slice left gets work.
 *
 * A lease limits the validity of a cap: if neither the cap nor the lease is written for the length
 * of the lease, the cap returns to the initial cap.
 *
 * Freestanding: the kernel compiles the same files. No libc, floating point, allocation or clock,
 * and no 64-bit division, which a 32-bit kernel does not have. The caller owns every struct, passes
 * the time and does the locking. The function names differ from the kernel's sched_init(),
 * sched_tick() and similar functions.
 */
#ifndef KERNEL_SCHED_SCHED_H
#define KERNEL_SCHED_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCHED_SLOT_NS 100000000ULL
#define SCHED_SLOTS   10 /* slots in a second */

/* If the caps add up to 100, each vGPU can run for one quantum in this time. */
#define SCHED_ROUND_NS 5000000ULL

/* One vGPU. Callers only read this struct. */
struct sched_vgpu {
	struct sched_vgpu *next, *prev; /* neighbours in the ring that starts at sched::turn */
	bool pending;			/* the vGPU has work for the GPU */
	bool runnable;			/* pending is true and limit_ns > 0 */
	bool entitled;			/* pending is true and claim_ns > 0 */
	bool borrows;			/* the current or last turn uses spare time */
	bool cap_written;		/* a cap was set: the initial cap can no longer change */
	bool ceiling_written;		/* the ceiling no longer follows the initial cap */
	uint8_t cap_pct;		/* cap in force in this slot; 0: no limit */
	uint8_t next_cap_pct;		/* cap in force from the next slot on */
	uint8_t initial_cap_pct;	/* cap of sched_add() or sched_set_initial_cap() */
	uint8_t ceiling_pct;		/* limit of the total time in this slot; 0: no limit */
	uint8_t next_ceiling_pct;	/* ceiling in force from the next slot on */
	uint64_t limit_ns;  /* run time that the discipline allows until the next refill */
	uint64_t claim_ns;  /* the part of limit_ns that is not spare time */
	int64_t slice_ns;   /* rest of the slice; negative after an overrun; 0 without a cap */
	int64_t ceiling_ns; /* rest of the ceiling; negative after an overrun */
	uint64_t tag;	    /* run time (guarantee: borrowed time) divided by the weight */
	uint64_t busy_ns;   /* cumulative run time */
	uint64_t sched_ns;  /* cumulative time allotted up to allotted_at_ns */
	uint64_t allotted_at_ns;
	uint64_t lease_ns;     /* length of the lease; 0: no lease */
	uint64_t lease_end_ns; /* end of the lease; 0: no lease, or it has expired */
};

struct sched;

/* A rule by which vGPUs share time: a row of sched_disciplines[]. */
struct sched_discipline {
	const char *name;
	const char *sharing; /* name in configurations and sysfs; NULL: not available there */
	/*
	 * Computes limit_ns and claim_ns of @vgpu. Called after every change of slice_ns,
	 * ceiling_ns or cap_pct.
	 */
	void (*allow)(struct sched_vgpu *vgpu);
	/* Called at the beginning of a slot. NULL: nothing to do. */
	void (*refill)(const struct sched *sched, struct sched_vgpu *vgpu);
	/* Called when @vgpu has work again. NULL: nothing to do. */
	void (*wake)(const struct sched *sched, struct sched_vgpu *vgpu);
	/* Called after @vgpu has run for @ran_ns. NULL: nothing to do. */
	void (*charge)(struct sched_vgpu *vgpu, uint64_t ran_ns);
	/*
	 * Returns the next vGPU. A discipline with spare time also sets its borrows. Called only if
	 * a vGPU is runnable.
	 */
	struct sched_vgpu *(*pick)(struct sched *sched);
};

/* One GPU. */
struct sched {
	const struct sched_discipline *discipline;
	struct sched_vgpu *turn; /* the vGPU of the current or last turn; NULL: no vGPUs */
	uint64_t quantum_ns;	 /* rest of the current turn */
	uint64_t slot_end_ns;	 /* time of the next sched_open_slot() */
	uint64_t tag;		 /* least tag at the last pick by tags */
	unsigned int slot;	 /* number of the slot in the second, 0..9 */
	unsigned int n_runnable;
	unsigned int n_entitled;
};

/*
 * "cap": a cap is a hard limit, and the time of an idle vGPU stays unused. "weight":
 * work-conserving; vGPUs with work share the whole GPU in proportion to their caps. "guarantee": a
 * cap is always available; vGPUs with work borrow the rest up to their ceilings. The first row is
 * the default. A row without a name ends the table.
 */
extern const struct sched_discipline sched_disciplines[];

/* Returns the row with that name, or NULL. A newline at the end of @name is ignored. */
const struct sched_discipline *sched_discipline_find(const char *name);

/*
 * Returns the row of "hard" or "guarantee", the words of configurations and sysfs, or NULL. A
 * newline at the end of @sharing is ignored, because a write to sysfs may end with it.
 */
const struct sched_discipline *sched_sharing_find(const char *sharing);

/* Returns "hard", "guarantee", or the name of a row that has neither word. */
const char *sched_sharing_name(const struct sched_discipline *discipline);

/* Initializes @sched without vGPUs; a second begins at @now_ns. @discipline NULL: the default. */
void sched_start(struct sched *sched, const struct sched_discipline *discipline, uint64_t now_ns);

/*
 * Changes the discipline at once. Caps, ceilings, leases and counters stay unchanged. Each vGPU
 * keeps the rest of its slice and ceiling; a debt ends.
 */
void sched_set_discipline(struct sched *sched, const struct sched_discipline *discipline);

/*
 * Adds @vgpu at the end of the round, with the slice for the rest of this slot and without a lease.
 * @cap_pct: 0..100, also the ceiling.
 */
void sched_add(struct sched *sched, struct sched_vgpu *vgpu, unsigned int cap_pct, uint64_t now_ns);

/*
 * Removes @vgpu, also during its turn, and sets its next and prev to NULL. The caller can then free
 * @vgpu.
 */
void sched_remove(struct sched *sched, struct sched_vgpu *vgpu);

/* Sets the cap, 0..100, from the next slot on, and renews the lease. */
void sched_set_cap(struct sched_vgpu *vgpu, unsigned int cap_pct, uint64_t now_ns);

/*
 * Sets the cap and the initial cap, 0..100, from the next slot on, and the ceiling if it was never
 * set. Returns -1 if a cap was already written.
 */
int sched_set_initial_cap(struct sched_vgpu *vgpu, unsigned int cap_pct);

/*
 * Sets the ceiling, 0..100 and 0 for no limit, from the next slot on. Until the first call, the
 * ceiling is the initial cap. A larger cap prevails over the ceiling. The ceiling has no lease.
 */
void sched_set_ceiling(struct sched_vgpu *vgpu, unsigned int ceiling_pct);

/* Sets the length of the lease and renews it at @now_ns. @lease_ns 0: no lease. */
void sched_set_lease(struct sched_vgpu *vgpu, uint64_t lease_ns, uint64_t now_ns);

/* Sets whether @vgpu has work for the GPU. */
void sched_set_pending(struct sched *sched, struct sched_vgpu *vgpu, bool pending);

/*
 * Begins the next slot. Call at slot_end_ns; a late call makes the slot longer. If a lease has
 * expired, the initial cap is in force from this slot on.
 */
void sched_open_slot(struct sched *sched, uint64_t now_ns);

/*
 * Returns the vGPU that runs now and writes its maximum run time; returns NULL if the GPU idles.
 * The result stays the same while that vGPU has work and time left, so call this function after
 * every change.
 */
struct sched_vgpu *sched_pick(struct sched *sched, uint64_t *ret_run_ns);

/*
 * Returns how long @vgpu, which has the current turn, can run in turns of the same kind before the
 * next refill, if no other vGPU needs the GPU.
 */
uint64_t sched_alone_ns(const struct sched_vgpu *vgpu);

/*
 * Charges @vgpu for @ran_ns of GPU time. If @ran_ns exceeds the maximum of sched_pick(), the slice
 * or the ceiling becomes negative.
 */
void sched_account(struct sched *sched, struct sched_vgpu *vgpu, uint64_t ran_ns);

/*
 * Returns the cumulative allotted time: the integral of the cap in force up to @now_ns, where no
 * limit counts as 100 %.
 */
uint64_t sched_allotted_ns(const struct sched_vgpu *vgpu, uint64_t now_ns);

#endif
