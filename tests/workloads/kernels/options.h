/* SPDX-License-Identifier: MIT */
/* The command line of gover-kernels. */
#ifndef TESTS_WORKLOADS_KERNELS_OPTIONS_H
#define TESTS_WORKLOADS_KERNELS_OPTIONS_H

#include "tests/workloads/kernels/load.h"

struct options {
	const struct workload *workload;
	uint32_t size;
	uint32_t local;
	double seconds;	   /* time of the run; 0: no limit */
	uint64_t launches; /* launches, rounded up to whole rounds; 0: no limit */
	double rate;	   /* launches a second at most; 0: no limit */
	unsigned int in_flight;
	const char *device; /* PLATFORM[:INDEX] or NULL */
	bool check, digest, profile, progress, wait;
};

/*
 * Parses the command line. Returns true if the program must run. Otherwise the program must exit
 * with *@ret_status; a message or the requested text is printed.
 */
bool options_parse(int argc, char **argv, struct options *options, int *ret_status);

#endif
