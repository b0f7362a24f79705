/* SPDX-License-Identifier: MIT */
/*
 * The connection of this process to the arbiter, and the shared memory that it brings: the page of
 * the process, its slot, and the bell. Without a connection the slot is a local one that grants
 * everything, so that a caller treats both cases alike.
 *
 * No thread is started. link_poll() does the work when a submission or another call of the program
 * finds it due. It never waits for the arbiter. Page and slot are never unmapped, so that a thread
 * may use them at any time. A forked child is a new client with a new page. The settings name the
 * socket of the arbiter.
 */
#ifndef COMPUTE_TENANT_LINK_H
#define COMPUTE_TENANT_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include "compute/channel/wire.h"

/* The settings of the compute layer in this program, read once from the environment. */
struct tenant_setup {
	bool off; /* the layer does nothing */
	bool debug;
	bool slice;		  /* long launches of kernels are cut into parts */
	unsigned int slice_parts; /* parts of every launch; 0: see compute/cl/slice.h */
	struct sockaddr_un arbiter;
};

#define TENANT_SLICE_PARTS_MAX 10000

/*
 * Reads GOVER_CL (unix:PATH or off; unset: unix:COMPUTE_DEFAULT_SOCKET), GOVER_CL_DEBUG (1: print
 * debug lines) and GOVER_CL_SLICE (0: cut no launch; 2 to TENANT_SLICE_PARTS_MAX: cut every launch
 * into about this many parts; any other value is like 0). Any other value of GOVER_CL turns the
 * layer off, as does a setuid, setgid or otherwise privileged program.
 */
void tenant_setup_read(struct tenant_setup *ret_setup);

/* --- the connection --- */

/* Time between two attempts to connect. */
#define LINK_RETRY_NS 1000000000ull

/*
 * Called once, before all others. Returns false if the layer must do nothing in this program: see
 * base/preload/sandbox.h.
 */
bool link_setup(const struct tenant_setup *setup);

/* The page of this process: never NULL. */
struct compute_page *link_page(void);

/* The slot of this process: never NULL. */
const struct compute_slot *link_slot(void);

/* Returns true if the slot is that of an arbiter. */
bool link_is_up(void);

/* Returns the address of a word that is 1 while link_is_up(), and 0 otherwise. It never changes. */
const uint32_t *link_up_word(void);

/*
 * Connects, receives the welcome, or checks that the arbiter still runs, whichever is due at
 * @now_ns. If the arbiter has ended or its stamp is older than COMPUTE_STAMP_OLD_NS, the local slot
 * replaces its slot. Preserves errno. Only one thread polls at a time; for others, it does nothing.
 */
void link_poll(uint64_t now_ns);

/*
 * Waits at most @limit_ms for the welcome, if a hello was sent and not answered. Called before the
 * first submission and the first allocation, so that a short program is under control from its
 * first kernel.
 */
void link_wait_welcome(int limit_ms);

/*
 * Gives up control for ever, without a system call: called if the calling thread must not make any
 * (base/preload/sandbox.h). Submissions then pass as without an arbiter.
 */
void link_leave(void);

/* Rings the bell of the arbiter, if there is one. A system call. Preserves errno. */
void link_ring(void);

#endif
