/* SPDX-License-Identifier: MIT */
/* Shared memory of wire.h. A memfd without a seal against shrinking could end the process that maps
 * it (SIGBUS), so only sealed ones are mapped. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compute/channel/memfd.h"
#include "fps-preload/sealed-memfd.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define SIZE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

/* Returns the negative errno of a failure. With errno alone, gcc assumes that it may be 0. */
static int failure(void)
{
	return errno > 0 ? -errno : -EIO;
}

static int create(const char *name, size_t bytes, int seals, int *ret_fd, void **ret_memory)
{
	int fd = sealed_memfd_create(name, bytes), r;
	void *memory;

	if (fd < 0)
		return failure();
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	/* The seals come last: F_SEAL_FUTURE_WRITE keeps existing mappings writable. */
	r = memory == MAP_FAILED ? failure() : sealed_memfd_seal(fd, seals);
	if (r < 0) {
		if (memory != MAP_FAILED)
			(void)munmap(memory, bytes);
		(void)close(fd);
		return r;
	}
	*ret_fd = fd;
	*ret_memory = memory;
	return 0;
}

int compute_memfd_create_page(int *ret_fd, struct compute_page **ret_page)
{
	void *memory;
	int r = create("gover-compute", COMPUTE_PAGE_BYTES, 0, ret_fd, &memory);

	if (r < 0)
		return r;
	*ret_page = memory;
	(*ret_page)->magic = COMPUTE_PAGE_MAGIC;
	(*ret_page)->version = COMPUTE_WIRE_VERSION;
	(*ret_page)->page_bytes = COMPUTE_PAGE_BYTES;
	return 0;
}

int compute_memfd_create_beacon(int *ret_fd, struct compute_beacon **ret_beacon)
{
	void *memory;
	int r = create("gover-beacon", COMPUTE_BEACON_BYTES, F_SEAL_FUTURE_WRITE, ret_fd, &memory);

	if (r < 0)
		return r;
	*ret_beacon = memory;
	(*ret_beacon)->magic = COMPUTE_BEACON_MAGIC;
	(*ret_beacon)->version = COMPUTE_WIRE_VERSION;
	(*ret_beacon)->slots = COMPUTE_SLOTS;
	for (unsigned int i = 0; i < COMPUTE_SLOTS; i++)
		(*ret_beacon)->slot[i].memory_max_bytes = UINT64_MAX;
	return 0;
}

/* Returns NULL and sets errno on failure. */
static const void *map(int fd, size_t bytes)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	void *memory;

	if (seals < 0 || (seals & SIZE_SEALS) != SIZE_SEALS) {
		errno = EPERM;
		return NULL;
	}
	if (fstat(fd, &st) < 0)
		return NULL;
	if (st.st_size != (off_t)bytes) {
		errno = EPROTO;
		return NULL;
	}
	memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

int compute_memfd_map_page(int fd, const struct compute_page **ret_page)
{
	const struct compute_page *page = map(fd, COMPUTE_PAGE_BYTES);

	if (!page)
		return failure();
	if (__atomic_load_n(&page->magic, __ATOMIC_RELAXED) != COMPUTE_PAGE_MAGIC ||
	    __atomic_load_n(&page->version, __ATOMIC_RELAXED) != COMPUTE_WIRE_VERSION ||
	    __atomic_load_n(&page->page_bytes, __ATOMIC_RELAXED) != COMPUTE_PAGE_BYTES) {
		compute_memfd_unmap_page(page);
		return -EPROTO;
	}
	*ret_page = page;
	return 0;
}

int compute_memfd_map_beacon(int fd, const struct compute_beacon **ret_beacon)
{
	const struct compute_beacon *beacon = map(fd, COMPUTE_BEACON_BYTES);

	if (!beacon)
		return failure();
	if (__atomic_load_n(&beacon->magic, __ATOMIC_RELAXED) != COMPUTE_BEACON_MAGIC ||
	    __atomic_load_n(&beacon->version, __ATOMIC_RELAXED) != COMPUTE_WIRE_VERSION ||
	    __atomic_load_n(&beacon->slots, __ATOMIC_RELAXED) != COMPUTE_SLOTS) {
		compute_memfd_unmap_beacon(beacon);
		return -EPROTO;
	}
	*ret_beacon = beacon;
	return 0;
}

static void unmap(const void *memory, size_t bytes)
{
	if (memory)
		(void)munmap((void *)(uintptr_t)memory, bytes);
}

void compute_memfd_unmap_page(const struct compute_page *page)
{
	unmap(page, COMPUTE_PAGE_BYTES);
}

void compute_memfd_unmap_beacon(const struct compute_beacon *beacon)
{
	unmap(beacon, COMPUTE_BEACON_BYTES);
}
