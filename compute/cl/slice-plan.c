/* SPDX-License-Identifier: MIT */
/* Parts of a launch. All parts have about the same size, so that one estimate is right for all. */
#include "compute/cl/slice-plan.h"
#include "compute/cl/slice-text.h"

enum slice_shape slice_plan_check(unsigned int dimensions, const size_t *offset,
				  const size_t *global, const size_t *local,
				  struct slice_launch *ret_launch)
{
	struct slice_launch launch = {.dimensions = dimensions, .groups = {1, 1}, .local = {1, 1}};

	if (dimensions < 1 || dimensions > 2)
		return SLICE_SHAPE_DIMENSIONS;
	if (!local)
		return SLICE_SHAPE_LOCAL;
	for (unsigned int i = 0; i < dimensions; i++) {
		if (offset && offset[i] != 0)
			return SLICE_SHAPE_OFFSET;
		if (!global || global[i] == 0 || local[i] == 0 || global[i] % local[i] != 0)
			return SLICE_SHAPE_UNEVEN;
		if (global[i] > INT32_MAX ||
		    global[i] / local[i] > (dimensions == 1 ? SLICE_GROUPS_MAX : SLICE_SIDE_MAX))
			return SLICE_SHAPE_LARGE;
		launch.groups[i] = (uint32_t)(global[i] / local[i]);
		launch.local[i] = (uint32_t)local[i];
	}
	*ret_launch = launch;
	return SLICE_SHAPE_OK;
}

const char *slice_plan_reason(enum slice_shape shape)
{
	static const char *const reasons[] = {
		[SLICE_SHAPE_OK] = "its launch can be cut",
		[SLICE_SHAPE_DIMENSIONS] = "its launch has three dimensions",
		[SLICE_SHAPE_OFFSET] = "its launch has an offset",
		[SLICE_SHAPE_LOCAL] = "its launch does not set the size of work-groups",
		[SLICE_SHAPE_UNEVEN] = "its launch has work-groups of different sizes",
		[SLICE_SHAPE_LARGE] = "its launch has too many work-groups",
	};

	return reasons[shape];
}

/* Divides @whole into equal parts of at most @most. Returns the size of a part. */
static uint32_t even_part(uint32_t whole, uint64_t most)
{
	uint32_t n = most >= whole ? 1 : (uint32_t)((whole + most - 1) / most);

	return (whole + n - 1) / n;
}

void slice_plan_begin(struct slice_plan *plan, const struct slice_launch *launch, uint64_t groups)
{
	*plan = (struct slice_plan){.launch = *launch};
	slice_plan_resize(plan, groups);
}

void slice_plan_resize(struct slice_plan *plan, uint64_t groups)
{
	const uint32_t *whole = plan->launch.groups, *next = plan->next;
	uint64_t rows = groups / whole[0];

	if (next[0] == 0)
		plan->part[1] = rows > 0 ? even_part(whole[1] - next[1], rows) : 1;
	else /* the parts of these rows have the same height */
		groups /= plan->part[1];
	plan->part[0] = even_part(whole[0] - next[0], groups > 0 ? groups : 1);
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

bool slice_plan_next(struct slice_plan *plan, struct slice_part *ret_part)
{
	const uint32_t *groups = plan->launch.groups;
	struct slice_part part = {.first = {plan->next[0], plan->next[1]}};

	if (plan->next[1] >= groups[1])
		return false;
	for (int i = 0; i < 2; i++)
		part.groups[i] = least(plan->part[i], groups[i] - plan->next[i]);
	plan->next[0] += part.groups[0];
	if (plan->next[0] >= groups[0]) {
		plan->next[0] = 0;
		plan->next[1] += part.groups[1];
	}
	part.is_last = plan->next[1] >= groups[1];
	*ret_part = part;
	return true;
}

uint64_t slice_plan_groups(uint64_t groups, uint64_t groups_ns, uint64_t part_ns, uint64_t least_n)
{
	uint64_t n;

	if (groups_ns <= part_ns)
		return groups;
	/* @groups is below 2^30 and @part_ns a fraction of a slice: no overflow below 17 s. */
	n = part_ns > UINT64_MAX / groups ? groups : groups * part_ns / groups_ns;
	if (n < least_n)
		n = least_n;
	return n < groups ? n : groups;
}
