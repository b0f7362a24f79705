/* SPDX-License-Identifier: MIT */
/* The effect that a command has on memory when it completes. */
#ifndef TESTS_DOUBLE_WORK_H
#define TESTS_DOUBLE_WORK_H

#include "tests/double/object.h"

struct launch;

/* A copy of rows of bytes between host and device, or within the device. */
struct rect {
	unsigned char *to;
	const unsigned char *from;
	size_t region[3]; /* bytes, rows, slices */
	size_t to_row, to_slice, from_row, from_slice;
};

struct fill {
	unsigned char *to;
	size_t size, pattern_size;
	unsigned char pattern[128];
};

/* The effect of a command. */
struct work {
	enum { WORK_NOTHING, WORK_COPY, WORK_FILL, WORK_LAUNCH } kind;
	bool is_marker;	  /* without a wait list it waits for all earlier commands */
	bool is_internal; /* no command of the application: never a fault */
	bool is_barrier;  /* a marker that later commands wait for */
	cl_mem mems[2];	  /* held until the command is complete; may be NULL */
	union {
		struct rect rect;
		struct fill fill;
		struct launch *launch; /* owned by the command */
	};
};

#endif
