/* SPDX-License-Identifier: MIT */
/*
 * One compute device: its tenants, their clients (processes), and the beacon. Reads what the
 * clients write in their pages, lets compute/arbiter decide, and writes grants into the beacon.
 * Owns the beacon, the tenants and the pages. Uses no socket and no clock: connections and times
 * are parameters. Not thread-safe.
 */
#ifndef COMPUTE_SERVER_ACCELERATOR_H
#define COMPUTE_SERVER_ACCELERATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "compute/arbiter/arbiter.h"
#include "compute/channel/control.h"
#include "compute/channel/reading.h"
#include "compute/channel/wire.h"

#define ACCELERATOR_TENANTS_MAX 1024u /* with tenant 0 */
/* Slots that one tenant can have. So one tenant cannot take all slots of the beacon. */
#define ACCELERATOR_CLIENTS_MAX (COMPUTE_SLOTS / 4)
/*
 * A turn ends this long before its work: until the next tenant has submitted, the device works on
 * what is left. About the time from a grant to the first submission of a thread that was waiting.
 */
#define ACCELERATOR_HANDOVER_NS 100000u
/*
 * Work without any sign of its end for this long, and for as long as it was predicted to take,
 * counts as finished. The program may have submitted it so that it depends on the next submission.
 */
#define ACCELERATOR_STUCK_NS 1000000000u

struct accelerator_tenant {
	struct arbiter_tenant turn;	 /* first: accelerator_tenant_with() */
	struct accelerator_tenant *next; /* in order of the indices */
	uint32_t index;
	uint32_t clients;
	char id[COMPUTE_ID_MAX];
	uint64_t memory_max_bytes;
	uint64_t memory_bytes; /* of all its clients, as of the last reading */
	/* totals since it was added; the others are in @turn */
	uint64_t granted_ns;
	/* Charged in advance at the end of a turn, for work that was about to finish. */
	uint64_t advance_ns;
	uint64_t build_ns, submissions, memory_refused, kernels_whole;
	/* of the present step */
	bool changed;	/* a page of its clients has changed */
	bool submitted; /* a client has submitted */
};

struct accelerator_client {
	struct accelerator_client *next;
	struct accelerator_tenant *tenant;
	const struct compute_page *page;
	struct compute_reading reading;
	uint64_t progress_ns; /* time of the last submission or end of work */
	bool stuck;	      /* its work in flight counts as finished: ACCELERATOR_STUCK_NS */
	int schedstat_fd;
	uint64_t excused_ns; /* build time and run delay when the present gap began */
	char group[COMPUTE_ID_MAX];
	unsigned int slot;
	uint32_t word;	  /* the grant word */
	uint64_t turn_id; /* turn that @word grants */
	uint64_t begin;	  /* submissions of the page when that turn was granted */
};

struct accelerator {
	struct arbiter arbiter;
	char name[COMPUTE_TEXT_MAX];
	uint64_t begin_ns;
	uint64_t stepped_ns; /* time of the last step */
	struct compute_beacon *beacon;
	int beacon_fd;
	struct accelerator_tenant *tenants; /* the first is tenant 0 */
	uint32_t n_tenants;
	uint32_t next_index;
	struct accelerator_client *clients;
	uint32_t n_clients;
	struct accelerator_client *slots[COMPUTE_SLOTS];
};

#define EACH_TENANT(tenant, accelerator)                                         \
	for (struct accelerator_tenant *tenant = (accelerator)->tenants; tenant; \
	     tenant = tenant->next)
#define EACH_CLIENT(client, accelerator)                                         \
	for (struct accelerator_client *client = (accelerator)->clients; client; \
	     client = client->next)

static inline struct accelerator_tenant *accelerator_tenant_with(struct arbiter_tenant *turn)
{
	return (struct accelerator_tenant *)turn;
}

struct accelerator_options {
	const char *name;			     /* of the device, for replies */
	const struct arbiter_discipline *discipline; /* NULL: the default */
	uint64_t slice_ns;			     /* 0: the default */
};

/* Returns 0 or a negative errno. The caller frees the accelerator. */
int accelerator_new(const struct accelerator_options *options, uint64_t now_ns,
		    struct accelerator **ret_accelerator);
/* Ends all connections. Clients that still use the beacon then submit without control. */
void accelerator_free(struct accelerator *accelerator);

/*
 * Adds a client whose process is in control group @group ("/a/b"). It belongs to the tenant with
 * the longest id that is @group or a parent of it; otherwise to tenant 0. Takes @page and
 * @schedstat_fd (/proc/PID/schedstat; -1: none), also on errors. Returns 0, -ENOMEM or -ENOSPC: no
 * slot is free, or the tenant has ACCELERATOR_CLIENTS_MAX clients.
 */
int accelerator_connect(struct accelerator *accelerator, const char *group,
			const struct compute_page *page, int schedstat_fd, uint64_t now_ns,
			struct accelerator_client **ret_client);
/* Reads the page of @client for the last time and removes it. */
void accelerator_disconnect(struct accelerator *accelerator, struct accelerator_client *client,
			    uint64_t now_ns);

/*
 * Reads all pages, decides and grants. Renews the stamp of the beacon. Call after each ring of the
 * bell and after each of the functions above and below. Returns the latest time of the next call;
 * ARBITER_NEVER: there are no clients.
 */
uint64_t accelerator_step(struct accelerator *accelerator, uint64_t now_ns);

/*
 * Executes @request, which compute_control_parse_request() has accepted, and fills @ret_reply.
 * Returns the size of the reply in bytes.
 */
size_t accelerator_answer(struct accelerator *accelerator, const struct compute_request *request,
			  uint64_t now_ns, struct compute_reply *ret_reply);

/* The same for a request that compute_control_parse_request() has rejected with @error (negative).
 */
size_t accelerator_reject(const struct accelerator *accelerator,
			  const struct compute_request *request, int error, uint64_t now_ns,
			  struct compute_reply *ret_reply);

#endif
