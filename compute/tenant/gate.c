/* SPDX-License-Identifier: MIT */
/* The gate in front of the device: see gate.h, and wire.h for the order of the accesses. */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/preload/sandbox.h"
#include "compute/tenant/clock.h"
#include "compute/tenant/gate.h"
#include "compute/tenant/link.h"

/* Without control, the clock is read so that about this much time is between two readings. */
#define POLL_GAP_NS	 50000000u
#define POLL_COUNT_MAX	 64u
#define WELCOME_LIMIT_MS 100

static void (*tend_work)(void); /* written once */

/* Submissions until the next poll of the link, and the number from one poll to the next. */
static uint32_t countdown, countdown_from = 1;
static uint64_t polled_ns; /* time of the last poll */
static bool waited_for_welcome;

static uint64_t last_wait_ns; /* of a thread for its turn */

/* Completions, for threads that wait for work in flight. */
static uint32_t completions, completion_waiters;

/*
 * Submissions in flight whose time is not known. Less than their number after work that did not
 * finish for GATE_STALL_NS, and not right in a forked child.
 */
static uint64_t unmeasured;

void gate_setup(void (*tend)(void))
{
	tend_work = tend;
}

static void add(uint64_t *counter, uint64_t n)
{
	(void)__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

/* After a loss of control the next submission polls, however rarely the program submits. */
static void poll_at(uint64_t now_ns)
{
	bool was_up = link_is_up();

	link_poll(now_ns);
	if (!was_up || link_is_up())
		return;
	__atomic_store_n(&countdown_from, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&countdown, 1, __ATOMIC_RELAXED);
}

/* Polls the link and adapts the number of submissions to the next poll. Threads may race here. */
static void poll_link(void)
{
	int saved_errno = errno;
	uint64_t now_ns = tenant_clock_ns();
	uint64_t gap_ns = now_ns - __atomic_exchange_n(&polled_ns, now_ns, __ATOMIC_RELAXED);
	uint32_t from = __atomic_load_n(&countdown_from, __ATOMIC_RELAXED);

	if (gap_ns > 2 * POLL_GAP_NS)
		from = 1;
	else if (gap_ns < POLL_GAP_NS && from < POLL_COUNT_MAX)
		from *= 2;
	__atomic_store_n(&countdown_from, from, __ATOMIC_RELAXED);
	__atomic_store_n(&countdown, from, __ATOMIC_RELAXED);
	poll_at(now_ns);
	if (!__atomic_exchange_n(&waited_for_welcome, true, __ATOMIC_RELAXED))
		link_wait_welcome(WELCOME_LIMIT_MS);
	errno = saved_errno;
}

bool gate_is_controlled(void)
{
	uint32_t left = __atomic_load_n(&countdown, __ATOMIC_RELAXED);

	if (link_is_up())
		return true;
	if (left > 1) {
		__atomic_store_n(&countdown, left - 1, __ATOMIC_RELAXED);
		return false;
	}
	poll_link();
	return link_is_up();
}

struct gate_passes gate_passes(void)
{
	return (struct gate_passes){.controlled = link_up_word(), .left = &countdown};
}

bool gate_poll(void)
{
	poll_at(tenant_clock_ns());
	return link_is_up();
}

uint64_t gate_slice_ns(void)
{
	const struct compute_slot *slot = link_slot();
	uint32_t grant = __atomic_load_n(&slot->grant, __ATOMIC_RELAXED);
	uint64_t slice_ns = __atomic_load_n(&slot->slice_ns, __ATOMIC_RELAXED);

	if ((grant & COMPUTE_GRANT_MASK) == COMPUTE_GRANT_FREE)
		return 0;
	return slice_ns ? slice_ns : GATE_SLICE_NS;
}

bool gate_is_contended(void)
{
	const struct compute_slot *slot = link_slot();

	switch (__atomic_load_n(&slot->grant, __ATOMIC_RELAXED) & COMPUTE_GRANT_MASK) {
	case COMPUTE_GRANT_FREE:
		return false;
	case COMPUTE_GRANT_TURN:
		return __atomic_load_n(&slot->busy_end_ns, __ATOMIC_RELAXED) != 0;
	default:
		return gate_slice_ns() <= GATE_SLICE_NS;
	}
}

enum passage { PASSED, NO_TURN, BOUND_REACHED };

/* @before_ns: predicted work in flight without the submission. */
static enum passage check_bounds(const struct compute_slot *slot, uint64_t before_ns)
{
	const struct compute_page *page = link_page();
	uint64_t max_ns = __atomic_load_n(&slot->in_flight_max_ns, __ATOMIC_RELAXED);
	uint64_t max = __atomic_load_n(&slot->in_flight_max, __ATOMIC_RELAXED);
	uint64_t end = __atomic_load_n(&slot->submissions_end, __ATOMIC_RELAXED);
	uint64_t end_ns = __atomic_load_n(&slot->busy_end_ns, __ATOMIC_RELAXED);

	if ((end != 0 && __atomic_load_n(&page->submissions, __ATOMIC_RELAXED) >= end) ||
	    (end_ns != 0 &&
	     __atomic_load_n(&page->busy_ns, __ATOMIC_RELAXED) + before_ns >= end_ns))
		return NO_TURN;
	if ((max_ns != 0 && before_ns >= max_ns) ||
	    __atomic_load_n(&unmeasured, __ATOMIC_RELAXED) > 0 ||
	    (max != 0 && __atomic_load_n(&page->in_flight, __ATOMIC_RELAXED) >= max))
		return BOUND_REACHED;
	return PASSED;
}

/* Adds the submission to the work in flight if it may pass. */
static enum passage try_enter(uint64_t predicted_ns, uint64_t now_ns, uint32_t *ret_grant)
{
	const struct compute_slot *slot = link_slot();
	uint64_t *in_flight_ns = &link_page()->in_flight_ns;
	uint64_t before = __atomic_fetch_add(in_flight_ns, predicted_ns, __ATOMIC_SEQ_CST);
	uint32_t grant = __atomic_load_n(&slot->grant, __ATOMIC_SEQ_CST);
	enum passage passage = NO_TURN;

	if ((grant & COMPUTE_GRANT_MASK) == COMPUTE_GRANT_FREE)
		return PASSED;
	if ((grant & COMPUTE_GRANT_MASK) == COMPUTE_GRANT_TURN &&
	    now_ns < __atomic_load_n(&slot->lease_end_ns, __ATOMIC_RELAXED)) {
		passage = check_bounds(slot, before);
		if (passage == PASSED)
			return PASSED;
	}
	(void)__atomic_fetch_sub(in_flight_ns, predicted_ns, __ATOMIC_SEQ_CST);
	*ret_grant = grant;
	return passage;
}

static void wait_futex(const uint32_t *word, uint32_t value, int operation, uint64_t limit_ns)
{
	struct timespec limit = {.tv_sec = (time_t)(limit_ns / 1000000000u),
				 .tv_nsec = (long)(limit_ns % 1000000000u)};

	(void)syscall(SYS_futex, word, operation, value, &limit, NULL, 0);
}

/* A thread begins to wait for a turn. The first one sets the request and rings. */
static void request_turn(uint64_t now_ns)
{
	struct compute_page *page = link_page();

	if (__atomic_fetch_add(&page->waiters, 1, __ATOMIC_SEQ_CST) == 0) {
		__atomic_store_n(&page->request_ns, now_ns, __ATOMIC_RELAXED);
		(void)__atomic_fetch_add(&page->request, COMPUTE_REQUEST_STEP, __ATOMIC_SEQ_CST);
	}
	(void)__atomic_fetch_or(&page->request, COMPUTE_REQUEST_WANTS, __ATOMIC_SEQ_CST);
	link_ring();
}

static void withdraw_request(uint64_t now_ns)
{
	struct compute_page *page = link_page();

	if (__atomic_sub_fetch(&page->waiters, 1, __ATOMIC_SEQ_CST) != 0)
		return;
	__atomic_store_n(&page->request_ns, now_ns, __ATOMIC_RELAXED);
	(void)__atomic_fetch_and(&page->request, ~COMPUTE_REQUEST_WANTS, __ATOMIC_SEQ_CST);
	/* A thread that began to wait in between has set the bit before it was cleared. */
	if (__atomic_load_n(&page->waiters, __ATOMIC_SEQ_CST) != 0)
		(void)__atomic_fetch_or(&page->request, COMPUTE_REQUEST_WANTS, __ATOMIC_SEQ_CST);
}

/*
 * Spins, then waits until the grant word differs from @grant. May return earlier. After a long
 * wait, the next one will be long as well: spinning would only take CPU time.
 */
static void wait_for_turn(uint32_t grant, uint64_t now_ns)
{
	const uint32_t *word = &link_slot()->grant;
	bool is_short = __atomic_load_n(&last_wait_ns, __ATOMIC_RELAXED) <= GATE_SPIN_NS;
	uint64_t spin_end_ns = is_short ? now_ns + GATE_SPIN_NS : now_ns;

	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == grant) {
		if (tenant_clock_ns() >= spin_end_ns) {
			wait_futex(word, grant, FUTEX_WAIT, GATE_WAIT_NS);
			return;
		}
#if defined(__x86_64__) || defined(__i386__)
		__builtin_ia32_pause();
#endif
	}
}

/*
 * Waits for a completion of own work. Returns false if there was none for GATE_STALL_NS since
 * @since_ns, so that the submission must pass.
 */
static bool wait_for_completion(uint64_t *since_ns, uint32_t *seen, uint64_t now_ns)
{
	uint32_t now = __atomic_load_n(&completions, __ATOMIC_ACQUIRE);

	if (now != *seen) {
		*seen = now;
		*since_ns = now_ns;
	} else if (now_ns - *since_ns > GATE_STALL_NS) {
		return false;
	}
	(void)__atomic_fetch_add(&completion_waiters, 1, __ATOMIC_SEQ_CST);
	wait_futex(&completions, now, FUTEX_WAIT_PRIVATE, GATE_WAIT_NS);
	(void)__atomic_fetch_sub(&completion_waiters, 1, __ATOMIC_SEQ_CST);
	return true;
}

/* The slow path of gate_enter(). */
static uint64_t enter_slowly(uint64_t predicted_ns, uint64_t now_ns)
{
	uint32_t grant = 0, seen = __atomic_load_n(&completions, __ATOMIC_ACQUIRE);
	int saved_errno = errno, cancel_state;
	uint64_t begin_ns = now_ns, since_ns = now_ns;
	bool requested = false;
	enum passage passage;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	while ((passage = try_enter(predicted_ns, now_ns, &grant)) != PASSED) {
		if (!sandbox_allows_calls()) {
			link_leave(); /* the next attempt passes */
			continue;
		}
		if (tend_work)
			tend_work();
		if (passage == BOUND_REACHED) {
			if (!wait_for_completion(&since_ns, &seen, now_ns)) {
				__atomic_store_n(&unmeasured, 0, __ATOMIC_RELAXED);
				(void)__atomic_fetch_add(&link_page()->in_flight_ns, predicted_ns,
							 __ATOMIC_SEQ_CST);
				break;
			}
		} else {
			if (!requested)
				request_turn(now_ns);
			requested = true;
			wait_for_turn(grant, now_ns);
			since_ns = tenant_clock_ns();
			/* A sign of life: a stopped program loses its turns. */
			__atomic_store_n(&link_page()->request_ns, since_ns, __ATOMIC_RELAXED);
		}
		now_ns = tenant_clock_ns();
		poll_at(now_ns);
	}
	if (requested) {
		__atomic_store_n(&last_wait_ns, now_ns - begin_ns, __ATOMIC_RELAXED);
		withdraw_request(now_ns);
	}
	(void)pthread_setcancelstate(cancel_state, NULL);
	errno = saved_errno;
	return now_ns;
}

static void count_submission(uint64_t predicted_ns, uint64_t now_ns)
{
	struct compute_page *page = link_page();
	uint64_t ends_ns = __atomic_load_n(&page->ends_ns, __ATOMIC_RELAXED);

	add(&page->in_flight, 1);
	add(&page->submissions, 1);
	__atomic_store_n(&page->submit_ns, now_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&page->ends_ns, (ends_ns > now_ns ? ends_ns : now_ns) + predicted_ns,
			 __ATOMIC_RELAXED);
}

uint64_t gate_enter(uint64_t predicted_ns)
{
	uint64_t now_ns = tenant_clock_ns();
	uint32_t grant;

	if (try_enter(predicted_ns, now_ns, &grant) != PASSED)
		now_ns = enter_slowly(predicted_ns, now_ns);
	count_submission(predicted_ns, now_ns);
	/* A grant without lease is not renewed, so that the end of the arbiter is noticed here. */
	if (now_ns - __atomic_load_n(&polled_ns, __ATOMIC_RELAXED) > POLL_GAP_NS) {
		__atomic_store_n(&polled_ns, now_ns, __ATOMIC_RELAXED);
		poll_at(now_ns);
	}
	return now_ns;
}

uint64_t gate_enter_unmeasured(uint64_t predicted_ns)
{
	uint64_t now_ns = gate_enter(predicted_ns);

	add(&unmeasured, 1);
	return now_ns;
}

uint64_t gate_pass(void)
{
	uint64_t now_ns = tenant_clock_ns();

	count_submission(0, now_ns);
	return now_ns;
}

/* Subtracts @n from a counter that may be too small. */
static void subtract(uint64_t *counter, uint64_t n)
{
	uint64_t old = __atomic_load_n(counter, __ATOMIC_RELAXED);

	while (!__atomic_compare_exchange_n(counter, &old, old > n ? old - n : 0, true,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		continue;
}

/* Removes finished submissions from the work in flight. Returns true if none is left. */
static bool remove_from_flight(uint64_t submissions, uint64_t predicted_ns, uint64_t now_ns)
{
	struct compute_page *page = link_page();
	uint64_t left_ns = __atomic_sub_fetch(&page->in_flight_ns, predicted_ns, __ATOMIC_SEQ_CST);
	bool empty = __atomic_sub_fetch(&page->in_flight, submissions, __ATOMIC_SEQ_CST) == 0;

	__atomic_store_n(&page->ends_ns, now_ns + left_ns, __ATOMIC_RELAXED);
	(void)__atomic_fetch_add(&completions, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&completion_waiters, __ATOMIC_SEQ_CST) > 0 && sandbox_allows_calls())
		(void)syscall(SYS_futex, &completions, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL,
			      0);
	return empty;
}

void gate_cancel(uint64_t predicted_ns, bool is_unmeasured)
{
	struct compute_page *page = link_page();

	(void)__atomic_fetch_sub(&page->submissions, 1, __ATOMIC_RELAXED);
	if (is_unmeasured)
		subtract(&unmeasured, 1);
	(void)remove_from_flight(1, predicted_ns, tenant_clock_ns());
}

void gate_finish(const struct gate_work *work)
{
	struct compute_page *page = link_page();
	uint64_t now_ns = tenant_clock_ns();
	uint32_t flags;
	bool empty;

	add(&page->units, work->units);
	add(&page->busy_ns, work->busy_ns);
	add(&page->sampled, work->sampled);
	if (work->unmeasured > 0)
		subtract(&unmeasured, work->unmeasured);
	__atomic_store_n(&page->finish_ns, now_ns, __ATOMIC_RELAXED);
	empty = remove_from_flight(work->submissions, work->predicted_ns, now_ns);
	flags = __atomic_load_n(&link_slot()->flags, __ATOMIC_RELAXED);
	if ((flags & COMPUTE_RING_FINISH) || (empty && (flags & COMPUTE_RING_IDLE)))
		link_ring();
}

uint32_t gate_turn(void)
{
	return __atomic_load_n(&link_slot()->grant, __ATOMIC_RELAXED);
}

void gate_count_build(uint64_t ns)
{
	add(&link_page()->build_ns, ns);
}

void gate_count_whole(void)
{
	add(&link_page()->kernels_whole, 1);
}

bool gate_take_memory(uint64_t bytes)
{
	struct compute_page *page = link_page();
	const struct compute_slot *slot;
	uint64_t max, used = __atomic_load_n(&page->memory_bytes, __ATOMIC_RELAXED);

	poll_link();
	slot = link_slot();
	max = __atomic_load_n(&slot->memory_max_bytes, __ATOMIC_RELAXED);
	do {
		if (bytes > max || used > max - bytes) {
			add(&page->memory_refused, 1);
			return false;
		}
	} while (!__atomic_compare_exchange_n(&page->memory_bytes, &used, used + bytes, true,
					      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	if (__atomic_load_n(&slot->flags, __ATOMIC_RELAXED) & COMPUTE_RING_MEMORY)
		link_ring();
	return true;
}

void gate_free_memory(uint64_t bytes)
{
	/* A forked child has taken less than it frees. */
	subtract(&link_page()->memory_bytes, bytes);
	if (__atomic_load_n(&link_slot()->flags, __ATOMIC_RELAXED) & COMPUTE_RING_MEMORY)
		link_ring();
}
