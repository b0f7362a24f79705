/* SPDX-License-Identifier: MIT */
/*
 * The shared page of counters. The first frame of a process creates the page, and connection.c
 * passes it to the daemon. Each thread that presents claims a lane (counters of its own) in the
 * page: the first thread at its first frame, each further thread when its first present begins.
 *
 * A forked child inherits the shared page but must not write the counters of its parent. The
 * pointer to the page is therefore in memory that the kernel clears in every child
 * (MADV_WIPEONFORK): the child finds no page and creates its own. A page is never unmapped, because
 * another thread may still write to it, and because the address of a page identifies it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/preload/debug.h"
#include "base/preload/owned-fd.h"
#include "base/preload/sandbox.h"
#include "base/preload/sealed-memfd.h"
#include "fps-preload/connection.h"
#include "fps-preload/shared-page.h"
#include "fps-preload/wire.h"

/* Aligned to 8 bytes on 32-bit machines too, as atomic access requires. */
typedef uint64_t atomic_u64 __attribute__((aligned(8)));

/*
 * State of this process. The kernel clears it in a forked child, so that the child starts like a
 * new process.
 */
struct local {
	struct fps_page *page;
	/* time of the next connection_poll(); 0: the connection has not started */
	atomic_u64 poll_ns;
	bool polling; /* a thread is in connection_poll() */
	bool failed;  /* no page could be created */
};

static struct local *local; /* mapped at the first frame, constant afterwards */

/* The lane that this thread writes. Valid only while @page is the page of the process. */
static __thread __attribute__((tls_model("initial-exec"))) struct {
	struct fps_page *page;
	struct fps_lane *lane;
	uint64_t last_ns;
	uint32_t presents; /* present calls begun in @lane and not yet ended */
	bool shared;
} self;

/* Ends the present calls of a thread that exits. Valid if @has_exit_key is true. */
static pthread_key_t exit_key;
static bool has_exit_key;
static pthread_once_t exit_key_once = PTHREAD_ONCE_INIT;

/* Runs in a forked child: closes the connection of the parent, even if the child never presents. */
static void after_fork(void)
{
	*local = (struct local){0};
	if (sandbox_allows_calls())
		connection_reset();
}

static struct local *get_local(void)
{
	struct local *known = __atomic_load_n(&local, __ATOMIC_ACQUIRE), *fresh;
	size_t size = (size_t)sysconf(_SC_PAGESIZE);

	if (known)
		return known;
	fresh = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fresh == MAP_FAILED)
		return NULL;
	if (madvise(fresh, size, MADV_WIPEONFORK) < 0 ||
	    !__atomic_compare_exchange_n(&local, &known, fresh, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE)) {
		(void)munmap(fresh, size);
		/* NULL if madvise() failed, otherwise the mapping of a faster thread */
		return known;
	}
	(void)pthread_atfork(/* prepare= */ NULL, /* parent= */ NULL, after_fork);
	return fresh;
}

static int create_memfd(struct owned_fd *ret_memfd)
{
	int r = owned_fd_take(sealed_memfd_create("gover-fps", FPS_WIRE_PAGE_SIZE), ret_memfd);

	if (r < 0)
		return r;
	r = sealed_memfd_seal(ret_memfd->fd, /* seals= */ 0);
	if (r < 0)
		owned_fd_close(ret_memfd);
	return r;
}

/*
 * Creates a page and replaces @old with it, unless another thread has already replaced @old.
 * Returns false if no page could be created.
 */
static bool create_page(struct local *l, struct fps_page *old, uint64_t now_ns)
{
	struct owned_fd memfd;
	struct fps_page *page;
	int r = create_memfd(&memfd);

	if (r < 0) {
		debug_log("cannot create the shared page: %s", strerrordesc_np(-r));
		return false;
	}
	page = mmap(NULL, FPS_WIRE_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, memfd.fd, 0);
	if (page == MAP_FAILED) {
		debug_log("cannot map the shared page: %s", strerrordesc_np(errno));
		owned_fd_close(&memfd);
		return false;
	}
	page->magic = FPS_WIRE_MAGIC;
	page->version = FPS_WIRE_VERSION;
	page->features = FPS_PAGE_PRESENTS;
	page->first_ns = now_ns;
	if (!__atomic_compare_exchange_n(&l->page, &old, page, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED)) {
		(void)munmap(page, FPS_WIRE_PAGE_SIZE);
		owned_fd_close(&memfd);
		return true;
	}
	connection_start(page, &memfd);
	__atomic_store_n(&l->poll_ns, now_ns, __ATOMIC_RELEASE);
	return true;
}

static void poll_connection(struct local *l, uint64_t now_ns)
{
	uint64_t wait_ns;

	if (__atomic_exchange_n(&l->polling, true, __ATOMIC_ACQUIRE))
		return;
	wait_ns = connection_poll();
	if (wait_ns == 0 && create_page(l, l->page, now_ns))
		wait_ns = connection_poll();
	/* No new page could be created: never call connection_poll() again. */
	if (wait_ns == 0)
		wait_ns = UINT64_MAX - now_ns;
	__atomic_store_n(&l->poll_ns, now_ns + wait_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&l->polling, false, __ATOMIC_RELEASE);
}

static void thread_exits(void *lane)
{
	(void)lane;
	shared_page_end_present();
}

static void create_exit_key(void)
{
	has_exit_key = pthread_key_create(&exit_key, thread_exits) == 0;
}

/* Claims a lane in @page for the calling thread. Preserves errno. */
static __attribute__((noinline)) void join_page(struct fps_page *page)
{
	uint32_t lane = __atomic_fetch_add(&page->lanes, 1, __ATOMIC_RELAXED);
	int saved_errno = errno;

	self.shared = lane >= FPS_WIRE_LANES - 1;
	self.lane = &page->lane[self.shared ? FPS_WIRE_LANES - 1 : lane];
	self.last_ns = 0;
	self.presents = 0;
	self.page = page;
	(void)pthread_once(&exit_key_once, create_exit_key);
	if (has_exit_key)
		(void)pthread_setspecific(exit_key, self.lane);
	errno = saved_errno;
}

/* Claims a lane in the page for the calling thread. Creates the page if needed. */
static bool claim_lane(uint64_t now_ns)
{
	struct local *l = get_local();
	struct fps_page *page;

	if (!l)
		return false;
	page = __atomic_load_n(&l->page, __ATOMIC_ACQUIRE);
	if (!page) {
		if (__atomic_load_n(&l->failed, __ATOMIC_RELAXED) ||
		    !create_page(l, NULL, now_ns)) {
			__atomic_store_n(&l->failed, true, __ATOMIC_RELAXED);
			return false;
		}
		page = __atomic_load_n(&l->page, __ATOMIC_ACQUIRE);
	}
	join_page(page);
	return true;
}

/*
 * Claims a lane if @lane is true, otherwise polls the connection. Preserves errno and prevents
 * thread cancellation, so that the host program does not notice the system calls. Under a filter
 * of system calls it returns false: frames then count only in a page that the daemon has already.
 */
static bool claim_lane_or_poll(bool lane, uint64_t now_ns)
{
	int saved_errno = errno, cancel_state;
	bool ok = true;

	if (!sandbox_allows_calls())
		return false;
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	if (lane)
		ok = claim_lane(now_ns);
	else
		poll_connection(local, now_ns);
	(void)pthread_setcancelstate(cancel_state, NULL);
	errno = saved_errno;
	return ok;
}

static inline void add64(uint64_t *of_lane, uint64_t more, bool shared)
{
	/* The cast is safe, because a lane is aligned to a cache line. */
	atomic_u64 *counter = (atomic_u64 *)of_lane;

	if (shared)
		__atomic_fetch_add(counter, more, __ATOMIC_RELAXED);
	else
		__atomic_store_n(counter, *counter + more, __ATOMIC_RELAXED);
}

static inline void add32(uint32_t *counter, uint32_t more, bool shared)
{
	if (shared)
		__atomic_fetch_add(counter, more, __ATOMIC_RELAXED);
	else
		__atomic_store_n(counter, *counter + more, __ATOMIC_RELAXED);
}

/* Returns false in a forked child: its lane is in the page of its parent. */
static inline bool has_lane(const struct local *l)
{
	return l && self.page && self.page == __atomic_load_n(&l->page, __ATOMIC_ACQUIRE);
}

void shared_page_begin_present(void)
{
	const struct local *l = __atomic_load_n(&local, __ATOMIC_ACQUIRE);
	struct fps_page *page = l ? __atomic_load_n(&l->page, __ATOMIC_ACQUIRE) : NULL;

	if (!page)
		return;
	if (self.page != page)
		join_page(page);
	self.presents++;
	add32(&self.lane->presents_begun, 1, self.shared);
}

void shared_page_end_present(void)
{
	if (self.presents == 0)
		return;
	if (has_lane(__atomic_load_n(&local, __ATOMIC_ACQUIRE)))
		add32(&self.lane->presents_ended, self.presents, self.shared);
	self.presents = 0;
}

void shared_page_count_gpu_time(uint64_t gpu_ns)
{
	if (!has_lane(__atomic_load_n(&local, __ATOMIC_ACQUIRE)))
		return; /* the frame was presented in the parent, before fork() */
	add64(&self.lane->gpu_time_ns, gpu_ns, self.shared);
	add64(&self.lane->gpu_frames, 1, self.shared);
}

/*
 * Runs at exit() only. Does nothing if another thread is polling the connection. Prevents thread
 * cancellation, which would end the thread inside exit().
 */
__attribute__((destructor)) static void finish(void)
{
	struct local *l = __atomic_load_n(&local, __ATOMIC_ACQUIRE);
	int cancel_state;

	if (!l || !__atomic_load_n(&l->page, __ATOMIC_ACQUIRE) ||
	    __atomic_exchange_n(&l->polling, true, __ATOMIC_ACQUIRE) || !sandbox_allows_calls())
		return;
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	connection_finish();
	(void)pthread_setcancelstate(cancel_state, NULL);
}

void shared_page_count_frames(uint64_t now_ns, unsigned int frames)
{
	const struct local *l = __atomic_load_n(&local, __ATOMIC_ACQUIRE);
	struct fps_lane *lane;
	uint64_t poll_ns;

	if (!has_lane(l)) {
		if (!claim_lane_or_poll(/* lane= */ true, now_ns))
			return;
		l = local;
	}
	lane = self.lane;
	if (self.last_ns) {
		uint64_t gap = now_ns - self.last_ns;

		add32(&lane->frame_time[fps_wire_bucket(gap)], frames, self.shared);
		if (gap > __atomic_load_n(&lane->longest_gap_ns, __ATOMIC_RELAXED))
			__atomic_store_n(&lane->longest_gap_ns, gap, __ATOMIC_RELAXED);
	}
	self.last_ns = now_ns;
	__atomic_store_n(&lane->last_ns, now_ns, __ATOMIC_RELAXED);
	add64(&lane->frames, frames, self.shared);
	poll_ns = __atomic_load_n(&l->poll_ns, __ATOMIC_ACQUIRE);
	if (poll_ns && now_ns >= poll_ns)
		(void)claim_lane_or_poll(/* lane= */ false, now_ns);
}
