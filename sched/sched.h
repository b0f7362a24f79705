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
 * more than 100 shrink alike.
 *
 * Freestanding: the kernel compiles these very files. No libc, floating point, allocation or clock;
 * the caller owns every struct, hands in the time and holds a lock where it needs one. The only
 * 64-bit division is by the constant 100 (a 32-bit kernel must supply it). The function names keep
 * clear of the kernel's own sched_init(), sched_tick() and their like.
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
	struct sched_vgpu *next, *prev; /* sched::current, a ring */
	bool pending;			/* has work for the GPU */
	uint8_t cap_pct;		/* in force in this slot; 0: no limit */
	uint8_t next_cap_pct;		/* in force from the next slot on */
	uint8_t initial_cap_pct;	/* what it was added with */
	int64_t slice_ns;		/* left; below 0 after an overrun */
	uint64_t busy_ns;		/* cumulative time run */
	uint64_t sched_ns;		/* cumulative time allotted up to allotted_at_ns */
	uint64_t allotted_at_ns;
};

/* One GPU. */
struct sched {
	struct sched_vgpu *current; /* whose turn it is or was last; NULL: no vGPU */
	uint64_t quantum_ns;	    /* left of that turn */
	uint64_t slot_end_ns;	    /* when sched_open_slot() is due */
	unsigned int slot;	    /* of the second, 0..9 */
	unsigned int n_pending;	    /* vGPUs with work for the GPU */
	uintptr_t pending_xor;	    /* of their addresses: where it is one, its address */
};

/* Begins the first slot of a second at @now_ns, without vGPUs. */
void sched_start(struct sched *sched, uint64_t now_ns);

/* Adds @vgpu as the last of the round, with the rest of this slot's slice. @cap_pct: 0..100. */
void sched_add(struct sched *sched, struct sched_vgpu *vgpu, unsigned int cap_pct, uint64_t now_ns);

/* Takes @vgpu out, also in the middle of its turn. The caller may free it. */
void sched_remove(struct sched *sched, struct sched_vgpu *vgpu);

/* Sets the cap, 0..100, from the next slot on. */
void sched_set_cap(struct sched_vgpu *vgpu, unsigned int cap_pct);

/* Says whether @vgpu has work for the GPU. */
void sched_set_pending(struct sched *sched, struct sched_vgpu *vgpu, bool pending);

/* Begins the next slot; to be called at slot_end_ns. Late is allowed: the slot was longer. */
void sched_open_slot(struct sched *sched, uint64_t now_ns);

/*
 * Who runs now, and for how long at most; NULL: nobody, the GPU idles. Asking again changes nothing
 * while the one it named has work and time left, so ask whenever something happened.
 */
struct sched_vgpu *sched_pick(struct sched *sched, uint64_t *ret_run_ns);

/* Charges @vgpu with @ran_ns of GPU time. More than was granted is a debt within the second. */
void sched_account(struct sched *sched, struct sched_vgpu *vgpu, uint64_t ran_ns);

/* Cumulative time allotted: the integral of the cap in force up to @now_ns (no limit counts as
 * 100). */
uint64_t sched_allotted_ns(const struct sched_vgpu *vgpu, uint64_t now_ns);

#endif
