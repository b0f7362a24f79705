/* SPDX-License-Identifier: MIT */
/*
 * Sliced launches on a target without a device: which launches are cut, the parameters, arguments
 * and events of their parts, errors of the target, and that no object of the layer is lost. The
 * stub records the last launches: kernel, sizes, arguments and wait list. Every program contains
 * one kernel with the name k.
 */
#include "base/cleanup.h"
#include "tests/unit/compute/fake-arbiter.h"
#include "tests/unit/compute/stub-cl.h"
#include "tests/unit/unit.h"

#include "compute/cl/gover-slice.h" /* after target.h, which selects the version */

#define PARTS_MAX   64
#define ARGUMENTS   4
#define OBJECTS_MAX 200

/* A program or a kernel of the target. */
struct object {
	unsigned int references;
	char *text; /* of a program */
	struct object *program;
	cl_uint arguments[ARGUMENTS][4]; /* of a kernel */
};

struct part {
	const struct object *kernel;
	cl_uint dimensions;
	size_t offset[3], global[3], local[3];
	cl_uint n;
	cl_event wait;
	cl_uint arguments[ARGUMENTS][4];
};

static struct {
	unsigned int live, builds, fail_builds, n;
	int fail_at; /* the launch that is refused; -1: none */
	cl_int fail;
	cl_ulong item_ns; /* if not 0, the length of a launch is this for each work-item */
	struct part parts[PARTS_MAX];
} seen = {.fail_at = -1};

/*
 * No handle is used twice, so that no test depends on estimates of another one, except the one that
 * a test wants for the next object.
 */
static struct object objects[OBJECTS_MAX];
static unsigned int n_objects;
static struct object *next_object;

static void *new_object(struct object *of_program, const char *text)
{
	struct object *object = next_object ? next_object : &objects[n_objects++];

	if (n_objects > OBJECTS_MAX || object->references > 0)
		abort();
	next_object = NULL;
	*object = (struct object){.references = 1, .program = of_program};
	object->text = text ? strdup(text) : NULL;
	seen.live++;
	return object;
}

static cl_int retain(void *handle)
{
	((struct object *)handle)->references++;
	return CL_SUCCESS;
}

static cl_int release(void *handle)
{
	struct object *object = handle;

	if (object->references == 0)
		abort();
	if (--object->references > 0)
		return CL_SUCCESS;
	free(object->text);
	object->text = NULL;
	seen.live--;
	return CL_SUCCESS;
}

#define HANDLE_CALL(function, type, call)               \
	static cl_int CL_API_CALL function(type handle) \
	{                                               \
		return call(handle);                    \
	}

HANDLE_CALL(retain_program, cl_program, retain)
HANDLE_CALL(release_program, cl_program, release)
HANDLE_CALL(retain_kernel, cl_kernel, retain)
HANDLE_CALL(release_kernel, cl_kernel, release)

static cl_program CL_API_CALL create_program(cl_context context, cl_uint n, const char **texts,
					     const size_t *lengths, cl_int *ret_err)
{
	(void)context, (void)n, (void)lengths, (void)ret_err;
	return new_object(NULL, texts[0]);
}

static cl_int CL_API_CALL build_program(cl_program handle, cl_uint n, const cl_device_id *devices,
					const char *options,
					void(CL_CALLBACK *notify)(cl_program, void *),
					void *userdata)
{
	(void)handle, (void)n, (void)devices, (void)options, (void)notify, (void)userdata;
	seen.builds++;
	if (seen.fail_builds == 0)
		return CL_SUCCESS;
	seen.fail_builds--;
	return CL_BUILD_PROGRAM_FAILURE;
}

static cl_int CL_API_CALL program_info(cl_program handle, cl_program_info name, size_t size,
				       void *value, size_t *ret_size)
{
	(void)handle, (void)ret_size;
	if (name != CL_PROGRAM_CONTEXT)
		return CL_INVALID_VALUE;
	memset(value, 0, size);
	return CL_SUCCESS;
}

static cl_kernel CL_API_CALL create_kernel(cl_program of, const char *name, cl_int *ret_err)
{
	(void)ret_err;
	return strcmp(name, "k") == 0 ? new_object((struct object *)of, NULL) : NULL;
}

static cl_int CL_API_CALL kernel_info(cl_kernel handle, cl_kernel_info name, size_t size,
				      void *value, size_t *ret_size)
{
	struct object *object = (struct object *)handle;
	cl_uint n = ARGUMENTS;

	if (ret_size)
		*ret_size = 2;
	if (!value)
		return CL_SUCCESS;
	if (name == CL_KERNEL_PROGRAM)
		memcpy(value, &object->program, size);
	else if (name == CL_KERNEL_NUM_ARGS)
		memcpy(value, &n, size);
	else
		memcpy(value, "k", 2);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL set_argument(cl_kernel handle, cl_uint index, size_t size,
				       const void *value)
{
	struct object *object = (struct object *)handle;

	if (index >= ARGUMENTS || size > sizeof(object->arguments[0]))
		return CL_INVALID_ARG_INDEX;
	memcpy(object->arguments[index], value, size);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info name, size_t size,
				      void *value, size_t *ret_size)
{
	cl_uint units = 1;

	(void)device, (void)name, (void)ret_size;
	memcpy(value, &units, size);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL launch(cl_command_queue on, cl_kernel handle, cl_uint dimensions,
				 const size_t *offset, const size_t *global, const size_t *local,
				 cl_uint n, const cl_event *list, cl_event *event)
{
	struct part *part = &seen.parts[seen.n % PARTS_MAX];

	if ((int)seen.n == seen.fail_at) {
		seen.fail_at = -1;
		return seen.fail;
	}
	if (dimensions > 3)
		return stub.fail;
	seen.n++;
	*part = (struct part){.kernel = (struct object *)handle, .dimensions = dimensions};
	for (cl_uint i = 0; i < dimensions; i++) {
		part->offset[i] = offset ? offset[i] : 0;
		part->global[i] = global[i];
		part->local[i] = local ? local[i] : 0;
	}
	part->n = n;
	part->wait = n > 0 ? list[0] : NULL;
	memcpy(part->arguments, part->kernel->arguments, sizeof(part->arguments));
	if (seen.item_ns)
		stub.length = seen.item_ns * global[0];
	return stub_launch(on, handle, dimensions, offset, global, local, n, list, event);
}

static void *CL_API_CALL no_extension(cl_platform_id platform, const char *name)
{
	(void)platform, (void)name;
	return NULL;
}

/* Loads the layer above this target. */
static const cl_icd_dispatch *kernels_load_layer(void)
{
	static cl_icd_dispatch target;

	target = stub_table;
	target.clCreateProgramWithSource = create_program;
	target.clBuildProgram = build_program;
	target.clGetProgramInfo = program_info;
	target.clRetainProgram = retain_program;
	target.clReleaseProgram = release_program;
	target.clCreateKernel = create_kernel;
	target.clGetKernelInfo = kernel_info;
	target.clSetKernelArg = set_argument;
	target.clRetainKernel = retain_kernel;
	target.clReleaseKernel = release_kernel;
	target.clGetDeviceInfo = device_info;
	target.clEnqueueNDRangeKernel = launch;
	target.clGetExtensionFunctionAddressForPlatform = no_extension;
	return stub_load_layer_on(&target);
}

#define LIMIT_NS 60000000000ull
#define SOURCE	 "__kernel void k(__global int *a) { a[get_global_id(0)] = 1; }"

static const cl_icd_dispatch *cl;
static struct fake_arbiter arbiter;
static const struct compute_page *page;
static cl_command_queue queue;
static cl_program program;
static cl_kernel kernel;

/* Launches @groups work-groups of 4 work-items. Returns the number of launches of the target. */
static unsigned int launch_groups(cl_command_queue on, size_t groups, cl_uint n,
				  const cl_event *list, cl_event *event)
{
	size_t global = 4 * groups, local = 4;

	seen.n = 0;
	assert_int_equal(
		cl->clEnqueueNDRangeKernel(on, kernel, 1, NULL, &global, &local, n, list, event),
		CL_SUCCESS);
	return seen.n;
}

/* @handle: the handle that the kernel gets, or NULL. */
static void make_kernel_at(cl_kernel handle, const char *source)
{
	program = cl->clCreateProgramWithSource(NULL, 1, &source, NULL, NULL);
	assert_int_equal(cl->clBuildProgram(program, 0, NULL, "-w", NULL, NULL), CL_SUCCESS);
	next_object = (struct object *)handle;
	kernel = cl->clCreateKernel(program, "k", NULL);
	assert_non_null(kernel);
	/* The kernel keeps its program, as for a target. */
	retain(program);
	assert_int_equal(cl->clReleaseProgram(program), CL_SUCCESS);
}

static void make_kernel(const char *source)
{
	make_kernel_at(NULL, source);
}

static void drop_kernel(void)
{
	cl_program of = program;

	assert_int_equal(cl->clReleaseKernel(kernel), CL_SUCCESS);
	release(of);
}

/* Makes the kernel long: its whole launch of 64 work-groups takes @ns. No other tenant waits. */
static void measure(cl_ulong ns)
{
	arbiter.beacon->slot[0].busy_end_ns = 0;
	stub.length = ns;
	assert_int_equal(launch_groups(queue, 64, 0, NULL, NULL), 1);
	stub.length = ns / 64;
	arbiter.beacon->slot[0].busy_end_ns = UINT64_MAX;
}

static int setup(void)
{
	stub.hold = false;
	seen.fail_at = -1;
	seen.item_ns = 0;
	queue = cl->clCreateCommandQueue(NULL, NULL, 0, NULL);
	fake_arbiter_grant(&arbiter, 0, COMPUTE_GRANT_TURN, 0);
	arbiter.beacon->slot[0].slice_ns = 6000;
	arbiter.beacon->slot[0].busy_end_ns = UINT64_MAX;
	arbiter.beacon->slot[0].in_flight_max_ns = 0;
	make_kernel(SOURCE);
	return 0;
}

static int teardown(void)
{
	stub_finish(UINT32_MAX);
	drop_kernel();
	assert_int_equal(seen.live, 0);
	assert_int_equal(stub.live_events, 0);
	assert_int_equal(of_page(&page->in_flight), 0);
	assert_int_equal(of_page(&page->in_flight_ns), 0);
	assert_int_equal(cl->clReleaseCommandQueue(queue), CL_SUCCESS);
	return 0;
}

FIXTURE(setup, teardown)

TEST(a_short_launch_is_whole)
{
	unsigned int builds = seen.builds;

	measure(6000); /* as long as a turn */
	assert_int_equal(launch_groups(queue, 64, 0, NULL, NULL), 1);
	assert_int_equal(seen.builds, builds);
}

TEST(a_long_launch_is_cut)
{
	uint64_t units, whole = of_page(&page->kernels_whole);
	cl_uint value = 17;
	size_t next = 0;

	measure(64000);
	units = of_page(&page->units);
	assert_int_equal(cl->clSetKernelArg(kernel, 2, sizeof(value), &value), CL_SUCCESS);
	/* A quarter of the turn is 1,500 ns, but a part has at least 4 groups for the unit. */
	assert_int_equal(launch_groups(queue, 64, 0, NULL, NULL), 16);
	for (int i = 0; i < 16; i++) {
		const struct part *part = &seen.parts[i];

		assert_ptr_not_equal(part->kernel, kernel);
		assert_non_null(strstr(part->kernel->program->text, SOURCE));
		assert_int_equal(part->arguments[2][0], 17);
		assert_int_equal(part->dimensions, 3);
		assert_int_equal(part->offset[0], next);
		assert_int_equal(part->offset[1], 0);
		assert_int_equal(part->offset[2], 64);
		assert_int_equal(part->local[0], 4);
		assert_true(part->global[1] == 1 && part->global[2] == 1 && part->local[1] == 1);
		next += part->global[0];
	}
	assert_int_equal(next, 256);
	assert_int_equal(of_page(&page->units) - units, 1);
	value = 18;
	assert_int_equal(cl->clSetKernelArg(kernel, 2, sizeof(value), &value), CL_SUCCESS);
	assert_true(launch_groups(queue, 64, 0, NULL, NULL) > 1);
	assert_int_equal(seen.parts[0].arguments[2][0], 18);
	assert_int_equal(of_page(&page->kernels_whole), whole);
}

/* The first part has 4 groups, the others as many as fit into a quarter of the turn. */
TEST(a_new_kernel_is_cut_while_others_wait)
{
	size_t next = 0;

	seen.item_ns = 4; /* 93 groups in a quarter of the turn */
	assert_int_equal(launch_groups(queue, 640, 0, NULL, NULL), 8);
	for (unsigned int i = 0; i < 8; i++) {
		assert_int_equal(seen.parts[i].offset[0], next);
		next += seen.parts[i].global[0];
	}
	assert_int_equal(next, 640 * 4);
	assert_int_equal(seen.parts[0].global[0], 4 * 4);
	assert_int_equal(seen.parts[1].global[0], 4 * 91); /* seven even parts */
}

TEST(a_new_kernel_that_is_short_is_whole_the_next_time)
{
	uint64_t units;

	stub.length = 1;
	units = of_page(&page->units);
	assert_int_equal(launch_groups(queue, 64, 0, NULL, NULL), 2);
	assert_int_equal(launch_groups(queue, 64, 0, NULL, NULL), 1);
	assert_int_equal(of_page(&page->units) - units, 2);
}

/* The layer must not count a kernel as left whole before its time is known. */
TEST(a_new_kernel_that_cannot_be_cut_is_whole)
{
	const size_t global = 256;
	uint64_t whole = of_page(&page->kernels_whole);

	seen.n = 0;
	assert_int_equal(launch_groups(queue, 15, 0, NULL, NULL), 1); /* too few for 4 parts */
	assert_int_equal(
		cl->clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL),
		CL_SUCCESS);
	assert_int_equal(of_page(&page->kernels_whole), whole);
}

TEST(a_launch_of_another_size_is_predicted)
{
	measure(6000);
	assert_true(launch_groups(queue, 640, 0, NULL, NULL) > 1);
}

TEST(a_kernel_that_becomes_short_is_whole_again)
{
	measure(64000);
	stub.length = 1;
	for (int i = 0; i < 40; i++)
		(void)launch_groups(queue, 64, 0, NULL, NULL);
	assert_int_equal(seen.n, 1);
}

TEST(a_new_kernel_of_a_known_kind_is_cut)
{
	cl_kernel other;

	measure(64000);
	for (int i = 0; i < 3; i++) {
		other = cl->clCreateKernel(program, "k", NULL);
		assert_int_equal(cl->clReleaseKernel(kernel), CL_SUCCESS);
		kernel = other;
		assert_true(launch_groups(queue, 64, 0, NULL, NULL) > 1);
	}
}

/* A kernel with the handle of a released one has no time of that one. */
TEST(a_handle_of_another_kernel_is_new)
{
	cl_kernel old = kernel;

	measure(64000);
	assert_int_equal(launch_groups(queue, 64, 0, NULL, NULL), 16);
	drop_kernel();
	make_kernel_at(old, SOURCE);
	assert_ptr_equal(kernel, old);
	arbiter.beacon->slot[0].busy_end_ns = 0; /* no other tenant waits: new kernels are whole */
	stub.length = 1;
	assert_int_equal(launch_groups(queue, 64, 0, NULL, NULL), 1);
	assert_int_equal(launch_groups(queue, 64, 0, NULL, NULL), 1);
}

TEST(the_event_stands_for_all_parts)
{
	cl_command_queue profiled =
		cl->clCreateCommandQueue(NULL, NULL, CL_QUEUE_PROFILING_ENABLE, NULL);
	cl_ulong start = 0, end = 0, begin;
	cl_event event;

	measure(64000);
	begin = stub.clock;
	assert_int_equal(launch_groups(profiled, 64, 0, NULL, &event), 16);
	assert_int_equal(((struct stub_event *)event)->references, 1);
	assert_int_equal(cl->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START,
						     sizeof(start), &start, NULL),
			 CL_SUCCESS);
	assert_int_equal(cl->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end),
						     &end, NULL),
			 CL_SUCCESS);
	assert_int_equal(start, begin);
	assert_int_equal(end, begin + 16 * stub.length);
	assert_int_equal(cl->clRetainEvent(event), CL_SUCCESS);
	assert_int_equal(cl->clReleaseEvent(event), CL_SUCCESS);
	assert_int_equal(stub.live_events, 2); /* that of the first part, for its times */
	assert_int_equal(cl->clReleaseEvent(event), CL_SUCCESS);
	assert_int_equal(stub.live_events, 0);
	(void)cl->clReleaseCommandQueue(profiled);
}

TEST(parts_wait_for_each_other_out_of_order)
{
	cl_command_queue unordered =
		cl->clCreateCommandQueue(NULL, NULL, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, NULL);
	cl_event before, event;

	measure(64000);
	assert_int_equal(launch_groups(queue, 1, 0, NULL, &before), 1);
	assert_int_equal(launch_groups(unordered, 64, 1, &before, &event), 16);
	assert_ptr_equal(seen.parts[0].wait, before);
	for (int i = 1; i < 16; i++) {
		assert_int_equal(seen.parts[i].n, 1);
		assert_ptr_not_equal(seen.parts[i].wait, before);
	}
	assert_true(launch_groups(queue, 64, 1, &before, NULL) > 1);
	assert_ptr_equal(seen.parts[0].wait, before);
	assert_int_equal(seen.parts[1].n, 0); /* in order */
	(void)cl->clReleaseEvent(before);
	(void)cl->clReleaseEvent(event);
	(void)cl->clReleaseCommandQueue(unordered);
}

TEST(a_launch_that_depends_on_the_program_is_whole)
{
	cl_event user = cl->clCreateUserEvent(NULL, NULL);

	measure(64000);
	stub.hold = true;
	assert_int_equal(launch_groups(queue, 64, 1, &user, NULL), 1);
	assert_int_equal(cl->clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
	(void)cl->clReleaseEvent(user);
}

TEST(a_refused_first_part_leaves_the_launch_whole)
{
	uint64_t whole = of_page(&page->kernels_whole);

	measure(64000);
	seen.fail_at = 0;
	seen.fail = CL_INVALID_KERNEL_ARGS;
	assert_int_equal(launch_groups(queue, 64, 0, NULL, NULL), 1);
	assert_ptr_equal(seen.parts[0].kernel, kernel);
	assert_int_equal(of_page(&page->kernels_whole), whole); /* an error of the program */
	seen.fail_at = 0;
	seen.fail = CL_OUT_OF_RESOURCES;
	assert_int_equal(launch_groups(queue, 64, 0, NULL, NULL), 1);
	assert_int_equal(of_page(&page->kernels_whole), whole + 1);
}

TEST(a_refused_later_part_is_an_error)
{
	size_t global = 256, local = 4;
	cl_event event = (cl_event)(uintptr_t)0x77;

	measure(64000);
	seen.n = 0;
	seen.fail_at = 5;
	seen.fail = CL_OUT_OF_RESOURCES;
	assert_int_equal(cl->clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0,
						    NULL, &event),
			 CL_OUT_OF_RESOURCES);
	assert_int_equal(seen.n, 5);
	assert_ptr_equal(event, (cl_event)(uintptr_t)0x77);
}

/* Each row is launched whole; the layer reports each kernel once. */
TEST(what_cannot_be_sliced_stays_whole)
{
	static const size_t offset[3] = {4}, global[3] = {256, 1, 1}, local[3] = {4, 1, 1};
	static const struct {
		const char *source;
		cl_uint dimensions;
		const size_t *offset, *local;
		unsigned int fail_builds;
	} rows[] = {
		{"void get_group_id(uint d); " SOURCE, 1, NULL, local, 0},
		{SOURCE, 1, offset, local, 0},
		{SOURCE, 1, NULL, NULL, 0},
		{SOURCE, 3, NULL, local, 0},
		{SOURCE, 1, NULL, local, 1},
	};

	drop_kernel();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t whole = of_page(&page->kernels_whole);

		make_kernel(rows[i].source);
		measure(64000);
		seen.fail_builds = rows[i].fail_builds;
		for (int twice = 0; twice < 2; twice++) {
			seen.n = 0;
			assert_int_equal(cl->clEnqueueNDRangeKernel(
						 queue, kernel, rows[i].dimensions, rows[i].offset,
						 global, rows[i].local, 0, NULL, NULL),
					 CL_SUCCESS);
			assert_int_equal(seen.n, 1);
			assert_ptr_equal(seen.parts[0].kernel, kernel);
		}
		assert_int_equal(of_page(&page->kernels_whole) - whole, 1);
		if (i + 1 < ARRAY_SIZE(rows))
			drop_kernel();
	}
}

TEST(a_program_that_was_not_built_from_source_stays_whole)
{
	uint64_t whole = of_page(&page->kernels_whole);

	drop_kernel();
	program = new_object(NULL, "binary");
	kernel = cl->clCreateKernel(program, "k", NULL);
	measure(64000);
	assert_int_equal(launch_groups(queue, 64, 0, NULL, NULL), 1);
	assert_int_equal(of_page(&page->kernels_whole) - whole, 1);
}

/* Builds the program again, and launches a kernel of the new build. */
static void expect_cut_after_build(void)
{
	assert_int_equal(cl->clRetainProgram(program), CL_SUCCESS);
	assert_int_equal(cl->clReleaseKernel(kernel), CL_SUCCESS);
	assert_int_equal(cl->clBuildProgram(program, 0, NULL, "", NULL, NULL), CL_SUCCESS);
	kernel = cl->clCreateKernel(program, "k", NULL);
	measure(64000);
	assert_int_equal(launch_groups(queue, 64, 0, NULL, NULL), 16);
	assert_int_equal(cl->clReleaseProgram(program), CL_SUCCESS);
}

/* The second build replaces the rectified program of the first. */
TEST(a_program_can_be_built_again)
{
	measure(64000);
	assert_int_equal(launch_groups(queue, 64, 0, NULL, NULL), 16);
	expect_cut_after_build();
}

/* The build of the application may remove the reason why the first one was not sliced. */
TEST(a_new_build_is_tried_again)
{
	measure(64000);
	seen.fail_builds = 1;
	assert_int_equal(launch_groups(queue, 64, 0, NULL, NULL), 1);
	expect_cut_after_build();
}

/* For the address sanitizer. */
TEST(sizes_beyond_the_dimensions_are_not_read)
{
	size_t *one = malloc(sizeof(*one));

	assert_non_null(one);
	*one = 256;
	stub.fail = CL_INVALID_WORK_DIMENSION;
	for (cl_uint dimensions = 4; dimensions < 6; dimensions++)
		assert_int_equal(cl->clEnqueueNDRangeKernel(queue, kernel, dimensions, NULL, one,
							    one, 0, NULL, NULL),
				 CL_INVALID_WORK_DIMENSION);
	stub.fail = CL_SUCCESS;
	free(one);
}

TEST(a_declared_argument_gets_the_offset)
{
	cl_int(CL_API_CALL * declare)(cl_kernel, cl_uint) = (cl_int(CL_API_CALL *)(
		cl_kernel,
		cl_uint))cl->clGetExtensionFunctionAddressForPlatform(NULL, GOVER_SLICE_FUNCTION);
	const cl_uint whole[4] = {0, 0, 64, 1};

	assert_non_null(declare);
	drop_kernel();
	program = new_object(NULL, "binary");
	kernel = cl->clCreateKernel(program, "k", NULL);
	assert_int_equal(declare(NULL, 0), CL_INVALID_KERNEL);
	assert_int_equal(declare(kernel, ARGUMENTS), CL_INVALID_ARG_INDEX);
	assert_int_equal(declare(kernel, 3), CL_SUCCESS);
	measure(64000);
	assert_int_equal(launch_groups(queue, 64, 0, NULL, NULL), 1); /* not set */
	assert_int_equal(cl->clSetKernelArg(kernel, 3, sizeof(whole), whole), CL_SUCCESS);
	assert_int_equal(launch_groups(queue, 64, 0, NULL, NULL), 16);
	for (cl_uint i = 0; i < 16; i++) {
		const struct part *part = &seen.parts[i];

		assert_ptr_equal(part->kernel, kernel);
		assert_true(part->dimensions == 1 && part->offset[0] == 0 && part->global[0] == 16);
		assert_true(part->arguments[3][0] == 4 * i && part->arguments[3][1] == 0);
		assert_true(part->arguments[3][2] == 64 && part->arguments[3][3] == 1);
	}
	assert_memory_equal(((struct object *)kernel)->arguments[3], whole, sizeof(whole));
}

static char folder[] = "/tmp/gover-cl-slice-XXXXXX";

static int prepare(void)
{
	char path[108], value[120];

	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/socket", folder);
	(void)snprintf(value, sizeof(value), "unix:%s", path);
	(void)setenv("GOVER_CL", value, 1);
	(void)unsetenv("GOVER_CL_SLICE");
	fake_arbiter_start(&arbiter, path, COMPUTE_GRANT_TURN);
	cl = kernels_load_layer();
	if (!cl)
		return -1;
	for (uint64_t end_ns = fake_now_ns() + LIMIT_NS; fake_now_ns() < end_ns;) {
		cl_command_queue q = cl->clCreateCommandQueue(NULL, NULL, 0, NULL);

		(void)cl->clEnqueueReadBuffer(q, NULL, CL_TRUE, 0, 1, NULL, 0, NULL, NULL);
		(void)cl->clReleaseCommandQueue(q);
		page = fake_arbiter_page(&arbiter, 0);
		if (page && of_page(&page->submissions) > 0)
			break;
		fake_pause_ms(1);
	}
	return 0;
}

static int finish(void)
{
	fake_arbiter_end(&arbiter);
	return rmdir(folder);
}

FIXTURE_ONCE(prepare, finish)
