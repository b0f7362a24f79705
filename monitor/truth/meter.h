/* SPDX-License-Identifier: MIT */
/*
 * Converts the counters of one DRM client into the time that the client has used. Counters may
 * decrease for a while (drm-usage-stats.rst), so the largest value counts. Pure.
 */
#ifndef MONITOR_TRUTH_METER_H
#define MONITOR_TRUTH_METER_H

#include "monitor/truth/fdinfo.h"

/* State of one client between its readings; zero-initialised. */
struct meter {
	bool primed;
	int n_engines;
	struct meter_engine {
		char name[FDINFO_NAME_MAX];
		/* largest values so far */
		uint64_t busy_ns, cycles, total_cycles;
	} engines[FDINFO_ENGINES_MAX];
};

struct meter_growth {
	int n_engines;
	struct {
		const char *name; /* in the struct fdinfo */
		/* time used since the last reading, divided by the engines of the class */
		double ns;
	} engines[FDINFO_ENGINES_MAX];
};

/*
 * Writes the growth since the last reading of the same client, which was @passed_ns ago. If this is
 * the first reading: with @is_new, the client did not exist @passed_ns ago, and its whole busy time
 * counts, but at most @passed_ns; otherwise the growth is 0.
 */
void meter_advance(struct meter *meter, const struct fdinfo *info, uint64_t passed_ns, bool is_new,
		   struct meter_growth *ret_growth);

#endif
