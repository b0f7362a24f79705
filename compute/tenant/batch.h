/* SPDX-License-Identifier: MIT */
/*
 * Accounting of submissions by sampling. The submissions of a queue are collected in batches. Only
 * the last submission of a batch is measured: its completion completes the batch, and the device
 * time of the batch follows from the times of the last submission, the end of the batch before, and
 * the estimates of the others. FairGV (TPDS 2017) 3.3.2.
 *
 * A batch ends with a submission that must be measured, when it is long enough, or, in a queue
 * without work in flight, with each submission. If a queue executes out of order, each submission
 * is a batch. The caller attaches a completion callback to the last submission of each batch, and
 * serialises the calls for one queue.
 *
 * Estimates of device time exist per kind of submission: a kernel and a class of its size, or a
 * transfer and a class of its bytes. Measured times refine the estimate: in each turn the first
 * request of a kind is measured and predicts the others. Estimates are kept in a table of fixed
 * size without locks. A race between threads can lose a measurement, but never makes an estimate
 * that is not between two measured times.
 */
#ifndef COMPUTE_TENANT_BATCH_H
#define COMPUTE_TENANT_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "compute/tenant/gate.h"

/* --- estimates --- */

#define ESTIMATE_FIRST_NS 50000u	 /* of a kind that was never measured */
#define ESTIMATE_MAX_NS	  10000000000ull /* larger measured times are bounded to this */

struct estimate {
	uint64_t key;	  /* 0: the entry is free */
	uint64_t ns;	  /* 0: never measured */
	uint32_t turn;	  /* last turn in which a submission of this kind was to be measured */
	uint32_t samples; /* number of measurements; saturates */
};

/*
 * Returns the estimate of a kind, which is @object (a kernel, or a small number for a kind of
 * transfer) and @size (work items or bytes); sizes within a factor of two are of one class. Never
 * returns NULL: if the table is full, kinds share an entry.
 */
struct estimate *estimate_find(const void *object, uint64_t size);

/* Returns the predicted device time in ns. */
uint64_t estimate_predict(const struct estimate *estimate);

/*
 * Returns true if a submission of this kind must be measured: the first ESTIMATE_SAMPLES ones, then
 * the first one in each turn. A second call in the same turn returns false.
 */
bool estimate_begin_sample(struct estimate *estimate, uint32_t turn);
#define ESTIMATE_SAMPLES 3

/* Returns true if no time of this kind was measured yet. */
bool estimate_is_new(const struct estimate *estimate);

/* Adds a measured device time. */
void estimate_learn(struct estimate *estimate, uint64_t ns);

/* --- batches --- */

#define BATCH_LENGTH_NS 200000u
#define BATCH_COUNT_MAX 64u

/* One submission. */
struct batch_item {
	struct estimate *estimate;
	uint64_t predicted_ns; /* what it counts in flight; 0: gate_pass() */
	uint64_t host_ns;      /* time of the submission */
	bool is_unit;	       /* a kernel launch of the application */
	bool is_new;	       /* the device may compile before it starts */
	bool is_unmeasured;    /* entered by gate_enter_unmeasured() */
};

/* Submissions of one queue since the last batch, or a complete batch. Zero: empty. */
struct batch {
	uint64_t n, units, unmeasured;
	uint64_t predicted_ns;
	uint64_t estimated_ns;	/* of all but the last submission */
	uint64_t first_host_ns; /* time of the first submission */
	struct batch_item last;
};

/*
 * Adds @item to @batch. @tracked: batches of this queue in flight. Returns true if the batch ends
 * with @item.
 */
bool batch_add(struct batch *batch, const struct batch_item *item, unsigned int tracked,
	       bool out_of_order, uint32_t turn);

/* The times of the last submission of a batch, by the clock of the device, in ns. */
struct batch_times {
	bool valid; /* false: the device did not measure */
	uint64_t queued, start, end;
};

/*
 * The end of the device's work so far, by its clock, so that overlapping work counts once. Shared
 * by all queues; zero at the beginning.
 */
struct batch_mark {
	uint64_t end;
};

/*
 * Computes the finished work of @batch, refines the estimate of its last submission and advances
 * @mark. @failed: the last submission ended with an error and is no work unit.
 */
void batch_finish(const struct batch *batch, const struct batch_times *times, bool failed,
		  struct batch_mark *mark, struct gate_work *ret_work);

#endif
