/* SPDX-License-Identifier: MIT */
/*
 * A small arbiter for tests of compute/tenant and compute/cl: it accepts clients and renews its
 * stamp in a thread. The test grants and revokes turns itself.
 */
#ifndef TESTS_UNIT_COMPUTE_FAKE_ARBITER_H
#define TESTS_UNIT_COMPUTE_FAKE_ARBITER_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "compute/channel/memfd.h"
#include "compute/channel/message.h"
#include "compute/channel/reading.h"
#include "compute/tenant/clock.h"

#define FAKE_CLIENTS_MAX 16
/* The stamp is that far in the future, so that a busy machine does not look like a dead arbiter. */
#define FAKE_LEAD_NS 1000000000u

struct fake_client {
	int fd; /* -1: none */
	const struct compute_page *page;
};

struct fake_arbiter {
	char path[108];
	int listener, beacon_fd, bell;
	struct compute_beacon *beacon;
	struct fake_client clients[FAKE_CLIENTS_MAX];
	unsigned int connections; /* so far */
	uint32_t begin_grant;	  /* state of the slot of a new client */
	bool stopped;		  /* the stamp is not renewed, and no client is accepted */
	bool ended;
	/* called before the page of a client that has ended is unmapped; may be NULL */
	void (*on_close)(const struct fake_client *client, unsigned int slot);
	pthread_t thread;
};

static inline uint64_t fake_now_ns(void)
{
	return tenant_clock_ns();
}

static inline void fake_pause_ms(long ms)
{
	struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	(void)nanosleep(&ts, NULL);
}

/* Reads a counter of a page. */
static inline uint64_t of_page(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_SEQ_CST);
}

/* Changes the grant word of a slot, with a lease of @lease_ns (0: without end) for a turn. */
static inline void fake_arbiter_grant(struct fake_arbiter *a, unsigned int slot,
				      enum compute_grant grant, uint64_t lease_ns)
{
	struct compute_slot *s = &a->beacon->slot[slot];
	uint32_t word = __atomic_load_n(&s->grant, __ATOMIC_RELAXED) & ~COMPUTE_GRANT_MASK;

	__atomic_store_n(&s->lease_end_ns, lease_ns ? fake_now_ns() + lease_ns : UINT64_MAX,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&s->grant, (word + COMPUTE_GRANT_STEP) | grant, __ATOMIC_SEQ_CST);
	(void)syscall(SYS_futex, &s->grant, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static inline void fake_arbiter_close(struct fake_arbiter *a, unsigned int i)
{
	struct fake_client *c = &a->clients[i];

	if (a->on_close && c->page)
		a->on_close(c, i);
	(void)close(c->fd);
	compute_memfd_unmap_page(c->page);
	__atomic_store_n(&c->page, NULL, __ATOMIC_RELEASE);
	c->fd = -1;
}

static inline void fake_arbiter_accept(struct fake_arbiter *a)
{
	int fd = accept4(a->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	for (int i = 0; fd >= 0 && i < FAKE_CLIENTS_MAX; i++) {
		if (a->clients[i].fd >= 0)
			continue;
		/* Only the descriptor: a test may read the page, which is NULL, at this time. */
		a->clients[i].fd = fd;
		__atomic_add_fetch(&a->connections, 1, __ATOMIC_SEQ_CST);
		return;
	}
	(void)close(fd);
}

static inline void fake_arbiter_read(struct fake_arbiter *a, unsigned int i)
{
	struct fake_client *c = &a->clients[i];
	int fds[COMPUTE_TRANSFER_FDS_MAX], back[COMPUTE_WELCOME_FDS] = {a->beacon_fd, a->bell};
	const struct compute_page *page = NULL;
	struct compute_welcome welcome;
	struct compute_hello hello;
	unsigned int n_fds = 0;
	int n = compute_transfer_receive(c->fd, &hello, sizeof(hello), fds, &n_fds);

	if (n == -EAGAIN)
		return;
	if (n <= 0 || compute_message_parse_hello(&hello, (size_t)n, n_fds, &hello) < 0 ||
	    compute_memfd_map_page(fds[0], &page) < 0) {
		fake_arbiter_close(a, i);
		return;
	}
	(void)close(fds[0]);
	fake_arbiter_grant(a, i, (enum compute_grant)a->begin_grant, 0);
	compute_message_make_welcome(i, a->beacon->slot[i].memory_max_bytes, &welcome);
	if (compute_transfer_send(c->fd, &welcome, sizeof(welcome), back, COMPUTE_WELCOME_FDS) <
	    0) {
		fake_arbiter_close(a, i);
		return;
	}
	__atomic_store_n(&c->page, page, __ATOMIC_RELEASE);
}

/* One turn of the loop: waits at most @limit_ms. */
static inline void fake_arbiter_turn(struct fake_arbiter *a, int limit_ms)
{
	struct pollfd fds[FAKE_CLIENTS_MAX + 1] = {{.fd = a->listener, .events = POLLIN}};

	for (int i = 0; i < FAKE_CLIENTS_MAX; i++)
		fds[i + 1] = (struct pollfd){.fd = a->clients[i].fd, .events = POLLIN};
	(void)poll(fds, FAKE_CLIENTS_MAX + 1, limit_ms);
	if (__atomic_load_n(&a->stopped, __ATOMIC_ACQUIRE))
		return;
	__atomic_store_n(&a->beacon->stamp_ns, fake_now_ns() + FAKE_LEAD_NS, __ATOMIC_RELAXED);
	if (fds[0].revents)
		fake_arbiter_accept(a);
	for (unsigned int i = 0; i < FAKE_CLIENTS_MAX; i++)
		if (fds[i + 1].revents && a->clients[i].fd == fds[i + 1].fd)
			fake_arbiter_read(a, i);
}

static inline void *fake_arbiter_run(void *userdata)
{
	struct fake_arbiter *a = userdata;

	while (!__atomic_load_n(&a->ended, __ATOMIC_ACQUIRE))
		fake_arbiter_turn(a, 5);
	return NULL;
}

/* Listens on @path. New clients get the state @grant. Returns 0 or a negative errno. */
static inline int fake_arbiter_open(struct fake_arbiter *a, const char *path,
				    enum compute_grant grant)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int r;

	*a = (struct fake_arbiter){.begin_grant = grant};
	for (int i = 0; i < FAKE_CLIENTS_MAX; i++)
		a->clients[i].fd = -1;
	(void)snprintf(a->path, sizeof(a->path), "%s", path);
	memcpy(address.sun_path, a->path, sizeof(a->path));
	r = compute_memfd_create_beacon(&a->beacon_fd, &a->beacon);
	if (r < 0)
		return r;
	a->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	a->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	(void)unlink(path);
	if (bind(a->listener, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(a->listener, 16) < 0)
		return -errno;
	a->beacon->stamp_ns = fake_now_ns() + FAKE_LEAD_NS;
	return 0;
}

static inline void fake_arbiter_start(struct fake_arbiter *a, const char *path,
				      enum compute_grant grant)
{
	if (fake_arbiter_open(a, path, grant) < 0 ||
	    pthread_create(&a->thread, NULL, fake_arbiter_run, a) != 0)
		abort();
}

/* Ends like a killed arbiter: all connections close. */
static inline void fake_arbiter_end(struct fake_arbiter *a)
{
	__atomic_store_n(&a->ended, true, __ATOMIC_RELEASE);
	(void)pthread_join(a->thread, NULL);
	for (unsigned int i = 0; i < FAKE_CLIENTS_MAX; i++)
		if (a->clients[i].fd >= 0)
			fake_arbiter_close(a, i);
	(void)close(a->listener);
	(void)close(a->bell);
	(void)close(a->beacon_fd);
	compute_memfd_unmap_beacon(a->beacon);
	(void)unlink(a->path);
}

/* Returns the page of a client that has got its welcome, or NULL. */
static inline const struct compute_page *fake_arbiter_page(const struct fake_arbiter *a,
							   unsigned int slot)
{
	return __atomic_load_n(&a->clients[slot].page, __ATOMIC_ACQUIRE);
}

/* Returns the number of times that the bell has rung since the last call. */
static inline uint64_t fake_arbiter_take_rings(struct fake_arbiter *a)
{
	uint64_t n = 0;

	return read(a->bell, &n, sizeof(n)) == sizeof(n) ? n : 0;
}

#endif
