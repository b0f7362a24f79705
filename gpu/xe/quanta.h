/* SPDX-License-Identifier: MIT */
/*
 * Execution quanta for caps. In a round of the GPU, each function (the physical function and the
 * enabled virtual functions) has its quantum in turn, so its share is its quantum divided by the
 * length of the round. With priority normal the share is a limit. With priority low a function
 * without work is skipped, and the share is a guarantee.
 *
 * Time that no cap owns belongs to the physical function. So caps are limits with priority normal,
 * even if they do not add up to 100. The physical function always keeps its own quantum. If the
 * caps add up to 100 or more, this time is missing in all shares in proportion; caps beyond 100
 * give shares in proportion to the caps.
 *
 * Pure. A quantum of 0 means "no limit" to the driver and is never a result.
 */
#ifndef GPU_XE_QUANTA_H
#define GPU_XE_QUANTA_H

#include <stdbool.h>
#include <stdint.h>

#define XE_VFS_MAX	  255
#define XE_QUANTUM_MAX_MS 100000 /* limit of the driver, xe_gt_sriov_pf_config.c */

struct xe_quanta_limits {
	int least_ms;	     /* least quantum of a function, at least 1 */
	int longest_ms;	     /* longest round, if the least quanta fit in it */
	double tolerance_pt; /* an error of a share that needs no longer round, in points */
};

/* One virtual function. */
struct xe_slice {
	int cap_pct;	     /* 1..100; 0: no limit, the function keeps its quantum */
	bool changed;	     /* the present quantum is that of another cap */
	uint32_t quantum_ms; /* in: the present quantum, 0: none; out: the new quantum */
};

struct xe_round {
	uint32_t pf_ms;	   /* quantum of the physical function */
	uint32_t total_ms; /* length of the round, without functions that have no limit */
	double worst_pt;   /* largest difference between a cap and its share, in points */
	uint32_t wait_ms;  /* longest wait of a function for its next quantum */
};

/*
 * Computes the quanta of all functions. @slices has @n elements, 0..XE_VFS_MAX. @own_ms is the own
 * quantum of the physical function, at least 1; @pf_ms its present quantum, 0: no limit. The result
 * is the shortest round whose worst error is within the tolerance or, if there is none, the round
 * with the least error. The present round is kept while its error is within the tolerance and no
 * round of half its length would do: then only quanta of changed caps and of the physical function
 * change.
 */
void xe_quanta_plan(const struct xe_quanta_limits *limits, uint32_t own_ms, uint32_t pf_ms,
		    struct xe_slice *slices, int n, struct xe_round *ret_round);

/* Describes the round of the present quanta of @slices and @pf_ms. */
void xe_quanta_measure(uint32_t pf_ms, const struct xe_slice *slices, int n,
		       struct xe_round *ret_round);

/*
 * Returns the cap that a quantum is worth in a round of @total_ms, 1..100. Returns 0 (no limit) for
 * a quantum of 0.
 */
int xe_quanta_cap_pct(uint32_t quantum_ms, uint32_t total_ms);

#endif
