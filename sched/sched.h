/* SPDX-License-Identifier: MIT */
/*
 * The vGPU scheduler: who may use the GPU next and for how long, so that each vGPU gets its cap.
 * Source: gOver (IEEE TC 2022) section 3.4, Algorithms 2 and 3; design.md section 4.
 *
 * A second has ten slots of 100 ms. Each slot gives a vGPU slot x cap of time slice on top of what
 * it has left; the tenth sets it anew, so that no debt or credit crosses the second. Next is the
 * first in round-robin order with work and slice left; where there is none the GPU idles, whoever
 * else has work: a cap is hard. A turn is at most a quantum, in proportion to the cap, so that a
 * vGPU that wakes with saved-up slice takes nothing from another's share, and caps that add up to
 * more than 100 shrink alike. That is the discipline "cap". Others are rows of a table
 * (sched/discipline.c) and differ in who may run and who is next; turns, caps, leases and the books
 * are the same.
 *
 * A lease ties a cap to somebody who looks after it: where nobody has written the cap or the lease
 * for that long, the cap returns to the initial one.
 *
 * Freestanding: the kernel compiles these very files. No libc, floating point, allocation or clock;
 * no 64-bit division, which a 32-bit kernel lacks. The caller owns every struct, hands in the time
 * and holds a lock where it needs one. The function names keep clear of the kernel's own
 * sched_init(), sched_tick() and their like.
 */
#ifndef SCHED_SCHED_H
#define SCHED_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCHED_SLOT_NS  100000000ULL
#define SCHED_SLOTS    10	  /* in a second */
#define SCHED_ROUND_NS 5000000ULL /* a round of quanta when the caps add up to 100 */

/* One vGPU. All of it is the scheduler's, to be read. */
struct sched_vgpu {
	struct sched_vgpu *next, *prev; /* sched::turn, a ring */
	bool pending;			/* has work for the GPU */
	bool runnable;			/* that, and limit_ns */
	bool cap_written;		/* sched_set_cap() was called: the initial cap is fixed */
	uint8_t cap_pct;		/* in force in this slot; 0: no limit */
	uint8_t next_cap_pct;		/* in force from the next slot on */
	uint8_t initial_cap_pct;	/* what it was added with, or sched_set_initial_cap() */
	uint64_t limit_ns;		/* how long the discipline lets it run; 0: not now */
	int64_t slice_ns;		/* cap: left; below 0 after an overrun */
	uint64_t tag;			/* weight: what it has run, in units over its weight */
	uint64_t busy_ns;		/* cumulative time run */
	uint64_t sched_ns;		/* cumulative time allotted up to allotted_at_ns */
	uint64_t allotted_at_ns;
	uint64_t lease_ns;     /* 0: none */
	uint64_t lease_end_ns; /* 0: it rests, until the cap or the lease is written */
};

struct sched;

/* How time is shared: a row of sched_disciplines[]. Keeps limit_ns of each vGPU. */
struct sched_discipline {
	const char *name;
	/* @vgpu is new; @slice_ns is its share of what is left of the slot. */
	void (*join)(const struct sched *sched, struct sched_vgpu *vgpu, uint64_t slice_ns);
	/* A slot begins for @vgpu; @second_begins: the first one of a second. */
	void (*refill)(const struct sched *sched, struct sched_vgpu *vgpu, bool second_begins);
	/* @vgpu has work again. NULL: that changes nothing. */
	void (*wake)(const struct sched *sched, struct sched_vgpu *vgpu);
	/* Enters what @vgpu has run. */
	void (*charge)(struct sched_vgpu *vgpu, uint64_t ran_ns);
	/* Whose turn is next. Asked only when somebody is runnable. */
	struct sched_vgpu *(*pick)(struct sched *sched);
};

/* One GPU. */
struct sched {
	const struct sched_discipline *discipline;
	struct sched_vgpu *turn; /* whose turn it is or was last; NULL: no vGPU */
	uint64_t quantum_ns;	 /* left of that turn */
	uint64_t slot_end_ns;	 /* when sched_open_slot() is due */
	uint64_t tag;		 /* weight: of the last one that got a turn */
	unsigned int slot;	 /* of the second, 0..9 */
	unsigned int n_runnable;
};

/*
 * "cap": hard, an idle vGPU's time is nobody's. "weight": work-conserving, vGPUs with work share
 * the whole GPU in proportion to their caps. The first is the default; one without a name ends it.
 */
extern const struct sched_discipline sched_disciplines[];

/* The row with that name; NULL: none. */
const struct sched_discipline *sched_discipline_find(const char *name);

/* Begins the first slot of a second at @now_ns, without vGPUs. @discipline NULL: the default. */
void sched_start(struct sched *sched, const struct sched_discipline *discipline, uint64_t now_ns);

/*
 * Adds @vgpu as the last of the round, with the rest of this slot's slice and without a lease.
 * @cap_pct: 0..100.
 */
void sched_add(struct sched *sched, struct sched_vgpu *vgpu, unsigned int cap_pct, uint64_t now_ns);

/* Takes @vgpu out, also in the middle of its turn. The caller may free it. */
void sched_remove(struct sched *sched, struct sched_vgpu *vgpu);

/* Sets the cap, 0..100, from the next slot on, and renews the lease. */
void sched_set_cap(struct sched_vgpu *vgpu, unsigned int cap_pct, uint64_t now_ns);

/* Sets the cap and the initial cap, 0..100, from the next slot on. -1 once a cap was written. */
int sched_set_initial_cap(struct sched_vgpu *vgpu, unsigned int cap_pct);

/* Sets how long a written cap holds, counted from now on, which renews it. 0: for ever. */
void sched_set_lease(struct sched_vgpu *vgpu, uint64_t lease_ns, uint64_t now_ns);

/* Says whether @vgpu has work for the GPU. */
void sched_set_pending(struct sched *sched, struct sched_vgpu *vgpu, bool pending);

/*
 * Begins the next slot; to be called at slot_end_ns. Late is allowed: the slot was longer. The cap
 * of a lease that has run out is the initial one from this slot on, so within the lease and a slot.
 */
void sched_open_slot(struct sched *sched, uint64_t now_ns);

/*
 * Who runs now, and for how long at most; NULL: nobody, the GPU idles. Asking again changes nothing
 * while the one it named has work and time left, so ask whenever something happened.
 */
struct sched_vgpu *sched_pick(struct sched *sched, uint64_t *ret_run_ns);

/* Charges @vgpu with @ran_ns of GPU time. More than was granted is a debt. */
void sched_account(struct sched *sched, struct sched_vgpu *vgpu, uint64_t ran_ns);

/*
 * Cumulative time allotted: the integral of the cap in force up to @now_ns (no limit counts as
 * 100).
 */
uint64_t sched_allotted_ns(const struct sched_vgpu *vgpu, uint64_t now_ns);

#endif
