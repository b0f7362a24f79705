/* SPDX-License-Identifier: MIT */
/*
 * The page shows which threads are inside a present call, whatever the call and its thread do.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/preload/debug.c"
#include "fps-preload/limit.c"
#include "base/preload/owned-fd.c"
#include "base/preload/sealed-memfd.c"

static int fake_sleep(clockid_t clock, int flags, const struct timespec *at, struct timespec *left);

#define clock_nanosleep fake_sleep
#include "fps-preload/frame.c"
#undef clock_nanosleep

/* frame.c defines a variable of this name too */
#define self page_self
#include "fps-preload/shared-page.c"
#include "tests/unit/unit.h"
#undef self

/* The process is never connected: no daemon reads the page. */
void connection_setup(const struct setup *setup, uint32_t *limit)
{
	(void)setup;
	(void)limit;
}

void connection_start(const struct fps_page *page, struct owned_fd *memfd)
{
	(void)page;
	owned_fd_close(memfd);
}

void connection_reset(void)
{
}

uint64_t connection_poll(void)
{
	return NS_PER_S;
}

void connection_finish(void)
{
}

static const struct fps_page *page(void)
{
	return local ? local->page : NULL;
}

/* Returns the number of present calls that have begun and not ended. */
static uint32_t inside(void)
{
	uint32_t calls = 0;

	for (int l = 0; page() && l < FPS_WIRE_LANES; l++)
		calls += page()->lane[l].presents_begun - page()->lane[l].presents_ended;
	return calls;
}

static uint64_t frames(void)
{
	struct fps_counters sum;

	fps_wire_sum(page(), &sum);
	return sum.frames;
}

/* A present call of @presented windows. Returns the calls that were shown during it. */
static uint32_t present(unsigned int presented)
{
	uint64_t begin = frame_begin();
	uint32_t during = inside();

	(void)frame_end(begin, presented);
	return during;
}

static int sleeps;

static int fake_sleep(clockid_t clock, int flags, const struct timespec *at, struct timespec *left)
{
	(void)clock;
	(void)flags;
	(void)at;
	(void)left;
	sleeps++;
	assert_int_equal(inside(), 0);
	return 0;
}

/* The process has a page, and the main thread a lane. */
static int setup(void)
{
	const struct setup unix_socket = {.transport = SETUP_UNIX};

	frame_setup(&unix_socket);
	(void)present(1);
	assert_int_equal(inside(), 0);
	return 0;
}

FIXTURE(setup, NULL)

TEST_WITH(the_first_present_of_a_process_is_not_shown, NULL, NULL)
{
	const struct setup unix_socket = {.transport = SETUP_UNIX};

	frame_setup(&unix_socket);
	assert_int_equal(present(0), 0);
	assert_null(page());
	assert_int_equal(present(1), 0);
	assert_int_equal(frames(), 1);
	assert_int_equal(page()->features, FPS_PAGE_PRESENTS);
	assert_int_equal(inside(), 0);
}

TEST(a_call_is_shown_until_it_returns)
{
	static const struct {
		const char *what;
		unsigned int presented;
	} rows[] = {{"one window", 1}, {"three windows", 3}, {"failed", 0}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t before = frames();

		if (present(rows[i].presented) != 1 || inside() != 0)
			fail_msg("%s: %u calls are shown", rows[i].what, inside());
		assert_int_equal(frames(), before + rows[i].presented);
	}
}

TEST(the_inner_of_two_nested_calls_ends_both)
{
	uint64_t before = frames(), outer = frame_begin(), inner = frame_begin();

	assert_true(inside() > 0);
	assert_true(frame_end(inner, 1));
	assert_int_equal(inside(), 0);
	assert_false(frame_end(outer, 1));
	assert_int_equal(inside(), 0);
	assert_int_equal(frames(), before + 1);
	assert_int_equal(present(1), 1);
	assert_int_equal(inside(), 0);
}

TEST(a_call_left_by_longjmp_ends_with_the_next)
{
	jmp_buf out;

	if (setjmp(out) == 0) {
		(void)frame_begin();
		longjmp(out, 1);
	}
	assert_int_equal(inside(), 1);
	(void)present(1);
	assert_int_equal(inside(), 0);
}

static void *leave(void *how)
{
	(void)frame_begin();
	if (how)
		(void)pthread_cancel(pthread_self());
	pthread_testcancel();
	pthread_exit(NULL);
}

TEST(a_call_ends_with_its_thread)
{
	static char cancelled;
	void *const hows[] = {NULL, &cancelled};

	for (size_t i = 0; i < ARRAY_SIZE(hows); i++) {
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, leave, hows[i]), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
		assert_int_equal(inside(), 0);
	}
}

#define THREADS (2 * FPS_WIRE_LANES)

static pthread_barrier_t barrier;

static void *present_together(void *unused)
{
	uint64_t begin = frame_begin();

	(void)unused;
	(void)pthread_barrier_wait(&barrier); /* all are inside */
	(void)pthread_barrier_wait(&barrier); /* the test has looked */
	(void)frame_end(begin, 1);
	return NULL;
}

TEST(threads_that_share_a_lane_are_shown)
{
	pthread_t threads[THREADS];
	uint64_t before = frames();

	assert_int_equal(pthread_barrier_init(&barrier, NULL, THREADS + 1), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, present_together, NULL), 0);
	(void)pthread_barrier_wait(&barrier);
	assert_int_equal(inside(), THREADS);
	(void)pthread_barrier_wait(&barrier);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(inside(), 0);
	assert_int_equal(frames(), before + THREADS);
	assert_int_equal(pthread_barrier_destroy(&barrier), 0);
}

TEST(a_forked_child_ends_no_call_of_its_parent)
{
	uint64_t begin = frame_begin();
	pid_t child = fork();
	int status;

	if (child == 0) {
		(void)frame_end(begin, 1);
		_exit(present(1) == 1 && inside() == 0 && frames() == 2 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(inside(), 1);
	(void)frame_end(begin, 1);
	assert_int_equal(inside(), 0);
}

TEST(the_wait_of_a_limit_is_outside_the_call)
{
	limit_ns = NS_PER_S;
	sleeps = 0;
	for (int i = 0; i < 3; i++)
		assert_int_equal(present(1), 1);
	assert_int_equal(sleeps, 2);
	limit_ns = 0;
}
