/* SPDX-License-Identifier: MIT */
/*
 * Estimates of device time per kind of submission: a kernel and a class of its size, or a transfer
 * and a class of its bytes. Measured times refine the estimate. FairGV (TPDS 2017) 3.3.2: in each
 * turn the first requests are measured and predict the others; here one of each kind.
 *
 * Estimates are kept in a table of fixed size without locks. A race between threads can lose a
 * measurement, but never makes an estimate that is not between two measured times.
 */
#ifndef COMPUTE_TENANT_ESTIMATE_H
#define COMPUTE_TENANT_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
