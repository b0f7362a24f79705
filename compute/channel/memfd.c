/* SPDX-License-Identifier: MIT */
/* Shared memory of wire.h. A memfd without a seal against shrinking could end the process that maps
 * it (SIGBUS), so only sealed ones are mapped. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/preload/sealed-memfd.h"
#include "compute/channel/memfd.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define SIZE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

/* Returns the negative errno of a failure. With errno alone, gcc assumes that it may be 0. */
static int failure(void)
{
	return errno > 0 ? -errno : -EIO;
}

/* The first words of both kinds of memory: magic, version, and the number of bytes or slots. */
#define HEAD_WORDS 3
static const uint32_t page_head[] = {COMPUTE_PAGE_MAGIC, COMPUTE_WIRE_VERSION, COMPUTE_PAGE_BYTES};
static const uint32_t beacon_head[] = {COMPUTE_BEACON_MAGIC, COMPUTE_WIRE_VERSION, COMPUTE_SLOTS};

static int create(const char *name, size_t bytes, int seals, const uint32_t head[HEAD_WORDS],
		  int *ret_fd, void **ret_memory)
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
	memcpy(memory, head, HEAD_WORDS * sizeof(*head));
	*ret_fd = fd;
	*ret_memory = memory;
	return 0;
}

int compute_memfd_create_page(int *ret_fd, struct compute_page **ret_page)
{
	void *memory;
	int r = create("gover-compute", COMPUTE_PAGE_BYTES, 0, page_head, ret_fd, &memory);

	if (r == 0)
		*ret_page = memory;
	return r;
}

int compute_memfd_create_beacon(int *ret_fd, struct compute_beacon **ret_beacon)
{
	void *memory;
	int r = create("gover-beacon", COMPUTE_BEACON_BYTES, F_SEAL_FUTURE_WRITE, beacon_head,
		       ret_fd, &memory);

	if (r < 0)
		return r;
	*ret_beacon = memory;
	for (unsigned int i = 0; i < COMPUTE_SLOTS; i++)
		(*ret_beacon)->slot[i].memory_max_bytes = UINT64_MAX;
	return 0;
}

static void unmap(const void *memory, size_t bytes)
{
	if (memory)
		(void)munmap((void *)(uintptr_t)memory, bytes);
}

static int map(int fd, size_t bytes, const uint32_t head[HEAD_WORDS], const void **ret_memory)
{
	int seals = fcntl(fd, F_GET_SEALS);
	const uint32_t *word;
	struct stat st;

	if (seals < 0 || (seals & SIZE_SEALS) != SIZE_SEALS)
		return -EPERM;
	if (fstat(fd, &st) < 0)
		return failure();
	if (st.st_size != (off_t)bytes)
		return -EPROTO;
	word = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (word == MAP_FAILED)
		return failure();
	for (int i = 0; i < HEAD_WORDS; i++)
		if (__atomic_load_n(&word[i], __ATOMIC_RELAXED) != head[i]) {
			unmap(word, bytes);
			return -EPROTO;
		}
	*ret_memory = word;
	return 0;
}

int compute_memfd_map_page(int fd, const struct compute_page **ret_page)
{
	const void *memory;
	int r = map(fd, COMPUTE_PAGE_BYTES, page_head, &memory);

	if (r == 0)
		*ret_page = memory;
	return r;
}

int compute_memfd_map_beacon(int fd, const struct compute_beacon **ret_beacon)
{
	const void *memory;
	int r = map(fd, COMPUTE_BEACON_BYTES, beacon_head, &memory);

	if (r == 0)
		*ret_beacon = memory;
	return r;
}

void compute_memfd_unmap_page(const struct compute_page *page)
{
	unmap(page, COMPUTE_PAGE_BYTES);
}

void compute_memfd_unmap_beacon(const struct compute_beacon *beacon)
{
	unmap(beacon, COMPUTE_BEACON_BYTES);
}
