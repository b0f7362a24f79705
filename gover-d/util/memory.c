/* SPDX-License-Identifier: MIT */
/* Reads the size of this process from /proc, and trims the heap. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "gover-d/util/memory.h"

#define CHECK_NS   (10 * NS_PER_S)
#define FREE_BYTES ((int64_t)4 << 20) /* worth a trim */

int memory_read(struct memory_size *ret_size)
{
	CLEANUP_CLOSE int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), resident, shared;
	char text[128];
	int r;

	if (fd < 0)
		return -errno;
	r = file_pread_text(fd, text, sizeof(text));
	if (r < 0)
		return r;
	if (sscanf(text, "%*u %" SCNu64 " %" SCNu64, &resident, &shared) != 2 || shared > resident)
		return -EIO;
	*ret_size = (struct memory_size){
		.resident = resident * page,
		.own = (resident - shared) * page,
	};
	return 0;
}

static uint64_t count_allocated(void)
{
	struct mallinfo2 info = mallinfo2(); /* of all threads */

	return info.uordblks + info.hblkhd;
}

bool memory_must_trim(struct memory *memory, uint64_t own_bytes, uint64_t allocated_bytes)
{
	/* Negative if allocated pages were never touched. */
	int64_t free_bytes = (int64_t)own_bytes - (int64_t)allocated_bytes;

	if (memory->next_check_ns == 0 || free_bytes < memory->base_bytes)
		memory->base_bytes = free_bytes;
	return free_bytes - memory->base_bytes > FREE_BYTES;
}

void memory_check(struct memory *memory, uint64_t now_mono_ns)
{
	struct memory_size size;

	if (memory_read(&size) < 0)
		return;
	if (memory_must_trim(memory, size.own, count_allocated())) {
		(void)malloc_trim(0);
		/* What remains cannot be returned. It does not cause another trim. */
		if (memory_read(&size) == 0)
			memory->base_bytes = (int64_t)size.own - (int64_t)count_allocated();
	}
	memory->next_check_ns = now_mono_ns + CHECK_NS;
}
