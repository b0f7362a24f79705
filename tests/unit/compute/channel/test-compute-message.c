/* SPDX-License-Identifier: MIT */
/*
 * Messages between a client and the arbiter: hello and welcome are parsed strictly, and packets
 * keep their descriptors. A page in shared memory yields bounded values, whatever the client
 * writes.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/futex.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "compute/channel/memfd.h"
#include "compute/channel/message.h"
#include "compute/channel/reading.h"
#include "compute/channel/wire.h"
#include "tests/unit/truncated-fds.h"
#include "tests/unit/unit.h"

TEST(a_hello_is_parsed)
{
	static const struct {
		const char *name, *parsed;
	} rows[] = {
		{"clpeak", "clpeak"},
		{"", ""},
		{"tab\there\xc3", "tab?here?"},
		{"a name with more than thirty-one characters", "a name with more than thirty-on"},
	};
	struct compute_hello made, hello;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		compute_message_make_hello(rows[i].name, 42, &made);
		assert_int_equal(compute_message_parse_hello(&made, sizeof(made), 1, &hello), 0);
		assert_string_equal(hello.name, rows[i].parsed);
		assert_int_equal(hello.pid, 42);
	}
}

TEST(a_hello_with_any_changed_field_is_rejected)
{
	struct compute_hello good, bad, hello;
	char longer[sizeof(good) + 1] = {0};

	compute_message_make_hello("x", 1, &good);
	memcpy(longer, &good, sizeof(good));
	assert_int_equal(compute_message_parse_hello(longer, sizeof(longer), 1, &hello), -EPROTO);
	assert_int_equal(compute_message_parse_hello(&good, sizeof(good) - 1, 1, &hello), -EPROTO);
	assert_int_equal(compute_message_parse_hello(&good, 0, 1, &hello), -EPROTO);
	assert_int_equal(compute_message_parse_hello(&good, sizeof(good), 0, &hello), -EPROTO);
	assert_int_equal(compute_message_parse_hello(&good, sizeof(good), 2, &hello), -EPROTO);
	for (size_t at = 0; at < sizeof(good); at++) {
		if (at >= offsetof(struct compute_hello, pid) &&
		    at <= offsetof(struct compute_hello, name))
			continue; /* any pid and any name of one character are allowed */
		bad = good;
		((char *)&bad)[at] ^= 1;
		assert_int_equal(compute_message_parse_hello(&bad, sizeof(bad), 1, &hello),
				 -EPROTO);
	}
	memset(bad.name, 'a', sizeof(bad.name)); /* without a NUL */
	assert_int_equal(compute_message_parse_hello(&bad, sizeof(bad), 1, &hello), -EPROTO);
}

TEST(a_welcome_is_parsed)
{
	static const struct {
		uint32_t slot;
		uint64_t memory;
		int result;
	} rows[] = {
		{0, 0, 0},
		{255, UINT64_MAX, 0},
		{256, 0, -EPROTO},
		{UINT32_MAX, 0, -EPROTO},
	};
	struct compute_welcome made, welcome = {0};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		compute_message_make_welcome(rows[i].slot, rows[i].memory, &made);
		assert_int_equal(compute_message_parse_welcome(&made, sizeof(made), 2, &welcome),
				 rows[i].result);
		if (rows[i].result == 0)
			assert_true(welcome.slot == rows[i].slot &&
				    welcome.memory_max_bytes == rows[i].memory);
	}
	compute_message_make_welcome(0, 0, &made);
	assert_int_equal(compute_message_parse_welcome(&made, sizeof(made), 1, &welcome), -EPROTO);
	assert_int_equal(compute_message_parse_welcome(&made, sizeof(made) - 1, 2, &welcome),
			 -EPROTO);
	made.reserved = 1;
	assert_int_equal(compute_message_parse_welcome(&made, sizeof(made), 2, &welcome), -EPROTO);
}

static void open_pair(int *ends)
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
}

static unsigned int count_fds(void)
{
	unsigned int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

TEST(a_packet_keeps_its_descriptors)
{
	int ends[2], pipes[2], got[COMPUTE_TRANSFER_FDS_MAX];
	unsigned int n_fds;
	char bytes[8];

	open_pair(ends);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(compute_transfer_receive(ends[1], bytes, 8, got, &n_fds), -EAGAIN);
	assert_int_equal(compute_transfer_send(ends[0], "abc", 3, pipes, 2), 0);
	assert_int_equal(compute_transfer_send(ends[0], "d", 1, NULL, 0), 0);
	assert_int_equal(compute_transfer_receive(ends[1], bytes, 8, got, &n_fds), 3);
	assert_int_equal(n_fds, 2);
	assert_true(fcntl(got[0], F_GETFD) & FD_CLOEXEC);
	assert_int_equal(write(got[1], "x", 1), 1);
	assert_int_equal(read(pipes[0], bytes, 8), 1);
	assert_int_equal(compute_transfer_receive(ends[1], bytes, 8, got + 2, &n_fds), 1);
	assert_int_equal(n_fds, 0);
	(void)close(ends[0]);
	assert_int_equal(compute_transfer_receive(ends[1], bytes, 8, got + 2, &n_fds), 0);
	assert_int_equal(compute_transfer_send(ends[1], "x", 1, NULL, 0), -EPIPE);
	for (int i = 0; i < 2; i++) {
		(void)close(got[i]);
		(void)close(pipes[i]);
	}
	(void)close(ends[1]);
}

TEST(a_packet_that_is_too_long_loses_its_descriptors)
{
	int ends[2], got[COMPUTE_TRANSFER_FDS_MAX];
	unsigned int n_fds, before;
	char bytes[2];

	open_pair(ends);
	before = count_fds();
	assert_int_equal(compute_transfer_send(ends[0], "abc", 3, ends, 2), 0);
	assert_int_equal(compute_transfer_receive(ends[1], bytes, 2, got, &n_fds), -EMSGSIZE);
	assert_int_equal(count_fds(), before);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

/* More descriptors than compute_transfer_send() allows. */
static void send_fds(int sock, int fd, unsigned int n)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(16 * sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = (char[]){"a"}, .iov_len = 1};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = CMSG_SPACE(n * sizeof(int))};
	struct cmsghdr *rights = CMSG_FIRSTHDR(&message);

	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(n * sizeof(int));
	for (unsigned int i = 0; i < n; i++)
		memcpy(CMSG_DATA(rights) + i * sizeof(int), &fd, sizeof(int));
	assert_int_equal(sendmsg(sock, &message, 0), 1);
}

TEST(too_many_descriptors_are_closed)
{
	int ends[2], got[COMPUTE_TRANSFER_FDS_MAX];
	unsigned int n_fds, before;
	char bytes[8];

	if (!truncated_fds_are_reported(12, COMPUTE_TRANSFER_FDS_MAX)) {
		print_message("# this system does not report lost descriptors\n");
		skip();
	}
	open_pair(ends);
	before = count_fds();
	send_fds(ends[0], ends[0], 12);
	assert_int_equal(compute_transfer_receive(ends[1], bytes, 8, got, &n_fds), -EMSGSIZE);
	assert_int_equal(count_fds(), before);
	assert_int_equal(compute_transfer_send(ends[0], "a", 1, got, 5), -EINVAL);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

/* Shared memory between clients and the arbiter is sealed, and foreign memory is not mapped. */

TEST(both_sides_see_the_same_memory)
{
	CLEANUP_CLOSE int page_fd = -1, beacon_fd = -1;
	struct compute_page *page = NULL;
	struct compute_beacon *beacon = NULL;
	const struct compute_page *page_there;
	const struct compute_beacon *beacon_there;

	assert_int_equal(compute_memfd_create_page(&page_fd, &page), 0);
	assert_int_equal(compute_memfd_create_beacon(&beacon_fd, &beacon), 0);
	assert_int_equal(compute_memfd_map_page(page_fd, &page_there), 0);
	assert_int_equal(compute_memfd_map_beacon(beacon_fd, &beacon_there), 0);
	page->units = 7;
	beacon->slot[255].lease_end_ns = 8;
	assert_int_equal(page_there->units, 7);
	assert_int_equal(beacon_there->slot[255].lease_end_ns, 8);
	assert_int_equal(beacon_there->slot[0].grant, COMPUTE_GRANT_NONE);
	assert_true(beacon_there->slot[0].memory_max_bytes == UINT64_MAX);
	compute_memfd_unmap_page(page_there);
	compute_memfd_unmap_page(page);
	compute_memfd_unmap_beacon(beacon_there);
	compute_memfd_unmap_beacon(beacon);
}

TEST(the_size_of_shared_memory_cannot_change)
{
	CLEANUP_CLOSE int page_fd = -1, beacon_fd = -1;
	struct compute_page *page = NULL;
	struct compute_beacon *beacon = NULL;

	assert_int_equal(compute_memfd_create_page(&page_fd, &page), 0);
	assert_int_equal(compute_memfd_create_beacon(&beacon_fd, &beacon), 0);
	assert_int_equal(ftruncate(page_fd, 0), -1);
	assert_int_equal(ftruncate(beacon_fd, 0), -1);
	assert_int_equal(ftruncate(page_fd, 1 << 20), -1);
	assert_int_equal(fcntl(page_fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	compute_memfd_unmap_page(page);
	compute_memfd_unmap_beacon(beacon);
}

TEST(a_client_cannot_write_the_beacon)
{
	CLEANUP_CLOSE int fd = -1;
	struct compute_beacon *beacon = NULL;
	const struct compute_beacon *there;

	assert_int_equal(compute_memfd_create_beacon(&fd, &beacon), 0);
	assert_ptr_equal(
		mmap(NULL, COMPUTE_BEACON_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
		MAP_FAILED);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(compute_memfd_map_beacon(fd, &there), 0);
	assert_int_equal(
		mprotect((void *)(uintptr_t)there, COMPUTE_BEACON_BYTES, PROT_READ | PROT_WRITE),
		-1);
	compute_memfd_unmap_beacon(there);
	compute_memfd_unmap_beacon(beacon);
}

static uint32_t *woken;

static void *wake(void *userdata)
{
	struct timespec pause = {.tv_nsec = 1000000};

	(void)userdata;
	while (!__atomic_load_n(woken, __ATOMIC_SEQ_CST)) {
		(void)nanosleep(&pause, NULL);
		if (syscall(SYS_futex, woken, FUTEX_WAKE, 1, NULL, NULL, 0) == 1)
			__atomic_store_n(woken, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

TEST(a_client_can_wait_on_its_read_only_grant_word)
{
	CLEANUP_CLOSE int fd = -1;
	struct timespec limit = {.tv_sec = 60};
	struct compute_beacon *beacon = NULL;
	const struct compute_beacon *there;
	pthread_t thread;

	assert_int_equal(compute_memfd_create_beacon(&fd, &beacon), 0);
	assert_int_equal(compute_memfd_map_beacon(fd, &there), 0);
	woken = &beacon->slot[3].grant;
	assert_int_equal(pthread_create(&thread, NULL, wake, NULL), 0);
	assert_int_equal(syscall(SYS_futex, &there->slot[3].grant, FUTEX_WAIT, 0, &limit, NULL, 0),
			 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	compute_memfd_unmap_beacon(there);
	compute_memfd_unmap_beacon(beacon);
}

static int memory_of(off_t bytes, int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, bytes), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

TEST(foreign_memory_is_not_mapped)
{
	static const struct {
		off_t bytes;
		int seals, page, beacon;
	} rows[] = {
		{COMPUTE_PAGE_BYTES, 0, -EPERM, -EPERM},
		{COMPUTE_PAGE_BYTES, F_SEAL_GROW, -EPERM, -EPERM},
		{COMPUTE_PAGE_BYTES, F_SEAL_SHRINK, -EPERM, -EPERM},
		{0, F_SEAL_GROW | F_SEAL_SHRINK, -EPROTO, -EPROTO},
		{100, F_SEAL_GROW | F_SEAL_SHRINK, -EPROTO, -EPROTO},
		{COMPUTE_PAGE_BYTES, F_SEAL_GROW | F_SEAL_SHRINK, -EPROTO, -EPROTO},
		{COMPUTE_BEACON_BYTES, F_SEAL_GROW | F_SEAL_SHRINK, -EPROTO, -EPROTO},
	};
	const struct compute_page *page;
	const struct compute_beacon *beacon;
	int pipes[2];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP_CLOSE int fd = memory_of(rows[i].bytes, rows[i].seals);

		assert_int_equal(compute_memfd_map_page(fd, &page), rows[i].page);
		assert_int_equal(compute_memfd_map_beacon(fd, &beacon), rows[i].beacon);
	}
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(compute_memfd_map_page(pipes[0], &page), -EPERM);
	assert_int_equal(compute_memfd_map_page(-1, &page), -EPERM);
	(void)close(pipes[0]);
	(void)close(pipes[1]);
}

TEST(memory_of_another_version_is_not_mapped)
{
	CLEANUP_CLOSE int page_fd = -1, beacon_fd = -1;
	const struct compute_page *page_there;
	const struct compute_beacon *beacon_there;
	struct compute_page *page = NULL;
	struct compute_beacon *beacon = NULL;

	assert_int_equal(compute_memfd_create_page(&page_fd, &page), 0);
	assert_int_equal(compute_memfd_create_beacon(&beacon_fd, &beacon), 0);
	for (size_t i = 0; i < 3; i++) {
		uint32_t *of_page[] = {&page->magic, &page->version, &page->page_bytes};
		uint32_t *of_beacon[] = {&beacon->magic, &beacon->version, &beacon->slots};

		++*of_page[i];
		++*of_beacon[i];
		assert_int_equal(compute_memfd_map_page(page_fd, &page_there), -EPROTO);
		assert_int_equal(compute_memfd_map_beacon(beacon_fd, &beacon_there), -EPROTO);
		--*of_page[i];
		--*of_beacon[i];
	}
	assert_int_equal(compute_memfd_map_page(page_fd, &page_there), 0);
	assert_int_equal(compute_memfd_map_beacon(beacon_fd, &beacon_there), 0);
	compute_memfd_unmap_page(page_there);
	compute_memfd_unmap_page(page);
	compute_memfd_unmap_beacon(beacon_there);
	compute_memfd_unmap_beacon(beacon);
}

/* --- The arbiter reads bounded values from a page, whatever the client writes --- */

#define BEGIN_NS (100 * NS_PER_S)

static struct compute_page page;
static struct compute_reading reading;

static int setup(void)
{
	memset(&page, 0, sizeof(page));
	compute_reading_begin(&reading, &page, BEGIN_NS);
	return 0;
}

FIXTURE(setup, NULL)

static void take(uint64_t after_ns)
{
	compute_reading_take(&reading, &page, BEGIN_NS + after_ns);
}

TEST(plausible_values_are_read)
{
	page = (struct compute_page){
		.request = 3,
		.request_ns = BEGIN_NS + 5,
		.in_flight_ns = 6,
		.in_flight = 2,
		.submissions = 7,
		.submit_ns = BEGIN_NS + 8,
		.ends_ns = BEGIN_NS + 2 * NS_PER_S,
		.units = 9,
		.busy_ns = 10,
		.sampled = 4,
		.finish_ns = BEGIN_NS + 11,
		.memory_bytes = 12,
		.memory_refused = 13,
		.build_ns = 14,
		.kernels_whole = 15,
	};
	take(NS_PER_S);
	assert_true(reading.wants && reading.in_flight);
	assert_true(reading.wants_ns == BEGIN_NS + 5);
	assert_true(reading.in_flight_ns == 6);
	assert_true(reading.submissions == 7 && reading.submit_ns == BEGIN_NS + 8);
	assert_true(reading.ends_ns == BEGIN_NS + 2 * NS_PER_S);
	assert_true(reading.units == 9 && reading.busy_ns == 10 && reading.sampled == 4);
	assert_true(reading.finish_ns == BEGIN_NS + 11);
	assert_true(reading.memory_bytes == 12 && reading.memory_refused == 13);
	assert_true(reading.build_ns == 14 && reading.kernels_whole == 15);
	page.request = 4;
	page.in_flight = page.in_flight_ns = 0;
	take(3 * NS_PER_S);
	assert_false(reading.wants || reading.in_flight);
	assert_true(reading.ends_ns == BEGIN_NS + 3 * NS_PER_S);
}

TEST(work_before_the_connection_does_not_count)
{
	page.units = 1000;
	page.busy_ns = NS_PER_S;
	compute_reading_begin(&reading, &page, BEGIN_NS);
	page.units = 1001;
	take(1000);
	assert_int_equal(reading.units, 1);
	assert_int_equal(reading.busy_ns, 0);
}

TEST(no_more_device_time_is_read_than_has_passed)
{
	page.busy_ns = NS_PER_S;
	take(NS_PER_S);
	assert_true(reading.busy_ns == NS_PER_S);
	page.busy_ns = 3 * NS_PER_S;
	take(2 * NS_PER_S);
	assert_true(reading.busy_ns == 2 * NS_PER_S);
}

TEST(a_total_never_decreases)
{
	page.units = 50;
	page.busy_ns = 1000;
	take(NS_PER_S);
	page.units = 10;
	page.busy_ns = 0;
	take(2 * NS_PER_S);
	assert_int_equal(reading.units, 50);
	assert_int_equal(reading.busy_ns, 1000);
	page.units = 11;
	page.busy_ns = 1;
	take(3 * NS_PER_S);
	assert_int_equal(reading.units, 51);
	assert_int_equal(reading.busy_ns, 1001);
}

TEST(a_rate_of_units_is_bounded)
{
	page.units = page.submissions = page.sampled = UINT64_MAX;
	take(1000000);
	assert_int_equal(reading.units, 10010);
	assert_int_equal(reading.submissions, 10010);
	assert_int_equal(reading.sampled, 10010);
}

TEST(absurd_state_is_bounded)
{
	uint64_t now_ns = BEGIN_NS + NS_PER_S;

	memset(&page, 0xff, sizeof(page));
	take(NS_PER_S);
	assert_true(reading.wants_ns == now_ns && reading.submit_ns == now_ns &&
		    reading.finish_ns == now_ns);
	assert_true(reading.in_flight_ns == COMPUTE_IN_FLIGHT_MAX_NS);
	assert_true(reading.ends_ns == now_ns + COMPUTE_IN_FLIGHT_MAX_NS);
	assert_true(reading.memory_bytes == COMPUTE_MEMORY_MAX_BYTES);
}
