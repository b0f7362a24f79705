/* SPDX-License-Identifier: MIT */
/*
 * Saves what is in force: contracts, idempotency keys, holds, GPU modes and the operator's state;
 * the audit rows that the history does not have; and the changes that wait for this save. The event
 * loop encodes the text, and the worker writes the file. At most one job runs; later changes are
 * written by the next job.
 */
#ifndef GOVER_D_STORE_SAVE_H
#define GOVER_D_STORE_SAVE_H

#include <limits.h>

#include "gover-d/record/record.h"
#include "gover-d/sale/selling.h"
#include "gover-d/store/contracts.h"

struct save_waiter;
struct worker;

/* State that is stored on disk: the settings that clients have changed, and the contracts file. */
struct store {
	struct settings settings;
	struct sale_keys keys; /* of the sales in force */
	struct audit_rows audit;
	struct recorder *recorder;
	const struct sales *sales;
	const struct host *host;
	struct worker *saver; /* writes the file */
	char contracts_path[PATH_MAX];
	int64_t revision; /* revision of the contracts saved last */
	int result;	  /* result of the last save: 0 or a negative errno */
	bool ending;	  /* the event loop has ended, so no ids are reserved */
	/* used by save.c only */
	bool running;		      /* a save is running */
	bool again;		      /* something changed while a save was running */
	struct save_waiter *waiting;  /* requests that wait for the next save */
	struct save_waiter *in_job;   /* requests that wait for the running save */
	struct db_last_ids ids_saved; /* reserved ids: upper limit of the ids in use */
	bool ids_checked;	      /* no id was given since save_tick() has checked them */
};

/* A request to save, with a change that is not in force yet, if there is one. */
struct save_request {
	/* Makes the change in @contracts; NULL: none. Returns 0 or a negative errno. */
	int (*amend)(const void *userdata, struct contracts *contracts);
	/* Called in the event loop with 0 or a negative errno. */
	void (*done)(void *userdata, int result);
	void *userdata;
};

/*
 * Saves with the change of @request. After an error save_tick() tries to save again what is in
 * force (alert contracts_unsaved). Saves that are requested in done() are one save.
 */
void save_contracts(struct store *store, const struct save_request *request);
/* Saves without a callback. */
void save_soon(struct store *store);
/* Learns that ids were given. The userdata of this observer is the store. */
extern const struct observer save_observer;
/* True if save_tick() has something to do. */
static inline bool save_is_due(const struct store *store)
{
	return store->result < 0 || !store->ids_checked;
}
/*
 * Retries a failed save, and reserves further ids before the reserved ids are used up. Call this
 * function in each period in which it is due.
 */
void save_tick(struct store *store);
/* Returns the stored form of @hold, a hold of @offer. */
struct operator_hold save_hold_of(const struct offer *offer, const struct offer_hold *hold);

#endif
