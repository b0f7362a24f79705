/* SPDX-License-Identifier: MIT */
/*
 * Memory of this process, and its return to the system. free() returns memory only from the end of
 * the heap: one small block that was allocated last keeps all free memory below it. After a flood
 * of requests, that is most of the memory of the daemon.
 */
#ifndef GOVER_D_UTIL_MEMORY_H
#define GOVER_D_UTIL_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* Sizes in bytes. The kernel counts pages in batches, so they can be wrong by some 100 KiB. */
struct memory_size {
	uint64_t resident; /* all pages in memory */
	uint64_t own;	   /* the part that belongs neither to a file nor to shared memory */
};

/* All zero at the start. */
struct memory {
	uint64_t next_check_ns; /* monotonic time; 0: no check yet */
	/* own pages minus allocated memory, when the process had the least free memory */
	int64_t base_bytes;
};

/* Returns 0 or a negative errno. */
int memory_read(struct memory_size *ret_size);

/*
 * Returns true if so much of the memory in @own_bytes is not allocated any more that a trim is
 * worth its time. The first call sets the base.
 */
bool memory_must_trim(struct memory *memory, uint64_t own_bytes, uint64_t allocated_bytes);

/* Returns free memory to the system if there is much of it. */
void memory_check(struct memory *memory, uint64_t now_mono_ns);
/*
 * Calls memory_check() every 10 s. A check takes about
 * 0.2 ms for 1,000 free blocks, and a trim about 1 ms for 20 MB, so call this function after the
 * work of a tick.
 */
static inline void memory_tick(struct memory *memory, uint64_t now_mono_ns)
{
	if (now_mono_ns >= memory->next_check_ns)
		memory_check(memory, now_mono_ns);
}

#endif
