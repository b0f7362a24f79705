/* SPDX-License-Identifier: MIT */
/*
 * The device double replaces a GPU in tests, because test machines have none. This is the device as
 * data: one non-preemptive queue in submission order, memory, faults, and the exact use by each
 * client and tenant. A GPU without preemption processes the requests of all programs like this
 * (FairGV section 3.3).
 *
 * Pure: no clock and no I/O. Each function takes the time, and first moves the state to that time.
 * A time before the last one counts as the last one.
 *
 * A launch is a reservation [start_ns, end_ns) that is made when it is submitted: it starts at the
 * end of the launch before it. Therefore no process needs to act for the device to go on. A launch
 * that has started always ends. A queued launch of a client that leaves disappears, and the later
 * launches start earlier.
 *
 * The state contains no pointers, so that it can be copied and shared by processes.
 */
#ifndef TESTS_DOUBLE_DEVICE_DEVICE_H
#define TESTS_DOUBLE_DEVICE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#define DEVICE_CLIENTS	    64
#define DEVICE_TENANTS	    32
#define DEVICE_QUEUE	    1024 /* launches on the device */
#define DEVICE_CLIENT_QUEUE 128	 /* launches of one client on the device */
#define DEVICE_LABEL	    64
#define DEVICE_LAUNCH_NS    1000000000000ULL /* the longest launch */

/* Conditions that the caller handles. */
enum {
	DEVICE_E_FULL = 1, /* no room in the queue now */
	DEVICE_E_LOST,	   /* the device is lost */
	DEVICE_E_MEMORY,   /* the allocation exceeds the free memory */
	DEVICE_E_FAULT,	   /* an injected fault */
};

struct device_launch {
	uint64_t seq; /* from 1, never used again */
	uint64_t submit_ns, ns, start_ns, end_ns;
	uint32_t client; /* DEVICE_CLIENTS: its number belongs to a later client now */
	uint32_t tenant;
};

/* Sums over finished launches. A launch that runs is counted by device_busy_ns(). */
struct device_tally {
	uint64_t busy_ns, launches;
	uint64_t longest_ns; /* of a launch */
	uint64_t dropped;    /* launches that disappeared */
	uint64_t bytes;	     /* allocated now */
	uint64_t peak_bytes;
	uint64_t refused; /* allocations that failed */
};

struct device_client {
	uint64_t joined_ns; /* 0: never used */
	uint64_t pid;
	uint64_t alive;
	uint64_t tenant; /* index of its tenant */
	uint64_t queued; /* launches on the device */
	struct device_tally tally;
};

struct device_tenant {
	char label[DEVICE_LABEL]; /* empty: not used */
	struct device_tally tally;
};

/* Faults that are injected. Each count includes the next call; 0: no fault. */
struct device_faults {
	uint64_t allocation;  /* the nth allocation fails */
	uint64_t enqueue;     /* the nth command fails */
	uint64_t slow_factor; /* the next slow_count launches last this many times longer */
	uint64_t slow_count;
	uint64_t lost; /* 1: the device is lost */
};

struct device_state {
	uint64_t clock_ns; /* time of the last change */
	uint64_t next_seq;
	uint64_t memory_bytes;	/* size of the memory */
	uint64_t joins, losses; /* clients ever, losses of the device ever */
	struct device_faults faults;
	struct device_tally total;
	struct device_client clients[DEVICE_CLIENTS + 1]; /* the last one is no client */
	struct device_tenant tenants[DEVICE_TENANTS];
	uint64_t queued; /* used elements of the queue */
	struct device_launch queue[DEVICE_QUEUE];
};

/* The bytes of @state that are used, which a copy needs. */
size_t device_state_size(const struct device_state *state);

void device_init(struct device_state *state, uint64_t memory_bytes);

/* Moves the state to @now_ns: finished launches leave the queue and are counted. */
void device_settle(struct device_state *state, uint64_t now_ns);

/*
 * Makes @client (< DEVICE_CLIENTS) a client of the tenant @label. The queued launches and
 * the memory of an earlier client with this number are dropped. All tenants after the last free one
 * share the label "other".
 */
void device_join(struct device_state *state, unsigned client, uint64_t pid, const char *label,
		 uint64_t now_ns);

/* Drops the queued launches and the memory of @client, which has ended. Its tally remains. */
void device_leave(struct device_state *state, unsigned client, uint64_t now_ns);

/*
 * Submits a launch of @ns (bounded by DEVICE_LAUNCH_NS). Returns 0 and its reservation,
 * DEVICE_E_FULL or DEVICE_E_LOST.
 */
int device_submit(struct device_state *state, unsigned client, uint64_t ns, uint64_t now_ns,
		  struct device_launch *ret_launch);

/* Counts one command towards the injected fault. Returns 0, DEVICE_E_FAULT or DEVICE_E_LOST. */
int device_enqueue(struct device_state *state);

/* Returns 0, DEVICE_E_MEMORY, DEVICE_E_FAULT or DEVICE_E_LOST. */
int device_allocate(struct device_state *state, unsigned client, uint64_t bytes);
void device_free(struct device_state *state, unsigned client, uint64_t bytes);

/* Loses the device: the launch that runs ends now, and queued launches disappear. */
void device_lose(struct device_state *state, uint64_t now_ns);

/* Returns the launch @seq, or NULL if it has left the queue. */
const struct device_launch *device_find(const struct device_state *state, uint64_t seq);

/* The busy time at the time of @state, including the part of a launch that runs. */
uint64_t device_busy_ns(const struct device_state *state);
uint64_t device_client_busy_ns(const struct device_state *state, unsigned client);
uint64_t device_tenant_busy_ns(const struct device_state *state, unsigned tenant);

#endif
