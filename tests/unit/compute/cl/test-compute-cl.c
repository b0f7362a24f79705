/* SPDX-License-Identifier: MIT */
/*
 * The OpenCL layer on a target without a device: results are those of the target, work is counted
 * exactly, no reference is lost, and a submission that depends on the program never waits.
 */
#include "base/cleanup.h"
#include "tests/unit/compute/fake-arbiter.h"
#include "tests/unit/compute/stub-cl.h"
#include "tests/unit/unit.h"

#define LIMIT_NS 60000000000ull
#define KERNEL	 ((cl_kernel)(uintptr_t)0x1000)
#define MEMORY	 ((cl_mem)(uintptr_t)0x2000)

static const cl_icd_dispatch *cl;
static struct fake_arbiter arbiter;
static char path[108];
static const struct compute_page *page;
static cl_command_queue queue;

static cl_int launch_on(cl_command_queue on, cl_uint n, const cl_event *list, cl_event *event)
{
	size_t global = 64;

	return cl->clEnqueueNDRangeKernel(on, KERNEL, 1, NULL, &global, NULL, n, list, event);
}

static void grant(enum compute_grant state)
{
	fake_arbiter_grant(&arbiter, 0, state, 0);
}

static int setup(void)
{
	stub.fail = CL_SUCCESS;
	stub.hold = false;
	queue = cl->clCreateCommandQueue(NULL, NULL, 0, NULL);
	assert_non_null(queue);
	grant(COMPUTE_GRANT_TURN);
	arbiter.beacon->slot[0].in_flight_max_ns = 0;
	return 0;
}

static int teardown(void)
{
	stub_finish(UINT32_MAX);
	assert_int_equal(stub.live_events, 0);
	assert_int_equal(of_page(&page->in_flight), 0);
	assert_int_equal(of_page(&page->in_flight_ns), 0);
	assert_int_equal(cl->clReleaseCommandQueue(queue), CL_SUCCESS);
	return 0;
}

FIXTURE(setup, teardown)

TEST_WITH(only_functions_of_the_target_are_replaced, NULL, NULL)
{
	assert_ptr_equal(cl->clFlush, stub_table.clFlush);
	assert_ptr_not_equal(cl->clEnqueueNDRangeKernel, stub_table.clEnqueueNDRangeKernel);
	for (size_t n = 0; n < STUB_ENTRIES; n++)
		if (!((void *const *)&stub_table)[n])
			assert_null(((void *const *)cl)[n]);
}

TEST(every_launch_is_one_unit)
{
	uint64_t units = of_page(&page->units), busy_ns = of_page(&page->busy_ns);

	for (int i = 0; i < 1000; i++)
		assert_int_equal(launch_on(queue, 0, NULL, NULL), CL_SUCCESS);
	assert_int_equal(of_page(&page->units) - units, 1000);
	assert_int_equal(of_page(&page->busy_ns) - busy_ns, 1000 * stub.length);
	assert_int_equal(
		cl->clEnqueueReadBuffer(queue, MEMORY, CL_TRUE, 0, 64, NULL, 0, NULL, NULL),
		CL_SUCCESS);
	assert_int_equal(of_page(&page->units) - units, 1000);
	assert_int_equal(of_page(&page->busy_ns) - busy_ns, 1001 * stub.length);
}

TEST(work_in_flight_is_counted_until_it_finishes)
{
	uint64_t units = of_page(&page->units);
	unsigned int callbacks = stub.callbacks;

	stub.hold = true;
	for (int i = 0; i < 100; i++)
		assert_int_equal(launch_on(queue, 0, NULL, NULL), CL_SUCCESS);
	assert_int_equal(of_page(&page->in_flight), 100);
	assert_true(of_page(&page->in_flight_ns) > 0);
	stub_finish(99);
	assert_true(of_page(&page->in_flight) >= 1);
	stub_finish(1);
	assert_int_equal(of_page(&page->in_flight), 0);
	assert_int_equal(of_page(&page->units) - units, 100);
	/* Not every completion costs a callback. */
	assert_true(stub.callbacks - callbacks < 50);
}

TEST(events_are_those_of_the_target)
{
	cl_event events[20];
	cl_uint references;

	stub.hold = true;
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		assert_int_equal(launch_on(queue, 0, NULL, &events[i]), CL_SUCCESS);
		assert_ptr_equal(((struct stub_event *)events[i])->queue, queue);
	}
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		assert_int_equal(cl->clGetEventInfo(events[i], CL_EVENT_REFERENCE_COUNT,
						    sizeof(references), &references, NULL),
				 CL_SUCCESS);
		assert_int_equal(references, 2); /* of the program and of the stub's list */
	}
	stub_finish(UINT32_MAX);
	assert_int_equal(stub.live_events, ARRAY_SIZE(events));
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		assert_int_equal(cl->clReleaseEvent(events[i]), CL_SUCCESS);
}

TEST(an_error_is_returned_and_not_counted)
{
	uint64_t units = of_page(&page->units), submissions = of_page(&page->submissions);
	cl_event event = (cl_event)(uintptr_t)0x77;
	cl_int err = 0;

	stub.fail = CL_INVALID_KERNEL_ARGS;
	assert_int_equal(launch_on(queue, 0, NULL, &event), CL_INVALID_KERNEL_ARGS);
	assert_true(event == (cl_event)(uintptr_t)0x77);
	assert_null(cl->clEnqueueMapBuffer(queue, MEMORY, CL_TRUE, 0, 0, 1, 0, NULL, NULL, &err));
	assert_int_equal(err, CL_INVALID_KERNEL_ARGS);
	assert_null(cl->clEnqueueMapBuffer(queue, MEMORY, CL_TRUE, 0, 0, 1, 0, NULL, NULL, NULL));
	assert_int_equal(of_page(&page->units), units);
	assert_int_equal(of_page(&page->submissions), submissions);
	assert_int_equal(of_page(&page->in_flight_ns), 0);
	stub.fail = CL_SUCCESS;
	assert_non_null(
		cl->clEnqueueMapBuffer(queue, MEMORY, CL_TRUE, 0, 0, 1, 0, NULL, NULL, &err));
	assert_int_equal(err, CL_SUCCESS);
}

TEST(a_launch_that_fails_on_the_device_is_no_unit)
{
	uint64_t units = of_page(&page->units);

	stub.hold = true;
	assert_int_equal(launch_on(queue, 0, NULL, NULL), CL_SUCCESS);
	stub_finish_with(1, CL_OUT_OF_RESOURCES);
	assert_int_equal(of_page(&page->units), units);
	assert_int_equal(of_page(&page->in_flight), 0);
}

/* PoCL calls no callback for a command that fails. */
TEST(a_failure_without_a_callback_is_noticed)
{
	cl_event user = cl->clCreateUserEvent(NULL, NULL);
	uint64_t units = of_page(&page->units);

	stub.hold = stub.mute = true;
	assert_int_equal(launch_on(queue, 0, NULL, NULL), CL_SUCCESS);
	assert_int_equal(launch_on(queue, 0, NULL, NULL), CL_SUCCESS);
	stub_finish_with(2, CL_OUT_OF_RESOURCES);
	assert_int_equal(of_page(&page->in_flight), 2);
	assert_int_equal(cl->clFinish(queue), CL_SUCCESS);
	assert_int_equal(of_page(&page->in_flight), 0);
	assert_int_equal(launch_on(queue, 1, &user, NULL), CL_SUCCESS);
	stub_finish_with(1, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
	assert_int_equal(of_page(&page->in_flight), 1);
	assert_int_equal(cl->clSetUserEventStatus(user, -1), CL_SUCCESS);
	assert_int_equal(of_page(&page->in_flight), 0);
	assert_int_equal(of_page(&page->units), units);
	(void)cl->clReleaseEvent(user);
	stub.mute = false;
}

TEST(the_program_does_not_see_the_profiling_of_the_layer)
{
	cl_command_queue profiled =
		cl->clCreateCommandQueue(NULL, NULL, CL_QUEUE_PROFILING_ENABLE, NULL);
	cl_command_queue_properties flags = 0;
	cl_event event;
	cl_ulong ns;

	assert_int_equal(cl->clGetCommandQueueInfo(profiled, CL_QUEUE_PROPERTIES, sizeof(flags),
						   &flags, NULL),
			 CL_SUCCESS);
	assert_int_equal(flags, CL_QUEUE_PROFILING_ENABLE);
	assert_int_equal(
		cl->clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(flags), &flags, NULL),
		CL_SUCCESS);
	assert_int_equal(flags, 0);
	assert_int_equal(launch_on(queue, 0, NULL, &event), CL_SUCCESS);
	assert_int_equal(
		cl->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(ns), &ns, NULL),
		CL_PROFILING_INFO_NOT_AVAILABLE);
	(void)cl->clReleaseEvent(event);
	assert_int_equal(launch_on(profiled, 0, NULL, &event), CL_SUCCESS);
	assert_int_equal(
		cl->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(ns), &ns, NULL),
		CL_SUCCESS);
	(void)cl->clReleaseEvent(event);
	(void)cl->clReleaseCommandQueue(profiled);
}

/* A thread that launches once on @queue. */
static void *launch_once(void *userdata)
{
	assert_int_equal(launch_on(queue, 0, NULL, NULL), CL_SUCCESS);
	__atomic_store_n((bool *)userdata, true, __ATOMIC_SEQ_CST);
	return NULL;
}

static void wait_until(const bool *done)
{
	uint64_t end_ns = fake_now_ns() + LIMIT_NS;

	while (!__atomic_load_n(done, __ATOMIC_SEQ_CST)) {
		assert_true(fake_now_ns() < end_ns);
		fake_pause_ms(1);
	}
}

TEST(a_launch_without_a_turn_waits)
{
	unsigned int launches = stub.launches;
	bool done = false;
	pthread_t thread;

	grant(COMPUTE_GRANT_NONE);
	assert_int_equal(pthread_create(&thread, NULL, launch_once, &done), 0);
	while (!(__atomic_load_n(&page->request, __ATOMIC_SEQ_CST) & COMPUTE_REQUEST_WANTS))
		fake_pause_ms(1);
	assert_int_equal(__atomic_load_n(&stub.launches, __ATOMIC_SEQ_CST), launches);
	grant(COMPUTE_GRANT_TURN);
	wait_until(&done);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(stub.launches, launches + 1);
}

/* Each row submits without a turn; if it waited, the test would not end. */
TEST(work_that_depends_on_a_user_event_never_waits)
{
	cl_event user = cl->clCreateUserEvent(NULL, NULL), first, marker;
	cl_command_queue other = cl->clCreateCommandQueue(NULL, NULL, 0, NULL);
	uint64_t units = of_page(&page->units);

	stub.hold = true;
	grant(COMPUTE_GRANT_NONE);
	assert_int_equal(launch_on(queue, 1, &user, &first), CL_SUCCESS);
	assert_int_equal(launch_on(queue, 0, NULL, NULL), CL_SUCCESS); /* behind it, in order */
	assert_int_equal(launch_on(other, 1, &first, NULL), CL_SUCCESS);
	assert_int_equal(cl->clEnqueueMarkerWithWaitList(queue, 0, NULL, &marker), CL_SUCCESS);
	assert_int_equal(launch_on(other, 1, &marker, NULL), CL_SUCCESS);
	assert_int_equal(of_page(&page->in_flight_ns), 0);
	assert_int_equal(of_page(&page->in_flight), 4);
	grant(COMPUTE_GRANT_TURN);
	assert_int_equal(cl->clSetUserEventStatus(user, CL_COMPLETE), CL_SUCCESS);
	assert_int_equal(launch_on(queue, 0, NULL, NULL), CL_SUCCESS);
	assert_true(of_page(&page->in_flight_ns) > 0); /* it no longer depends on the event */
	stub_finish(UINT32_MAX);
	assert_int_equal(of_page(&page->units) - units, 5);
	(void)cl->clReleaseEvent(first);
	(void)cl->clReleaseEvent(marker);
	(void)cl->clReleaseEvent(user);
	(void)cl->clReleaseCommandQueue(other);
}

TEST(a_barrier_passes_its_user_event_on)
{
	cl_event user = cl->clCreateUserEvent(NULL, NULL);
	cl_command_queue unordered =
		cl->clCreateCommandQueue(NULL, NULL, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, NULL);

	stub.hold = true;
	assert_int_equal(launch_on(unordered, 1, &user, NULL), CL_SUCCESS);
	assert_int_equal(launch_on(unordered, 0, NULL, NULL), CL_SUCCESS);
	assert_true(of_page(&page->in_flight_ns) > 0); /* out of order: it can run before */
	grant(COMPUTE_GRANT_NONE);
	assert_int_equal(cl->clEnqueueBarrierWithWaitList(unordered, 1, &user, NULL), CL_SUCCESS);
	assert_int_equal(launch_on(unordered, 0, NULL, NULL), CL_SUCCESS);
	assert_int_equal(cl->clSetUserEventStatus(user, -1), CL_SUCCESS);
	(void)cl->clReleaseEvent(user);
	grant(COMPUTE_GRANT_TURN);
	stub_finish(UINT32_MAX);
	(void)cl->clReleaseCommandQueue(unordered);
}

TEST(user_events_beyond_the_table_share_a_root)
{
	cl_event user[100];

	stub.hold = true;
	for (size_t i = 0; i < ARRAY_SIZE(user); i++)
		user[i] = cl->clCreateUserEvent(NULL, NULL);
	grant(COMPUTE_GRANT_NONE);
	for (size_t i = 0; i < ARRAY_SIZE(user); i++)
		assert_int_equal(launch_on(queue, 1, &user[i], NULL), CL_SUCCESS);
	for (size_t i = 0; i < ARRAY_SIZE(user); i++)
		assert_int_equal(cl->clSetUserEventStatus(user[i], CL_COMPLETE), CL_SUCCESS);
	grant(COMPUTE_GRANT_TURN);
	assert_int_equal(launch_on(queue, 0, NULL, NULL), CL_SUCCESS);
	assert_true(of_page(&page->in_flight_ns) > 0);
	stub_finish(UINT32_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(user); i++)
		(void)cl->clReleaseEvent(user[i]);
}

TEST(memory_beyond_the_limit_is_refused)
{
	struct compute_slot *slot = &arbiter.beacon->slot[0];
	cl_int err = 1;
	cl_mem a, b;

	slot->memory_max_bytes = of_page(&page->memory_bytes) + 1000;
	a = cl->clCreateBuffer(NULL, 0, 600, NULL, &err);
	assert_non_null(a);
	assert_null(cl->clCreateBuffer(NULL, 0, 401, NULL, &err));
	assert_int_equal(err, CL_MEM_OBJECT_ALLOCATION_FAILURE);
	assert_null(cl->clCreateBuffer(NULL, 0, 401, NULL, NULL));
	b = cl->clCreateBuffer(NULL, 0, 400, NULL, &err);
	assert_int_equal(err, CL_SUCCESS);
	assert_int_equal(of_page(&page->memory_bytes), 1000);
	(void)cl->clReleaseMemObject(a);
	assert_int_equal(of_page(&page->memory_bytes), 400);
	stub.fail = CL_OUT_OF_HOST_MEMORY;
	assert_null(cl->clCreateBuffer(NULL, 0, 100, NULL, &err));
	assert_int_equal(err, CL_OUT_OF_HOST_MEMORY);
	(void)cl->clReleaseMemObject(b);
	assert_int_equal(of_page(&page->memory_bytes), 0);
	assert_int_equal(stub.live_memory, 0);
	slot->memory_max_bytes = UINT64_MAX;
}

TEST(queues_come_and_go)
{
	uint64_t units = of_page(&page->units);

	for (int i = 0; i < 5000; i++) {
		cl_command_queue q = cl->clCreateCommandQueue(NULL, NULL, 0, NULL);

		assert_int_equal(cl->clRetainCommandQueue(q), CL_SUCCESS);
		assert_int_equal(cl->clReleaseCommandQueue(q), CL_SUCCESS);
		assert_int_equal(launch_on(q, 0, NULL, NULL), CL_SUCCESS);
		assert_int_equal(cl->clReleaseCommandQueue(q), CL_SUCCESS);
		free(q);
	}
	assert_int_equal(of_page(&page->units) - units, 5000);
}

TEST(a_queue_is_released_with_work_in_flight)
{
	cl_command_queue q = cl->clCreateCommandQueue(NULL, NULL, 0, NULL);
	uint64_t units = of_page(&page->units);

	stub.hold = true;
	for (int i = 0; i < 5; i++)
		assert_int_equal(launch_on(q, 0, NULL, NULL), CL_SUCCESS);
	(void)cl->clReleaseCommandQueue(q);
	assert_int_equal(of_page(&page->in_flight), 5);
	stub_finish(UINT32_MAX);
	assert_int_equal(of_page(&page->units) - units, 5);
}

TEST_WITH(without_an_arbiter_the_target_gets_what_the_program_passes, NULL, NULL)
{
	uint64_t end_ns = fake_now_ns() + LIMIT_NS;
	unsigned int launches, bare;

	(void)setup();
	bare = stub.bare;
	grant(COMPUTE_GRANT_NONE);
	fake_arbiter_end(&arbiter);
	while (stub.bare == bare) { /* the layer adds an event while it counts */
		assert_int_equal(launch_on(queue, 0, NULL, NULL), CL_SUCCESS);
		assert_true(fake_now_ns() < end_ns);
	}
	launches = stub.launches;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(launch_on(queue, 0, NULL, NULL), CL_SUCCESS);
	assert_int_equal(stub.launches, launches + 1000);
	assert_int_equal(stub.bare, bare + 1001);
	assert_int_equal(stub.live_events, 0);
	(void)cl->clReleaseCommandQueue(queue);
}

static char folder[] = "/tmp/gover-cl.XXXXXX";

static int prepare(void)
{
	char value[128];

	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/socket", folder);
	(void)snprintf(value, sizeof(value), "unix:%s", path);
	(void)setenv("GOVER_CL", value, 1);
	fake_arbiter_start(&arbiter, path, COMPUTE_GRANT_TURN);
	cl = stub_load_layer();
	if (!cl)
		return -1;
	for (uint64_t end_ns = fake_now_ns() + LIMIT_NS; !page && fake_now_ns() < end_ns;) {
		cl_command_queue q = cl->clCreateCommandQueue(NULL, NULL, 0, NULL);

		(void)cl->clReleaseCommandQueue(q);
		fake_pause_ms(1);
		page = fake_arbiter_page(&arbiter, 0);
	}
	/* Until the layer has received the welcome as well. */
	queue = cl->clCreateCommandQueue(NULL, NULL, 0, NULL);
	while (page && of_page(&page->submissions) == 0)
		(void)launch_on(queue, 0, NULL, NULL);
	(void)cl->clReleaseCommandQueue(queue);
	return 0;
}

static int finish(void)
{
	return rmdir(folder);
}

FIXTURE_ONCE(prepare, finish)
