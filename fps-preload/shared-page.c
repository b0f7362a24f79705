/* SPDX-License-Identifier: MIT */
/*
 * The page of counters. Made at the process's first frame, handed over by link.c, written by every
 * thread that presents, each into a lane that it claims at its own first frame.
 *
 * A forked child inherits memory, the shared page too, and must never write its parent's counts.
 * What says which page is ours therefore lives in memory that the kernel wipes in a child, however
 * it was made (MADV_WIPEONFORK): the child finds no page and makes one. A page is never unmapped,
 * so that a thread in the middle of a frame always has somewhere to write, and an address never
 * names two pages.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fps-preload/owned-fd.h"
#include "fps-preload/connection.h"
#include "fps-preload/shared-page.h"
#include "fps-preload/debug.h"
#include "fps-preload/wire.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u
#endif

/* A 32-bit machine would align it to 4 bytes, where it cannot be read and written at once. */
typedef uint64_t atomic_u64 __attribute__((aligned(8)));

/* Wiped in a forked child: all zero there, as in a new process. */
struct local {
	struct fps_page *page;
	atomic_u64 tend_ns; /* when to look at the link next; 0: it has not been given the page */
	bool tending;	    /* some thread is looking after it */
	bool given_up;	    /* no page can be had */
};

static struct local *local; /* mapped at the first frame, constant after it */

/* The lane of this thread, good as long as @page is the process's page. */
static __thread __attribute__((tls_model("initial-exec"))) struct {
	struct fps_page *page;
	struct fps_lane *lane;
	uint64_t last_ns;
	bool shared;
} self;

/* By fork() itself: at once, so that a child that never presents holds no connection of its
 * parent's. */
static void after_fork(void)
{
	*local = (struct local){0};
	connection_reset();
}

static struct local *local_get(void)
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
		return known; /* another thread's, or NULL where the kernel cannot wipe */
	}
	(void)pthread_atfork(/* prepare= */ NULL, /* parent= */ NULL, after_fork);
	return fresh;
}

static int memfd_make(struct owned_fd *ret_memfd)
{
	unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create("gover-fps", flags | MFD_NOEXEC_SEAL), r;

	if (fd < 0 && errno == EINVAL) /* before Linux 6.3 */
		fd = memfd_create("gover-fps", flags);
	r = owned_fd_take(fd, ret_memfd);
	if (r < 0)
		return r;
	if (ftruncate(ret_memfd->fd, FPS_WIRE_PAGE_SIZE) < 0 ||
	    fcntl(ret_memfd->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
		r = -errno;
		owned_fd_close(ret_memfd);
	}
	return r;
}

/* Makes a page and puts it in the place of @old, unless another thread was faster. Returns whether
 * there is a page now. */
static bool page_make(struct local *l, struct fps_page *old, uint64_t now_ns)
{
	struct owned_fd memfd;
	struct fps_page *page;
	int r = memfd_make(&memfd);

	if (r < 0) {
		debug_log("no page: %s", strerrordesc_np(-r));
		return false;
	}
	page = mmap(NULL, FPS_WIRE_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, memfd.fd, 0);
	if (page == MAP_FAILED) {
		debug_log("no page: %s", strerrordesc_np(errno));
		owned_fd_close(&memfd);
		return false;
	}
	page->magic = FPS_WIRE_MAGIC;
	page->version = FPS_WIRE_VERSION;
	page->first_ns = now_ns;
	if (!__atomic_compare_exchange_n(&l->page, &old, page, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED)) {
		(void)munmap(page, FPS_WIRE_PAGE_SIZE);
		owned_fd_close(&memfd);
		return true;
	}
	connection_start(page, &memfd);
	__atomic_store_n(&l->tend_ns, now_ns, __ATOMIC_RELEASE);
	return true;
}

static void link_look(struct local *l, uint64_t now_ns)
{
	uint64_t wait_ns;

	if (__atomic_exchange_n(&l->tending, true, __ATOMIC_ACQUIRE))
		return;
	wait_ns = connection_poll();
	if (wait_ns == 0 && page_make(l, l->page, now_ns))
		wait_ns = connection_poll();
	if (wait_ns == 0)
		wait_ns = UINT64_MAX - now_ns; /* no new page to be had: never again */
	__atomic_store_n(&l->tend_ns, now_ns + wait_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&l->tending, false, __ATOMIC_RELEASE);
}

/* Finds the calling thread a lane in the process's page. */
static bool lane_claim(uint64_t now_ns)
{
	struct local *l = local_get();
	struct fps_page *page;
	uint32_t lane;

	if (!l)
		return false;
	page = __atomic_load_n(&l->page, __ATOMIC_ACQUIRE);
	if (!page) {
		if (__atomic_load_n(&l->given_up, __ATOMIC_RELAXED) ||
		    !page_make(l, NULL, now_ns)) {
			__atomic_store_n(&l->given_up, true, __ATOMIC_RELAXED);
			return false;
		}
		page = __atomic_load_n(&l->page, __ATOMIC_ACQUIRE);
	}
	lane = __atomic_fetch_add(&page->lanes, 1, __ATOMIC_RELAXED);
	self.shared = lane >= FPS_WIRE_LANES - 1;
	self.lane = &page->lane[self.shared ? FPS_WIRE_LANES - 1 : lane];
	self.last_ns = 0;
	self.page = page;
	return true;
}

/* The two things that need the system; whatever they do, the host program does not notice. */
static bool look_after(bool lane, uint64_t now_ns)
{
	int saved_errno = errno, cancel_state;
	bool ok = true;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	if (lane)
		ok = lane_claim(now_ns);
	else
		link_look(local, now_ns);
	(void)pthread_setcancelstate(cancel_state, NULL);
	errno = saved_errno;
	return ok;
}

static inline void add64(uint64_t *of_lane, uint64_t more, bool shared)
{
	atomic_u64 *counter = (atomic_u64 *)of_lane; /* lanes begin at cache lines */

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

void shared_page_count_gpu_time(uint64_t gpu_ns)
{
	const struct local *l = __atomic_load_n(&local, __ATOMIC_ACQUIRE);

	if (!l || !self.page || self.page != __atomic_load_n(&l->page, __ATOMIC_ACQUIRE))
		return; /* a frame that another process presented */
	add64(&self.lane->gpu_time_ns, gpu_ns, self.shared);
	add64(&self.lane->gpu_frames, 1, self.shared);
}

/* At exit() and no other end. Whoever is at the link now keeps it. */
__attribute__((destructor)) static void page_end(void)
{
	struct local *l = __atomic_load_n(&local, __ATOMIC_ACQUIRE);

	if (l && __atomic_load_n(&l->page, __ATOMIC_ACQUIRE) &&
	    !__atomic_exchange_n(&l->tending, true, __ATOMIC_ACQUIRE))
		connection_finish();
}

void shared_page_count_frames(uint64_t now_ns, unsigned int frames)
{
	const struct local *l = __atomic_load_n(&local, __ATOMIC_ACQUIRE);
	struct fps_lane *lane;
	uint64_t tend_ns;

	if (!l || !self.page || self.page != __atomic_load_n(&l->page, __ATOMIC_ACQUIRE)) {
		if (!look_after(/* lane= */ true, now_ns))
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
	tend_ns = __atomic_load_n(&l->tend_ns, __ATOMIC_ACQUIRE);
	if (tend_ns && now_ns >= tend_ns)
		(void)look_after(/* lane= */ false, now_ns);
}
