/* SPDX-License-Identifier: MIT */
/* Launches: the copy of the arguments, the time, and the kernels that compute. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/double/launch.h"
#include "tests/double/setup.h"

static uint64_t count_groups(const struct range *range)
{
	uint64_t groups = 1;

	for (int i = 0; i < 3; i++) {
		if (__builtin_mul_overflow(groups, range->global[i] / range->local[i], &groups))
			return UINT64_MAX;
	}
	return groups;
}

/* Reads the ulong argument @name of @kernel. Returns false if the kernel has none. */
static bool read_argument(cl_kernel kernel, const struct argument *arguments, const char *name,
			  uint64_t *ret_value)
{
	for (unsigned i = 0; i < kernel->head->n_arguments; i++) {
		const struct source_argument *kind = &kernel->kinds[i];

		if (kind->kind != SOURCE_VALUE || strcmp(kind->name, name) != 0 ||
		    strcmp(kind->type, "ulong") != 0)
			continue;
		memcpy(ret_value, arguments[i].bytes, sizeof(*ret_value));
		return true;
	}
	return false;
}

static uint64_t time_of(cl_kernel kernel, const struct argument *arguments,
			const struct range *range)
{
	struct duration duration = {DURATION_DEFAULT_NS, 0}, given = {0};
	bool has_ns = read_argument(kernel, arguments, "ns", &given.ns);
	bool has_group = read_argument(kernel, arguments, "ns_per_group", &given.ns_per_group);

	if (has_ns || has_group)
		duration = given;
	else if (kernel->program->has_duration)
		duration = kernel->program->duration;
	else
		duration_find(setup_kernels(), kernel->head->name, &duration);
	return duration_of_launch(duration, count_groups(range));
}

void launch_free(struct launch *launch)
{
	if (!launch)
		return;
	for (unsigned i = 0; i < launch->kernel->head->n_arguments; i++)
		object_unhold(launch->arguments[i].mem);
	object_unhold(launch->kernel);
	free(launch->arguments);
	free(launch);
}

cl_int launch_new(cl_kernel kernel, const struct range *range, struct launch **ret_launch)
{
	unsigned n = kernel->head->n_arguments;
	struct launch *launch = calloc(1, sizeof(*launch));
	bool is_complete = true;

	if (launch)
		launch->arguments = calloc(n + 1, sizeof(*launch->arguments));
	if (!launch || !launch->arguments) {
		free(launch);
		return CL_OUT_OF_HOST_MEMORY;
	}
	object_hold(kernel);
	launch->kernel = kernel;
	launch->range = *range;
	pthread_mutex_lock(&kernel->lock);
	for (unsigned i = 0; i < n; i++) {
		launch->arguments[i] = kernel->arguments[i];
		if (launch->arguments[i].mem)
			object_hold(launch->arguments[i].mem);
		is_complete = is_complete && launch->arguments[i].is_set;
	}
	pthread_mutex_unlock(&kernel->lock);
	if (!is_complete) {
		launch_free(launch);
		return CL_INVALID_KERNEL_ARGS;
	}
	launch->ns = time_of(kernel, launch->arguments, range);
	*ret_launch = launch;
	return CL_SUCCESS;
}

/* The buffer of argument @i as an array with elements of @size bytes. */
static void *array(const struct launch *launch, unsigned i, size_t size, size_t *ret_n)
{
	cl_mem mem = launch->arguments[i].mem;

	*ret_n = mem ? mem->size / size : 0;
	return mem ? mem->data : NULL;
}

/* The first index and the end of dimension 0 within an array of @n elements. */
static void span(const struct launch *launch, size_t n, size_t *ret_first, size_t *ret_end)
{
	size_t first = launch->range.offset[0], end = first + launch->range.global[0];

	*ret_first = first < n ? first : n;
	*ret_end = end < n ? end : n;
}

static void run_fill(const struct launch *launch)
{
	size_t n, i, end;
	cl_uint *out = array(launch, 0, sizeof(*out), &n), value;

	memcpy(&value, launch->arguments[1].bytes, sizeof(value));
	for (span(launch, n, &i, &end); i < end; i++)
		out[i] = value;
}

static void run_copy(const struct launch *launch)
{
	size_t n, n_in, i, end;
	cl_uint *out = array(launch, 0, sizeof(*out), &n);
	const cl_uint *in = array(launch, 1, sizeof(*in), &n_in);

	for (span(launch, n < n_in ? n : n_in, &i, &end); i < end; i++)
		out[i] = in[i];
}

static void run_add(const struct launch *launch)
{
	size_t n, n_a, n_b, i, end;
	cl_uint *out = array(launch, 0, sizeof(*out), &n);
	const cl_uint *a = array(launch, 1, sizeof(*a), &n_a);
	const cl_uint *b = array(launch, 2, sizeof(*b), &n_b);

	n = n < n_a ? n : n_a;
	for (span(launch, n < n_b ? n : n_b, &i, &end); i < end; i++)
		out[i] = a[i] + b[i];
}

static void run_increment(const struct launch *launch)
{
	size_t n, i, end;
	cl_uint *out = array(launch, 0, sizeof(*out), &n);

	for (span(launch, n, &i, &end); i < end; i++)
		out[i]++;
}

static void run_ids(const struct launch *launch)
{
	const struct range *range = &launch->range;
	size_t n, at = 0;
	cl_ulong *out = array(launch, 0, sizeof(*out), &n);

	for (size_t z = 0; z < range->global[2]; z++) {
		for (size_t y = 0; y < range->global[1]; y++) {
			for (size_t x = 0; x < range->global[0]; x++, at += 6) {
				const size_t item[3] = {x, y, z};

				if (n < 6 || at > n - 6)
					return;
				for (size_t i = 0; i < 3; i++) {
					out[at + i] = range->offset[i] + item[i];
					out[at + 3 + i] = item[i] / range->local[i];
				}
			}
		}
	}
}

/* Kernels that compute, with the types of their first arguments. */
static const struct {
	const char *name, *types[3];
	void (*run)(const struct launch *launch);
} programs[] = {
	{"double_fill", {"uint*", "uint"}, run_fill},
	{"double_copy", {"uint*", "uint*"}, run_copy},
	{"double_add", {"uint*", "uint*", "uint*"}, run_add},
	{"double_increment", {"uint*"}, run_increment},
	{"double_ids", {"ulong*"}, run_ids},
};

void launch_run(const struct launch *launch)
{
	cl_kernel kernel = launch->kernel;

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		bool fits = strcmp(programs[i].name, kernel->head->name) == 0;

		for (unsigned a = 0; fits && a < 3 && programs[i].types[a]; a++)
			fits = a < kernel->head->n_arguments &&
			       strcmp(programs[i].types[a], kernel->kinds[a].type) == 0 &&
			       kernel->kinds[a].kind != SOURCE_LOCAL;
		if (fits)
			programs[i].run(launch);
	}
}
