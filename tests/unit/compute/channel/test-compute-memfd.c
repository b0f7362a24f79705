/* SPDX-License-Identifier: MIT */
/* Shared memory between clients and the arbiter is sealed, and foreign memory is not mapped. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "compute/channel/memfd.h"
#include "tests/unit/unit.h"

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
