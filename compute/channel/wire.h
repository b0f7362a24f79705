/* SPDX-License-Identifier: MIT */
/*
 * The shared memory between compute clients (programs under libgover-cl.so) and gover-arbiter.
 *
 * Tenant page: one for each client, a memfd that the client creates, seals against a change of its
 * size and passes with its hello (message.h). Only the client writes it. The arbiter maps it
 * read-only and trusts nothing in it: it reads the page through reading.h.
 *
 * Beacon: one for each arbiter, a memfd that only the arbiter can write (F_SEAL_FUTURE_WRITE). It
 * contains the stamp of the arbiter and one slot for each client. A client maps it read-only.
 *
 * Order of a submission: the client adds its prediction to in_flight_ns of its page, then loads the
 * grant word of its slot. The arbiter stores the grant word, then loads in_flight_ns. All four
 * accesses are sequentially consistent, so that after a revocation the arbiter reads every
 * submission that the client still makes with the revoked grant. A client that finds its grant
 * revoked subtracts its prediction again and waits.
 *
 * All times are CLOCK_MONOTONIC of the host, in nanoseconds. Every field is accessed with atomic
 * loads and stores. Numbers have the byte order of the host.
 *
 * Sources: gOver (IEEE TC 2022) section 5; FairGV (TPDS 2017) sections 3.2 and 3.3; VMCG (TPDS
 * 2018), the virtual channel of a tenant.
 */
#ifndef COMPUTE_CHANNEL_WIRE_H
#define COMPUTE_CHANNEL_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define COMPUTE_PAGE_MAGIC     0x43766f67u /* "govC" in little-endian order */
#define COMPUTE_BEACON_MAGIC   0x42766f67u /* "govB" */
#define COMPUTE_WIRE_VERSION   1u
#define COMPUTE_PAGE_BYTES     4096u
#define COMPUTE_SLOTS	       256u
#define COMPUTE_BEACON_BYTES   20480u
#define COMPUTE_DEFAULT_SOCKET "/run/gover/compute.sock"

/* The arbiter renews its stamp at least this often while a client is connected. */
#define COMPUTE_STAMP_PERIOD_NS 25000000ull
/* A client whose arbiter has an older stamp submits without a grant. */
#define COMPUTE_STAMP_OLD_NS 100000000ull

/* The request word: bit 0 and a generation that increases with each change. */
#define COMPUTE_REQUEST_WANTS 1u /* a thread of the client waits for a turn */
#define COMPUTE_REQUEST_STEP  2u /* adds 1 to the generation */

struct compute_page {
	uint32_t magic;
	uint32_t version;
	uint32_t page_bytes; /* COMPUTE_PAGE_BYTES */
	uint32_t reserved;

	_Alignas(64) uint32_t request;
	uint32_t waiters; /* number of threads that wait for a turn */
	/*
	 * Time of the last change of @request. A thread that waits for a turn renews it at least
	 * every 25 ms, as a sign of life.
	 */
	uint64_t request_ns;

	/*
	 * Work that is submitted and not finished. A client may never report the end of its work
	 * (it was stopped, or the work depends on what the program does next), so that the arbiter
	 * must not wait for it without a limit.
	 */
	_Alignas(64) uint64_t in_flight_ns; /* sum of the predicted device times */
	uint64_t in_flight;		    /* number of submissions */
	uint64_t submissions;		    /* since the page was created */
	uint64_t submit_ns;		    /* time of the last submission; 0: none */
	uint64_t ends_ns; /* predicted end of the work in flight; meaningless if there is none */

	/* Finished work, since the page was created. */
	_Alignas(64) uint64_t units; /* finished work units (kernel launches of the application) */
	/*
	 * Device time of finished work: from start to end on the device, without compilation and
	 * without waiting. Times of overlapping submissions count once.
	 */
	uint64_t busy_ns;
	uint64_t sampled;   /* submissions whose device time was measured, not estimated */
	uint64_t finish_ns; /* time at which the last completion was noticed; 0: none */

	_Alignas(64) uint64_t memory_bytes; /* device memory allocated now */
	uint64_t memory_refused;	    /* allocations refused because of the limit */
	uint64_t build_ns;		    /* time spent in program builds; not device time */
	uint64_t kernels_whole;		    /* kernels that cannot be sliced */
};

/* The grant word: a state in the low two bits and a sequence that increases with each change. */
enum compute_grant {
	COMPUTE_GRANT_NONE = 0, /* no turn: wait (FUTEX_WAIT, without FUTEX_PRIVATE_FLAG) */
	COMPUTE_GRANT_TURN = 1, /* submit until lease_end_ns */
	/* submit without limit or lease; the arbiter only accounts (COMPUTE_STAMP_OLD_NS holds) */
	COMPUTE_GRANT_FREE = 2,
};

#define COMPUTE_GRANT_MASK 3u
#define COMPUTE_GRANT_STEP 4u /* adds 1 to the sequence */

/* Flags of a slot: when the client rings the bell besides when it starts to wait for a turn. */
#define COMPUTE_RING_IDLE   1u /* when its last work in flight finishes */
#define COMPUTE_RING_FINISH 2u /* whenever a completion is noticed */
#define COMPUTE_RING_MEMORY 4u /* when memory_bytes changes */

/*
 * What the arbiter grants to one client. To grant, the arbiter writes the other fields first and
 * @grant last, then wakes all waiters of @grant (FUTEX_WAKE, shared). To revoke, it changes @grant
 * only. It extends a lease that has not ended by a later lease_end_ns without a change of @grant. A
 * lease that has ended needs a new grant: a client that waits because of it waits for @grant.
 */
struct compute_slot {
	_Alignas(64) uint32_t grant;
	uint32_t flags;
	uint64_t lease_end_ns; /* from this time on the turn is lost; UINT64_MAX: no end */
	uint64_t slice_ns;     /* planned length of the turn, for the client's sampling */
	/*
	 * The client submits only while its in_flight_ns, without the new submission, is below this
	 * bound. So one submission always passes if nothing is in flight. 0: no bound.
	 */
	uint64_t in_flight_max_ns;
	/*
	 * Memory that this client may have allocated in total: the limit of its tenant without the
	 * use of the other clients of the tenant. UINT64_MAX: no limit.
	 */
	uint64_t memory_max_bytes;
	/*
	 * The client submits only while its in_flight is below this number. 0: no bound. Several
	 * threads at once can exceed this bound and the next by one submission each.
	 */
	uint64_t in_flight_max;
	/*
	 * The turn is used up when the client's submissions have this number: it waits for a change
	 * of @grant. 0: no such end. A later end comes with a new grant word.
	 */
	uint64_t submissions_end;
	/*
	 * The same for device time: the turn is used up when busy_ns and in_flight_ns of the client
	 * have this sum. 0: no such end.
	 */
	uint64_t busy_end_ns;
};

struct compute_beacon {
	uint32_t magic;
	uint32_t version;
	uint32_t slots; /* COMPUTE_SLOTS */
	uint32_t reserved;
	_Alignas(64) uint64_t stamp_ns; /* last turn of the arbiter's loop; 0: the arbiter ended */
	struct compute_slot slot[COMPUTE_SLOTS];
};

_Static_assert(sizeof(struct compute_page) == 320 && sizeof(struct compute_page) <= 4096 &&
		       offsetof(struct compute_page, request) == 64 &&
		       offsetof(struct compute_page, in_flight_ns) == 128 &&
		       offsetof(struct compute_page, units) == 192 &&
		       offsetof(struct compute_page, memory_bytes) == 256,
	       "all programs use the same layout of the tenant page");
_Static_assert(sizeof(struct compute_slot) == 64 && offsetof(struct compute_beacon, slot) == 128 &&
		       sizeof(struct compute_beacon) == 128 + 64 * COMPUTE_SLOTS &&
		       sizeof(struct compute_beacon) <= COMPUTE_BEACON_BYTES,
	       "all programs use the same layout of the beacon");

#endif
