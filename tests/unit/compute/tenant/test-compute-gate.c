/* SPDX-License-Identifier: MIT */
/*
 * The gate holds submissions back while the arbiter grants no turn, and lets them pass without an
 * arbiter. A test waits for events with a generous limit and never judges by time alone.
 */
#include <sys/wait.h>

#include "base/cleanup.h"
#include "compute/tenant/gate.h"
#include "compute/tenant/link.h"
#include "tests/unit/compute/fake-arbiter.h"
#include "tests/unit/unit.h"

#define LIMIT_NS 60000000000ull

static struct fake_arbiter arbiter;
static char path[108];
static unsigned int flushes;

static void flush(void)
{
	__atomic_add_fetch(&flushes, 1, __ATOMIC_SEQ_CST);
}

#define WAIT_FOR(condition)                                  \
	do {                                                 \
		uint64_t end_ns = fake_now_ns() + LIMIT_NS;  \
		while (!(condition)) {                       \
			assert_true(fake_now_ns() < end_ns); \
			fake_pause_ms(1);                    \
		}                                            \
	} while (0)

/* A thread that submits once; it passes when @done is set. */
struct submitter {
	pthread_t thread;
	uint64_t predicted_ns;
	bool done;
};

static void *submit(void *userdata)
{
	struct submitter *s = userdata;

	gate_enter(s->predicted_ns);
	__atomic_store_n(&s->done, true, __ATOMIC_SEQ_CST);
	return NULL;
}

static void start(struct submitter *s, uint64_t predicted_ns)
{
	*s = (struct submitter){.predicted_ns = predicted_ns};
	assert_int_equal(pthread_create(&s->thread, NULL, submit, s), 0);
}

static bool is_done(const struct submitter *s)
{
	return __atomic_load_n(&s->done, __ATOMIC_SEQ_CST);
}

static void join(struct submitter *s)
{
	WAIT_FOR(is_done(s));
	assert_int_equal(pthread_join(s->thread, NULL), 0);
}

static void finish(uint64_t predicted_ns)
{
	struct gate_work work = {.submissions = 1,
				 .units = 1,
				 .predicted_ns = predicted_ns,
				 .busy_ns = 10,
				 .sampled = 1};

	gate_finish(&work);
}

/* Starts an arbiter and waits until this process is its client 0. */
static int setup(void)
{
	fake_arbiter_start(&arbiter, path, COMPUTE_GRANT_NONE);
	WAIT_FOR(gate_poll());
	return 0;
}

static int teardown(void)
{
	fake_arbiter_end(&arbiter);
	WAIT_FOR(!gate_poll());
	assert_int_equal(link_page()->in_flight, 0);
	assert_int_equal(link_page()->in_flight_ns, 0);
	return 0;
}

FIXTURE(setup, teardown)

TEST_WITH(without_an_arbiter_everything_passes, NULL, NULL)
{
	for (int i = 0; i < 100000; i++)
		assert_false(gate_is_controlled());
	gate_enter(1000);
	finish(1000);
	assert_true(gate_take_memory(UINT64_MAX / 2));
	gate_free_memory(UINT64_MAX / 2);
}

TEST(a_submission_waits_for_a_turn)
{
	const struct compute_page *page = fake_arbiter_page(&arbiter, 0);
	struct submitter s;

	start(&s, 1000);
	WAIT_FOR(__atomic_load_n(&page->request, __ATOMIC_SEQ_CST) & COMPUTE_REQUEST_WANTS);
	WAIT_FOR(fake_arbiter_take_rings(&arbiter) > 0);
	fake_pause_ms(60); /* longer than one wait */
	assert_false(is_done(&s));
	assert_int_equal(of_page(&page->in_flight), 0);
	fake_arbiter_grant(&arbiter, 0, COMPUTE_GRANT_TURN, 0);
	join(&s);
	assert_false(__atomic_load_n(&page->request, __ATOMIC_SEQ_CST) & COMPUTE_REQUEST_WANTS);
	assert_int_equal(of_page(&page->in_flight), 1);
	assert_int_equal(of_page(&page->in_flight_ns), 1000);
	assert_true(of_page(&page->ends_ns) >= of_page(&page->submit_ns) + 1000);
	finish(1000);
	assert_int_equal(of_page(&page->in_flight), 0);
}

TEST(a_free_client_passes)
{
	fake_arbiter_grant(&arbiter, 0, COMPUTE_GRANT_FREE, 1);
	gate_enter(1000);
	gate_enter(UINT64_MAX / 2);
	finish(1000);
	gate_cancel(UINT64_MAX / 2, false);
}

TEST(a_lease_that_has_ended_grants_nothing)
{
	struct submitter s;

	fake_arbiter_grant(&arbiter, 0, COMPUTE_GRANT_TURN, 1);
	start(&s, 1000);
	WAIT_FOR(fake_arbiter_take_rings(&arbiter) > 0);
	fake_pause_ms(60);
	assert_false(is_done(&s));
	fake_arbiter_grant(&arbiter, 0, COMPUTE_GRANT_TURN, LIMIT_NS);
	join(&s);
	finish(1000);
}

TEST(work_in_flight_is_bounded)
{
	struct submitter s;
	unsigned int flushed = flushes;

	arbiter.beacon->slot[0].in_flight_max_ns = 2000;
	fake_arbiter_grant(&arbiter, 0, COMPUTE_GRANT_TURN, 0);
	gate_enter(1999);
	gate_enter(1); /* 1,999 is below the bound, 2,000 is not */
	start(&s, 1);
	WAIT_FOR(__atomic_load_n(&flushes, __ATOMIC_SEQ_CST) > flushed);
	assert_false(is_done(&s));
	finish(1999);
	join(&s);
	finish(1);
	finish(1);
}

static void finish_unmeasured(void)
{
	struct gate_work work = {.submissions = 1, .predicted_ns = 5, .unmeasured = 1};

	gate_finish(&work);
}

TEST(nothing_enters_beside_a_submission_of_unknown_time)
{
	struct submitter s;

	fake_arbiter_grant(&arbiter, 0, COMPUTE_GRANT_TURN, 0);
	gate_enter(1);
	gate_enter_unmeasured(5);
	start(&s, 1);
	fake_pause_ms(60);
	finish(1);
	fake_pause_ms(60);
	assert_false(is_done(&s));
	finish_unmeasured();
	join(&s);
	finish(1);
	gate_enter_unmeasured(5);
	gate_cancel(5, true);
	gate_enter(1);
	finish(1);
}

/* It may be a kernel that waits for what the program submits next. */
TEST(unknown_time_delays_a_program_once)
{
	struct submitter s;
	uint64_t begin_ns;

	fake_arbiter_grant(&arbiter, 0, COMPUTE_GRANT_TURN, 0);
	gate_enter_unmeasured(5);
	start(&s, 1);
	join(&s);
	begin_ns = fake_now_ns();
	gate_enter(1);
	assert_true(fake_now_ns() - begin_ns < GATE_STALL_NS);
	finish(1);
	finish(1);
	finish_unmeasured();
	gate_enter_unmeasured(5); /* the counter is right again */
	start(&s, 1);
	fake_pause_ms(60);
	assert_false(is_done(&s));
	finish_unmeasured();
	join(&s);
	finish(1);
}

TEST(the_length_of_a_turn_is_known_if_turns_are_needed)
{
	fake_arbiter_grant(&arbiter, 0, COMPUTE_GRANT_TURN, 0);
	arbiter.beacon->slot[0].slice_ns = 25;
	assert_int_equal(gate_slice_ns(), 25);
	arbiter.beacon->slot[0].slice_ns = 0;
	assert_int_equal(gate_slice_ns(), GATE_SLICE_NS);
	fake_arbiter_grant(&arbiter, 0, COMPUTE_GRANT_NONE, 0);
	assert_int_equal(gate_slice_ns(), GATE_SLICE_NS);
	fake_arbiter_grant(&arbiter, 0, COMPUTE_GRANT_FREE, 0);
	assert_int_equal(gate_slice_ns(), 0);
}

TEST(a_lone_tenant_is_not_contended)
{
	struct compute_slot *slot = &arbiter.beacon->slot[0];

	assert_true(gate_is_contended()); /* it never had a turn */
	slot->slice_ns = GATE_SLICE_NS + 1;
	assert_false(gate_is_contended());
	fake_arbiter_grant(&arbiter, 0, COMPUTE_GRANT_TURN, 0);
	assert_false(gate_is_contended());
	slot->busy_end_ns = 1;
	assert_true(gate_is_contended());
	fake_arbiter_grant(&arbiter, 0, COMPUTE_GRANT_FREE, 0);
	assert_false(gate_is_contended());
}

TEST(a_longer_submission_than_the_bound_passes_alone)
{
	arbiter.beacon->slot[0].in_flight_max_ns = 10;
	fake_arbiter_grant(&arbiter, 0, COMPUTE_GRANT_TURN, 0);
	gate_enter(1000000);
	finish(1000000);
}

TEST(work_that_never_finishes_does_not_stop_the_program)
{
	struct submitter s;

	arbiter.beacon->slot[0].in_flight_max_ns = 1;
	fake_arbiter_grant(&arbiter, 0, COMPUTE_GRANT_TURN, 0);
	gate_enter(1000);
	start(&s, 5);
	join(&s);
	finish(1000);
	finish(5);
}

TEST(work_that_depends_on_the_program_never_waits)
{
	gate_pass();
	assert_int_equal(of_page(&fake_arbiter_page(&arbiter, 0)->in_flight), 1);
	assert_int_equal(of_page(&fake_arbiter_page(&arbiter, 0)->in_flight_ns), 0);
	finish(0);
}

TEST(many_threads_wait_for_one_turn)
{
	const struct compute_page *page = fake_arbiter_page(&arbiter, 0);
	struct submitter s[8];

	for (size_t i = 0; i < ARRAY_SIZE(s); i++)
		start(&s[i], 1);
	WAIT_FOR(__atomic_load_n(&page->waiters, __ATOMIC_SEQ_CST) == ARRAY_SIZE(s));
	fake_arbiter_grant(&arbiter, 0, COMPUTE_GRANT_TURN, 0);
	for (size_t i = 0; i < ARRAY_SIZE(s); i++) {
		join(&s[i]);
		finish(1);
	}
	assert_int_equal(page->waiters, 0);
	assert_false(page->request & COMPUTE_REQUEST_WANTS);
}

TEST(an_ended_arbiter_lets_waiting_threads_go)
{
	struct submitter s;

	start(&s, 1);
	WAIT_FOR(fake_arbiter_take_rings(&arbiter) > 0);
	fake_arbiter_end(&arbiter);
	join(&s);
	assert_false(link_is_up());
	finish(1);
	/* It comes back after a second at most, and grants nothing. */
	fake_arbiter_start(&arbiter, path, COMPUTE_GRANT_NONE);
	WAIT_FOR(gate_is_controlled());
	start(&s, 1);
	WAIT_FOR(fake_arbiter_take_rings(&arbiter) > 0);
	assert_false(is_done(&s));
	fake_arbiter_grant(&arbiter, 0, COMPUTE_GRANT_TURN, 0);
	join(&s);
	finish(1);
}

TEST(a_stopped_arbiter_lets_waiting_threads_go)
{
	struct submitter s;

	start(&s, 1);
	WAIT_FOR(fake_arbiter_take_rings(&arbiter) > 0);
	__atomic_store_n(&arbiter.stopped, true, __ATOMIC_RELEASE);
	join(&s);
	assert_false(link_is_up());
	finish(1);
	__atomic_store_n(&arbiter.stopped, false, __ATOMIC_RELEASE);
	WAIT_FOR(gate_is_controlled());
}

/* Many quick polls, here those of allocations, must not delay the next ones of a slow program. */
TEST(a_slow_program_is_soon_under_control_again)
{
	for (int i = 0; i < 16; i++)
		assert_true(gate_take_memory(1));
	gate_free_memory(16);
	__atomic_store_n(&arbiter.stopped, true, __ATOMIC_RELEASE);
	WAIT_FOR(!gate_poll());
	__atomic_store_n(&arbiter.stopped, false, __ATOMIC_RELEASE);
	for (int i = 0; i < 8 && !gate_is_controlled(); i++)
		fake_pause_ms(600);
	assert_true(link_is_up());
}

TEST(the_bell_rings_as_the_flags_say)
{
	fake_arbiter_grant(&arbiter, 0, COMPUTE_GRANT_TURN, 0);
	gate_enter(1);
	gate_enter(2);
	(void)fake_arbiter_take_rings(&arbiter);
	finish(1);
	assert_int_equal(fake_arbiter_take_rings(&arbiter), 0);
	arbiter.beacon->slot[0].flags = COMPUTE_RING_IDLE;
	finish(2);
	assert_int_equal(fake_arbiter_take_rings(&arbiter), 1);
	gate_enter(1);
	gate_enter(1);
	finish(1);
	assert_int_equal(fake_arbiter_take_rings(&arbiter), 0);
	arbiter.beacon->slot[0].flags = COMPUTE_RING_FINISH;
	gate_enter(1);
	finish(1);
	assert_int_equal(fake_arbiter_take_rings(&arbiter), 1);
	finish(1);
	arbiter.beacon->slot[0].flags = COMPUTE_RING_MEMORY;
	(void)fake_arbiter_take_rings(&arbiter);
	assert_true(gate_take_memory(5));
	assert_int_equal(fake_arbiter_take_rings(&arbiter), 1);
	gate_free_memory(5);
	assert_int_equal(fake_arbiter_take_rings(&arbiter), 1);
}

TEST(memory_is_limited_exactly)
{
	const struct compute_page *page = fake_arbiter_page(&arbiter, 0);
	uint64_t refused = of_page(&page->memory_refused);

	arbiter.beacon->slot[0].memory_max_bytes = 1000;
	assert_true(gate_take_memory(600));
	assert_false(gate_take_memory(401));
	assert_true(gate_take_memory(400));
	assert_false(gate_take_memory(1));
	assert_false(gate_take_memory(UINT64_MAX));
	assert_int_equal(of_page(&page->memory_bytes), 1000);
	assert_int_equal(of_page(&page->memory_refused), refused + 3);
	gate_free_memory(1000);
	assert_int_equal(of_page(&page->memory_bytes), 0);
	gate_free_memory(1); /* in a forked child */
	assert_int_equal(of_page(&page->memory_bytes), 0);
}

TEST(a_failed_submission_gives_its_prediction_back)
{
	const struct compute_page *page = fake_arbiter_page(&arbiter, 0);
	uint64_t submissions = of_page(&page->submissions);

	fake_arbiter_grant(&arbiter, 0, COMPUTE_GRANT_TURN, 0);
	gate_enter(1000);
	assert_int_equal(of_page(&page->submissions), submissions + 1);
	gate_cancel(1000, false);
	assert_int_equal(of_page(&page->submissions), submissions);
	assert_int_equal(of_page(&page->in_flight_ns), 0);
}

TEST(a_forked_child_is_a_new_client)
{
	int status = -1;
	pid_t child;

	fake_arbiter_grant(&arbiter, 0, COMPUTE_GRANT_TURN, 0);
	gate_enter(7);
	child = fork();
	if (child == 0) {
		uint64_t end_ns = fake_now_ns() + LIMIT_NS;

		if (link_is_up() || link_page()->in_flight != 0)
			_exit(1);
		while (!gate_is_controlled())
			if (fake_now_ns() > end_ns)
				_exit(2);
		_exit(link_page()->in_flight_ns == 0 ? 0 : 3);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(__atomic_load_n(&arbiter.connections, __ATOMIC_SEQ_CST), 2);
	assert_int_equal(of_page(&fake_arbiter_page(&arbiter, 0)->in_flight_ns), 7);
	assert_true(gate_is_controlled());
	finish(7);
}

TEST(errno_is_preserved)
{
	errno = ERANGE;
	(void)gate_poll();
	fake_arbiter_grant(&arbiter, 0, COMPUTE_GRANT_TURN, 0);
	arbiter.beacon->slot[0].flags = COMPUTE_RING_IDLE;
	gate_enter(1);
	finish(1);
	assert_int_equal(errno, ERANGE);
}

static char folder[] = "/tmp/gover-gate.XXXXXX";

static int prepare(void)
{
	char value[128];
	struct tenant_setup read;

	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/socket", folder);
	(void)snprintf(value, sizeof(value), "unix:%s", path);
	(void)setenv("GOVER_CL", value, 1);
	tenant_setup_read(&read);
	link_setup(&read);
	gate_setup(flush);
	return 0;
}

static int remove_folder(void)
{
	return rmdir(folder);
}

FIXTURE_ONCE(prepare, remove_folder)
