/* SPDX-License-Identifier: MIT */
/* What the files of the accelerator share. */
#ifndef COMPUTE_SERVER_STATE_H
#define COMPUTE_SERVER_STATE_H

#include <stdbool.h>

#include "compute/channel/reading.h"
#include "compute/server/accelerator.h"

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

/* tenants.c */

/* Returns the tenant with @index, or NULL. */
struct accelerator_tenant *accelerator_find(const struct accelerator *accelerator, uint32_t index);
/* Returns the tenant that programs in @group belong to. */
struct accelerator_tenant *accelerator_match(const struct accelerator *accelerator,
					     const char *group);
/* Adds a tenant. Returns 0, -EEXIST, -ENOSPC or -ENOMEM. */
int accelerator_add(struct accelerator *accelerator, const char *id,
		    const struct arbiter_share *share, uint64_t memory_max_bytes, uint64_t now_ns,
		    struct accelerator_tenant **ret_tenant);
/* Returns 0, or -EBUSY for tenant 0. */
int accelerator_remove(struct accelerator *accelerator, struct accelerator_tenant *tenant,
		       uint64_t now_ns);
/* Gives each client of @tenant the memory that the others have left. */
void accelerator_divide_memory(struct accelerator *accelerator,
			       const struct accelerator_tenant *tenant);

/* clients.c */

/* Moves @client to @tenant. The charges so far stay with the old tenant. */
void accelerator_move(struct accelerator *accelerator, struct accelerator_client *client,
		      struct accelerator_tenant *tenant, uint64_t now_ns);
/* Reads the page of @client and charges its tenant. */
void accelerator_read(struct accelerator *accelerator, struct accelerator_client *client,
		      uint64_t now_ns);
/* Reports to the arbiter what the clients of @tenant want, if a page has changed. */
void accelerator_report(struct accelerator *accelerator, struct accelerator_tenant *tenant,
			uint64_t now_ns);
/*
 * Charges the predicted work in flight of @tenant, whose turn ends. Otherwise the turn would seem
 * wasted. What is charged when the work has finished is less by this.
 */
void accelerator_charge_in_advance(struct accelerator *accelerator,
				   struct accelerator_tenant *tenant, uint64_t now_ns);
/* Returns whether the work of @client is in flight at @now_ns. */
bool accelerator_is_busy(const struct accelerator_client *client, uint64_t now_ns);

/* Writes a grant word of a new sequence, and wakes waiting threads unless @grant is NONE. */
void accelerator_set_grant(struct accelerator *accelerator, struct accelerator_client *client,
			   enum compute_grant grant, uint64_t turn_id);

#endif
