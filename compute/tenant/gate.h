/* SPDX-License-Identifier: MIT */
/*
 * The gate in front of the device: a submission passes if the arbiter has granted this process a
 * turn, its lease has not ended, and the predicted work in flight is below its bound. Otherwise the
 * calling thread waits. Without an arbiter every submission passes.
 *
 * While granted, a submission costs no system call, no lock and no allocation. A thread waits for a
 * turn as long as the arbiter runs; if the arbiter ends or stops, it goes on within
 * COMPUTE_STAMP_OLD_NS. It waits for its own work in flight at most GATE_STALL_NS without any
 * completion, because that work may depend on the next call of the waiting thread.
 *
 * FairGV (TPDS 2017) 3.3.2 and VMCG (TPDS 2018): the tenant itself holds its work back.
 */
#ifndef COMPUTE_TENANT_GATE_H
#define COMPUTE_TENANT_GATE_H

#include <stdbool.h>
#include <stdint.h>

#define GATE_SPIN_NS  50000u /* not after a wait that was longer */
#define GATE_WAIT_NS  25000000u
#define GATE_STALL_NS 2000000000ull

/*
 * @tend, if not NULL, is called now and then by a thread that waits: it starts submitted work, and
 * reports finished work that was not noticed.
 */
void gate_setup(void (*tend)(void));

/*
 * Returns true if the program is under the control of an arbiter. Called first for each submission:
 * now and then it polls the link. If false, the submission is neither counted nor delayed.
 */
bool gate_is_controlled(void);

/*
 * The same without a call: while @controlled is 0 and @left is above 1, the caller subtracts 1 from
 * @left for a submission and lets it pass as if gate_is_controlled() had returned false. Threads
 * may race for @left.
 */
struct gate_passes {
	const uint32_t *controlled;
	uint32_t *left;
};

struct gate_passes gate_passes(void);

/* Like gate_is_controlled(), for calls that are not submissions: polls the link at each call. */
bool gate_poll(void);

/*
 * Waits until a submission of @predicted_ns may pass, and counts it as in flight. Returns the time
 * at which it passes.
 */
uint64_t gate_enter(uint64_t predicted_ns);

/*
 * The same for a submission whose time is not known, so that @predicted_ns is of no use as a bound.
 * While one is in flight, no other submission enters.
 */
uint64_t gate_enter_unmeasured(uint64_t predicted_ns);

/*
 * Returns the planned device time of a turn of this process, or 0 if its submissions need no turn.
 */
uint64_t gate_slice_ns(void);
#define GATE_SLICE_NS 6000000u /* if the arbiter has not set it */

/*
 * Returns true if the end of the turn of this process matters to others, or, before it has a turn,
 * if it may: the last turn of a lone tenant was longer than GATE_SLICE_NS.
 */
bool gate_is_contended(void);

/*
 * Counts a submission that the device cannot begin yet, because it depends on the program. It
 * passes without waiting, and is charged when it finishes. Returns the present time.
 */
uint64_t gate_pass(void);

/* Takes back a submission of one of the functions above that has failed; gate_pass(): 0, false. */
void gate_cancel(uint64_t predicted_ns, bool unmeasured);

/* Work that has finished. */
struct gate_work {
	uint64_t submissions, units;
	uint64_t predicted_ns; /* sum, as passed to gate_enter() */
	uint64_t unmeasured;   /* submissions of gate_enter_unmeasured() */
	uint64_t busy_ns;
	uint64_t sampled; /* submissions with measured device time */
};

void gate_finish(const struct gate_work *work);

/* Identifies the present turn; changes with each grant. */
uint32_t gate_turn(void);

/* Adds to the time spent in program builds. */
void gate_count_build(uint64_t ns);

/* Counts a kernel that cannot be sliced. */
void gate_count_whole(void);

/*
 * Reserves device memory. Returns false if the limit of this tenant does not allow it; the attempt
 * is counted as refused. @bytes are given back with gate_free_memory().
 */
bool gate_take_memory(uint64_t bytes);
void gate_free_memory(uint64_t bytes);

#endif
