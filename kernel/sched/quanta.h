/* SPDX-License-Identifier: MIT */
/*
 * A scheduler that shares a GPU among SR-IOV functions by time slices, as the firmware of Intel's
 * GPUs does for the xe driver. Function 0 is the physical function (PF), function n is VF n.
 *
 * A round gives each function a turn, in the order of their numbers. A turn lasts one execution
 * quantum. The priority decides about a function without work: with "low" it has no turn, and a
 * turn ends when the work ends; with "normal" the GPU idles for the rest of the turn. Thus a
 * quantum is a guarantee under "low" and also a limit under "normal". A PF with "high" has a turn
 * after each turn of another function, if it has work. A quantum of 0 is unlimited: the function
 * keeps the GPU until it has no work, and never idles through a turn.
 *
 * At the end of a turn the function must yield. Endless work does not yield. It is reset at the
 * end of the preemption timeout; a timeout of 0 is unlimited.
 *
 * A changed quantum is in force from the next turn on. It also ends an unlimited turn, except under
 * endless work: the firmware reads the quantum when it schedules a context.
 *
 * Sources: Documentation/ABI/testing/sysfs-driver-intel-xe-sriov (17b95278ae6a) for the priorities;
 * drivers/gpu/drm/xe/xe_gt_sriov_pf_config.c (0131514f9789) for the limits. The order of turns, and
 * an idle function with an unlimited quantum, are assumptions.
 *
 * Freestanding, as kernel/sched/sched.h: no libc, floating point, allocation or clock, and no
 * 64-bit division. The caller owns every struct, passes the time and does the locking.
 */
#ifndef KERNEL_SCHED_QUANTA_H
#define KERNEL_SCHED_QUANTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The firmware silently reduces larger values to these. */
#define QUANTA_QUANTUM_MAX_MS 100000U
#define QUANTA_TIMEOUT_MAX_US 100000000U

#define QUANTA_PF 0 /* number of the physical function */

enum quanta_priority {
	QUANTA_LOW,
	QUANTA_NORMAL,
	QUANTA_HIGH, /* only for the PF */
};

/* One function. Callers only read this struct. */
struct quanta_function {
	bool present;	      /* takes part in the round: the PF, or an enabled VF */
	bool pending;	      /* has work for the GPU */
	bool endless;	      /* its work does not yield at the end of a turn */
	uint8_t priority;     /* enum quanta_priority */
	uint32_t quantum_ms;  /* 0: unlimited */
	uint32_t timeout_us;  /* 0: unlimited */
	uint64_t active_ns;   /* cumulative time on the GPU with work */
	uint64_t allotted_ns; /* see quanta_allotted_ns() */
	uint64_t allotted_at_ns;
	uint32_t ratio; /* part of the time, in units of 2^-31 */
	uint32_t rest;	/* of allotted_ns, in units of 2^-31 ns */
};

struct quanta {
	struct quanta_function *functions;
	unsigned int n_functions;
	unsigned int turn;  /* the function with the current or last turn */
	unsigned int place; /* the last turn in the order of the round */
	bool has_turn;	    /* false: the GPU idles until a function has work */
	bool must_yield;    /* the turn has ended, but the work does not yield */
	uint64_t turn_ns;   /* rest of the turn, or of the preemption timeout */
	uint64_t elapsed_ns;
};

/* Initializes @quanta and @n_functions functions. Only the PF is present, idle and unlimited. */
void quanta_start(struct quanta *quanta, struct quanta_function *functions,
		  unsigned int n_functions);

/* A removed function loses its turn at once. Its settings and counters stay unchanged. */
void quanta_set_present(struct quanta *quanta, unsigned int function, bool present);

/* Each setting applies to one function; @ms and @us are reduced to the limits above. */
void quanta_set_quantum(struct quanta *quanta, unsigned int function, uint32_t ms);
void quanta_set_timeout(struct quanta *quanta, unsigned int function, uint32_t us);
void quanta_set_priority(struct quanta *quanta, unsigned int function,
			 enum quanta_priority priority);

/* Sets whether the function has work, and whether this work is endless. */
void quanta_set_work(struct quanta *quanta, unsigned int function, bool pending, bool endless);

/*
 * Returns the function that has the GPU now, and writes the time until the next pick is needed;
 * UINT64_MAX: only a change can end the turn. Returns NULL if the GPU idles until a function has
 * work. The function may have no work (pending is false): then the GPU idles during its turn. The
 * result stays the same until quanta_pass() or a change.
 */
struct quanta_function *quanta_pick(struct quanta *quanta, uint64_t *ret_run_ns);

/*
 * Lets @ns pass, at most the time of the last quanta_pick(). Returns true if the preemption timeout
 * has ended: the work of the function of this turn is lost, and the caller must call
 * quanta_set_work() for it.
 */
bool quanta_pass(struct quanta *quanta, uint64_t ns);

/*
 * Returns the cumulative time that the quanta of the present functions allot to the function,
 * whether it was used or not: the integral of quantum / sum of quanta. If all quanta are unlimited,
 * the parts are equal. The driver's engine-total-ticks are this time (xe_guc_engine_activity.c).
 */
uint64_t quanta_allotted_ns(struct quanta *quanta, unsigned int function);

#endif
