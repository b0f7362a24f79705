/* SPDX-License-Identifier: MIT */
/*
 * The arbiter's readings of the page of a client. The client can write anything at any time, so
 * every value is bounded: totals never decrease, and no client can claim more device time than has
 * passed since it connected, or times in the future.
 */
#ifndef COMPUTE_CHANNEL_READING_H
#define COMPUTE_CHANNEL_READING_H

#include <stdbool.h>
#include <stdint.h>

#include "compute/channel/wire.h"

/* Larger values are bounded to these. */
#define COMPUTE_UNITS_PER_US_MAX 10u /* units, submissions */
#define COMPUTE_IN_FLIGHT_MAX_NS 3600000000000ull
#define COMPUTE_MEMORY_MAX_BYTES (1ull << 50)

struct compute_reading {
	/* totals since the client connected */
	uint64_t units, submissions, sampled;
	uint64_t busy_ns;
	uint64_t build_ns;
	uint64_t memory_refused, kernels_whole;
	/* present state */
	bool wants;	   /* a thread waits for a turn */
	uint64_t wants_ns; /* since when, if @wants */
	uint64_t in_flight_ns;
	bool in_flight;	    /* work is submitted and not finished */
	uint64_t ends_ns;   /* predicted end of the work in flight; at least now if @in_flight */
	uint64_t submit_ns; /* last submission; 0: none */
	uint64_t finish_ns; /* last completion; 0: none */
	uint64_t memory_bytes;
	/* Internal: time of the connection, and the totals of the page at the last reading. */
	uint64_t begin_ns;
	struct {
		uint64_t units, submissions, sampled, busy_ns, build_ns, refused, whole;
	} raw;
};

/*
 * Starts the readings of a client that connects at @now_ns. All totals are 0: work that the client
 * finished before it connected does not count.
 */
void compute_reading_begin(struct compute_reading *reading, const struct compute_page *page,
			   uint64_t now_ns);

/* Reads @page at @now_ns, which never decreases. */
void compute_reading_take(struct compute_reading *reading, const struct compute_page *page,
			  uint64_t now_ns);

#endif
