/* SPDX-License-Identifier: MIT */
/*
 * Cuts a launch of a kernel into parts: rectangles of whole work-groups in the order of the whole
 * launch, row by row. Pure.
 */
#ifndef COMPUTE_CL_SLICE_PLAN_H
#define COMPUTE_CL_SLICE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why a launch must not be cut. */
enum slice_shape {
	SLICE_SHAPE_OK,
	SLICE_SHAPE_DIMENSIONS, /* not one or two */
	SLICE_SHAPE_OFFSET,	/* the program has set an offset */
	SLICE_SHAPE_LOCAL,	/* the device chooses the size of work-groups */
	SLICE_SHAPE_UNEVEN,	/* the last work-groups are smaller, or a size is 0 */
	SLICE_SHAPE_LARGE,	/* more work-groups than slice_text_word() can express */
};

struct slice_launch {
	unsigned int dimensions; /* 1 or 2 */
	uint32_t groups[2];	 /* 1 beyond the dimensions */
	uint32_t local[2];	 /* work-items of a work-group; 1 beyond the dimensions */
};

/* Checks the parameters of a launch as the program has passed them. */
enum slice_shape slice_plan_check(unsigned int dimensions, const size_t *offset,
				  const size_t *global, const size_t *local,
				  struct slice_launch *ret_launch);

/* Returns the reason as a clause for a message. */
const char *slice_plan_reason(enum slice_shape shape);

struct slice_plan {
	struct slice_launch launch;
	uint32_t part[2]; /* groups of a part; the last ones of a row or column can be smaller */
	uint32_t next[2]; /* first group of the next part */
};

/* One part, as a range of groups. */
struct slice_part {
	uint32_t first[2], groups[2];
	bool is_last;
};

/* Plans parts of about @groups work-groups (at least 1), not more. */
void slice_plan_begin(struct slice_plan *plan, const struct slice_launch *launch, uint64_t groups);

/* Continues with parts of about @groups work-groups (at least 1). */
void slice_plan_resize(struct slice_plan *plan, uint64_t groups);

/* Returns false after the last part. */
bool slice_plan_next(struct slice_plan *plan, struct slice_part *ret_part);

/*
 * Returns the work-groups of a part that should take @part_ns, if @groups take @groups_ns: at least
 * @least, at most @groups.
 */
uint64_t slice_plan_groups(uint64_t groups, uint64_t groups_ns, uint64_t part_ns, uint64_t least);

#endif
