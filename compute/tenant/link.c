/* SPDX-License-Identifier: MIT */
/*
 * The connection to the arbiter. The beacon of an arbiter is mapped over that of the one before, at
 * an address that never changes: a thread that still uses the old slot reads a slot of the new
 * beacon for one submission, and never an unmapped address.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/preload/debug.h"
#include "base/preload/owned-fd.h"
#include "base/preload/sandbox.h"
#include "compute/channel/memfd.h"
#include "compute/channel/message.h"
#include "compute/channel/wire.h"
#include "compute/tenant/clock.h"
#include "compute/tenant/link.h"
#include "compute/tenant/lock.h"

/* --- the settings: invalid values turn the layer off --- */

/* GOVER_CL_SLICE */
static void read_slice(struct tenant_setup *setup)
{
	const char *text = getenv("GOVER_CL_SLICE");
	unsigned int parts = 0;

	setup->slice = !text;
	for (; text && *text >= '0' && *text <= '9' && parts <= TENANT_SLICE_PARTS_MAX; text++)
		parts = parts * 10 + (unsigned int)(*text - '0');
	if (!text || *text != '\0' || parts < 2 || parts > TENANT_SLICE_PARTS_MAX)
		return;
	setup->slice = true;
	setup->slice_parts = parts;
}

void tenant_setup_read(struct tenant_setup *ret_setup)
{
	const char *where = getenv("GOVER_CL"), *debug = getenv("GOVER_CL_DEBUG");
	size_t length;

	*ret_setup = (struct tenant_setup){.off = true, .arbiter.sun_family = AF_UNIX};
	if (getauxval(AT_SECURE))
		return;
	ret_setup->debug = debug && strcmp(debug, "1") == 0;
	read_slice(ret_setup);
	if (!where)
		where = "unix:" COMPUTE_DEFAULT_SOCKET;
	if (strncmp(where, "unix:", 5) != 0)
		return;
	length = strlen(where + 5);
	if (length == 0 || length >= sizeof(ret_setup->arbiter.sun_path))
		return;
	memcpy(ret_setup->arbiter.sun_path, where + 5, length + 1);
	ret_setup->off = false;
}

/* --- the connection --- */

/* A stamp of this age is late: the arbiter may have ended. */
#define SUSPECT_NS (3 * COMPUTE_STAMP_PERIOD_NS / 2)

enum state { DOWN, GREETED, UP };

/* Grants everything. Its grant word never changes. */
static const struct compute_slot free_slot = {.grant = COMPUTE_GRANT_FREE,
					      .memory_max_bytes = UINT64_MAX};
/* The page until a memfd is created. */
static struct compute_page spare_page;

/* Written once. */
static struct sockaddr_un address;
static bool off = true;

/* Read by every thread. */
static struct compute_page *page = &spare_page;
static const struct compute_slot *slot = &free_slot;
static uint32_t up;

/* Used only by the thread that polls. */
static bool polling;
static enum state state;
static uint64_t next_ns, greeted_ns;
static struct owned_fd sock = {.fd = -1}, page_fd = {.fd = -1};
static void *beacon_at; /* address of every beacon; NULL: none was mapped yet */

/* Any thread rings. The lock is held for one system call. */
static bool bell_locked;
static struct owned_fd bell = {.fd = -1};

struct compute_page *link_page(void)
{
	return __atomic_load_n(&page, __ATOMIC_ACQUIRE);
}

const struct compute_slot *link_slot(void)
{
	return __atomic_load_n(&slot, __ATOMIC_ACQUIRE);
}

bool link_is_up(void)
{
	return __atomic_load_n(&up, __ATOMIC_ACQUIRE);
}

const uint32_t *link_up_word(void)
{
	return &up;
}

/* Only the thread that polls, or the only thread of a forked child, calls this. */
static void set_slot(const struct compute_slot *of_arbiter)
{
	__atomic_store_n(&slot, of_arbiter ? of_arbiter : &free_slot, __ATOMIC_RELEASE);
	__atomic_store_n(&up, of_arbiter != NULL, __ATOMIC_RELEASE);
}

/* Runs in a forked child, which has one thread. */
static void after_fork(void)
{
	set_slot(NULL);
	memset(&spare_page, 0, sizeof(spare_page));
	__atomic_store_n(&page, &spare_page, __ATOMIC_RELEASE);
	if (sandbox_allows_calls()) {
		owned_fd_close(&sock);
		owned_fd_close(&page_fd);
		owned_fd_close(&bell);
	}
	/* The child maps the beacon of its own connection over the inherited one. */
	state = DOWN;
	next_ns = 0;
	polling = bell_locked = false;
}

static const struct compute_beacon *beacon(void)
{
	return beacon_at;
}

static void drop(const char *why, uint64_t now_ns)
{
	if (state != DOWN)
		debug_log("%s: %s; running without control", address.sun_path, why);
	set_slot(NULL);
	owned_fd_close(&sock);
	tenant_lock(&bell_locked);
	owned_fd_close(&bell);
	tenant_unlock(&bell_locked);
	state = DOWN;
	next_ns = now_ns + LINK_RETRY_NS;
}

/* Creates the page of this process, unless it exists, and copies the counted memory. */
static int create_page(void)
{
	struct compute_page *fresh;
	int fd, r;

	if (owned_fd_is_valid(&page_fd))
		return 0;
	if (link_page() != &spare_page)
		return -EBADF; /* the program has closed the memfd: no arbiter can get the page */
	r = compute_memfd_create_page(&fd, &fresh);
	if (r < 0)
		return r;
	r = owned_fd_take(fd, &page_fd);
	if (r < 0) {
		compute_memfd_unmap_page(fresh);
		return r;
	}
	fresh->memory_bytes = __atomic_load_n(&spare_page.memory_bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&page, fresh, __ATOMIC_RELEASE);
	return 0;
}

bool link_setup(const struct tenant_setup *setup)
{
	address = setup->arbiter;
	off = setup->off;
	debug_enable(setup->debug ? "gover-cl" : NULL);
	if (off || !sandbox_start(debug_log_end)) {
		off = true;
		return false;
	}
	(void)pthread_atfork(/* prepare= */ NULL, /* parent= */ NULL, after_fork);
	/* Before other threads count in the spare page. If it fails, link_poll() tries again. */
	(void)create_page();
	return true;
}

static int greet(void)
{
	struct compute_hello hello;
	int r = create_page();

	if (r < 0)
		return r;
	r = owned_fd_take(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), &sock);
	if (r < 0)
		return r;
	if (connect(sock.fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	compute_message_make_hello(program_invocation_short_name, (uint32_t)getpid(), &hello);
	return compute_transfer_send(sock.fd, &hello, sizeof(hello), &page_fd.fd,
				     COMPUTE_HELLO_FDS);
}

/* Maps the beacon at its address. Takes no descriptor. */
static int map_beacon(int fd)
{
	const struct compute_beacon *checked;
	int r = compute_memfd_map_beacon(fd, &checked);

	if (r < 0)
		return r;
	if (!beacon_at) {
		beacon_at = (void *)(uintptr_t)checked;
		return 0;
	}
	compute_memfd_unmap_beacon(checked);
	if (mmap(beacon_at, COMPUTE_BEACON_BYTES, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) ==
	    MAP_FAILED)
		return -errno;
	return 0;
}

/* Receives the welcome. Returns 0, -EAGAIN if there is none yet, or another negative errno. */
static int receive_welcome(void)
{
	int fds[COMPUTE_TRANSFER_FDS_MAX], r;
	struct compute_welcome welcome;
	char bytes[sizeof(welcome) + 1];
	unsigned int n_fds = 0;
	int n = compute_transfer_receive(sock.fd, bytes, sizeof(bytes), fds, &n_fds);

	if (n <= 0)
		return n == 0 ? -ECONNRESET : n;
	r = compute_message_parse_welcome(bytes, (size_t)n, n_fds, &welcome);
	if (r == 0)
		r = map_beacon(fds[0]);
	if (r == 0) {
		tenant_lock(&bell_locked);
		r = owned_fd_take(fds[1], &bell);
		tenant_unlock(&bell_locked);
		fds[1] = -1; /* owned_fd_take() consumes it */
	}
	for (unsigned int i = 0; i < n_fds; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	if (r < 0)
		return r;
	set_slot(&beacon()->slot[welcome.slot]);
	state = UP;
	debug_log("%s: under control in slot %u", address.sun_path, welcome.slot);
	return 0;
}

void link_leave(void)
{
	__atomic_store_n(&off, true, __ATOMIC_RELAXED);
	set_slot(NULL);
}

static bool is_closed(void)
{
	char byte;
	ssize_t n;

	if (!owned_fd_is_valid(&sock))
		return true;
	n = recv(sock.fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

static void check_arbiter(uint64_t now_ns)
{
	uint64_t stamp_ns = __atomic_load_n(&beacon()->stamp_ns, __ATOMIC_RELAXED);
	/* The clock is read before the stamp, which can be newer. */
	uint64_t age_ns = stamp_ns < now_ns ? now_ns - stamp_ns : 0;

	if (age_ns <= SUSPECT_NS)
		return; /* no system call while the stamp is fresh */
	if (!sandbox_allows_calls())
		link_leave();
	else if (age_ns > COMPUTE_STAMP_OLD_NS)
		drop("the arbiter does not run", now_ns);
	else if (is_closed())
		drop("the arbiter has ended", now_ns);
}

static void poll_once(uint64_t now_ns)
{
	int r;

	if (state == DOWN && now_ns < next_ns)
		return;
	if (state != UP && !sandbox_allows_calls()) {
		link_leave();
		return;
	}
	switch (state) {
	case DOWN:
		r = greet();
		if (r < 0) {
			debug_log("%s: %s", address.sun_path, strerrordesc_np(-r));
			drop("", now_ns);
			return;
		}
		state = GREETED;
		greeted_ns = now_ns;
		break;
	case GREETED:
		r = receive_welcome();
		if (r < 0 && r != -EAGAIN && r != -EINTR)
			drop(strerrordesc_np(-r), now_ns);
		else if (r < 0 && now_ns - greeted_ns > LINK_RETRY_NS)
			drop("no welcome", now_ns);
		break;
	case UP:
		check_arbiter(now_ns);
		break;
	}
}

/* Runs @work as the only thread, without cancellation, and preserves errno. */
static void run_alone(void (*work)(uint64_t), uint64_t argument)
{
	int saved_errno = errno, cancel_state;

	if (__atomic_load_n(&off, __ATOMIC_RELAXED) ||
	    __atomic_exchange_n(&polling, true, __ATOMIC_ACQUIRE))
		return;
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	work(argument);
	(void)pthread_setcancelstate(cancel_state, NULL);
	__atomic_store_n(&polling, false, __ATOMIC_RELEASE);
	errno = saved_errno;
}

void link_poll(uint64_t now_ns)
{
	run_alone(poll_once, now_ns);
}

static void wait_welcome(uint64_t limit_ms)
{
	struct pollfd fd = {.fd = sock.fd, .events = POLLIN};

	if (state != GREETED || !sandbox_allows_calls())
		return;
	(void)poll(&fd, 1, (int)limit_ms);
	poll_once(tenant_clock_ns());
}

void link_wait_welcome(int limit_ms)
{
	run_alone(wait_welcome, (uint64_t)limit_ms);
}

void link_ring(void)
{
	uint64_t one = 1;
	int saved_errno = errno;

	if (!sandbox_allows_calls())
		return;
	tenant_lock(&bell_locked);
	/* EAGAIN: the bell has rung and the arbiter has not read it for long */
	if (owned_fd_is_valid(&bell) && write(bell.fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		debug_log("cannot ring the bell: %s", strerrordesc_np(errno));
	tenant_unlock(&bell_locked);
	errno = saved_errno;
}
