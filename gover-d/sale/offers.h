/* SPDX-License-Identifier: MIT */
/*
 * Stores offers to sell one more vGPU. The states of an offer are open -> probation -> kept or
 * failed. A GPU has at most one live offer. The module reads no clock and no GPU: time and samples
 * are parameters. It passes changes to a callback.
 */
#ifndef GOVER_D_SALE_OFFERS_H
#define GOVER_D_SALE_OFFERS_H

#include "base/err.h"
#include "gover-d/config/config.h"
#include "gover-d/model/host.h"
#include "policy/offer.h"

/* the reason of an offer that a client has closed */
#define OFFERS_WITHDRAWN "withdrawn by a client"

#define OFFERS_HOLD_MAX_S 600 /* longest hold that one request can set */

/*
 * A start restores held offers. The vGPUs that give cap to them are measured after this number of
 * ticks only. Until then, an offer is not closed because it cannot be funded.
 */
#define OFFERS_SETTLED_TICKS 4

/*
 * The reservation of an open offer: the offer does not expire, and only a claim with @holder as its
 * idempotency key is accepted. A claim ends the hold.
 */
struct offer_hold {
	char holder[CLAIM_MAX]; /* "": the offer is not held */
	int64_t until_ms;
	uint64_t until_ns;
};

/* One flavour of an offer. */
struct offer_flavor {
	char name[ID_MAX];	   /* "": an earlier release made the offer */
	struct policy_terms terms; /* terms of the offered contract */
	int fundable_pct;	   /* first cap that a newcomer would get now, in percent */
};

struct offer {
	int64_t id;
	char gpu[ID_MAX];
	struct offer_life life;
	int64_t created_ms, changed_ms, expires_ms;
	/*
	 * The flavours that can be claimed, the largest first; it leads the offer. After a claim:
	 * only the flavour that was sold.
	 */
	struct offer_flavor flavors[OFFERED_MAX];
	int n_flavors; /* at least 1 */
	/* id of the vGPU that claimed the offer; "": not claimed */
	char vgpu[ID_MAX];
	char reason[OFFER_REASON_MAX]; /* why the offer ended; "": not ended */
	bool withdrawn;		       /* a client has closed the offer */
	struct offer_hold hold;	       /* remains in an offer that ended unclaimed */
};

struct offers; /* the live offers and the newest ended offers */

typedef void (*offer_changed_fn)(void *userdata, const struct offer *offer);

struct offers *offers_new(int64_t last_id, offer_changed_fn changed, void *userdata);
struct offers *offers_free(struct offers *offers); /* @offers may be NULL; returns NULL */

/*
 * Returns the live offer of the GPU; NULL: none. An offer is live if it is open or in probation, or
 * if it failed and its vGPU still exists. While an offer is live, no other offer is opened.
 */
struct offer *offers_live(struct offers *offers, const char *gpu);
/* Returns the id of the vGPU of the GPU that was sold through an offer and is on probation, or "".
 */
const char *offers_newcomer(const struct offers *offers, const char *gpu);
/* Returns the offer with this id; NULL: unknown, or ended long ago. */
struct offer *offers_find(struct offers *offers, int64_t id);
const struct offer *offers_view(const struct offers *offers, int64_t id); /* the same */

/*
 * Opens an offer of the @n flavours @flavors, the largest first: 1 to OFFERED_MAX. NULL: the GPU
 * already has a live offer, or too many offers are live.
 */
struct offer *offers_open(struct offers *offers, const char *gpu,
			  const struct offer_flavor *flavors, int n, int ttl_s, struct instant now);
/* Returns the listed flavour @name; "": the flavour that leads the offer. NULL: not listed. */
const struct offer_flavor *offers_flavor(const struct offer *offer, const char *name);
/*
 * Returns 0 if the offer lists flavour @name; otherwise CONTROL_E_NOT_LISTED with a message.
 */
int offers_check_flavor(const struct offer *offer, const char *name, struct err *reterr);
/*
 * Restores an offer of an earlier run of the daemon; the list stays sorted by id. NULL: too many
 * live offers.
 */
struct offer *offers_adopt(struct offers *offers, const struct offer *offer);
/* True if the offer is open and its hold has not ended at @now. */
bool offers_is_held(const struct offer *offer, struct instant now);
/*
 * Returns 0 if the offer is not held at @now, or held by @holder; otherwise CONTROL_E_OFFER_HELD
 * with a message.
 */
int offers_check_holder(const struct offer *offer, const char *holder, struct instant now,
			struct err *reterr);
/* Holds an open offer, or replaces its hold. The offer does not expire before the hold ends. */
void offers_hold(struct offers *offers, struct offer *offer, const struct offer_hold *hold,
		 struct instant now);
/*
 * Stores that @vgpu claimed the listed flavour @flavor of the offer, and starts the probation.
 */
void offers_claim(struct offers *offers, struct offer *offer, const char *flavor, const char *vgpu,
		  int probation_s, struct instant now);
void offers_end(struct offers *offers, struct offer *offer, enum offer_state state,
		struct instant now, const char *format, ...) __attribute__((format(printf, 5, 6)));
/*
 * Call this function when @vgpu was removed. An offer in probation is closed. A failed offer no
 * longer prevents a new offer.
 */
void offers_vgpu_removed(struct offers *offers, const char *vgpu, struct instant now);

/*
 * Updates an open offer. @funded_pct contains the result of policy.fund() for each flavour of the
 * offer. A flavour with a negative errno is removed; the offer is closed if none is left.
 */
void offers_restate(struct offers *offers, struct offer *offer, const int funded_pct[OFFERED_MAX],
		    const struct offer_limits *limits, struct instant now);
/* Removes flavour @name of an open offer, or closes the offer if it lists no other flavour. */
void offers_unlist(struct offers *offers, struct offer *offer, const char *name, const char *reason,
		   struct instant now);
/*
 * Updates the live offer of a GPU at the end of a period, see offer_update(), and ends a hold whose
 * time is over.
 */
void offers_tick(struct offers *offers, struct offer *offer, const struct offer_period *period,
		 const struct offer_limits *limits, struct instant now);

int64_t offers_last_id(const struct offers *offers);
size_t offers_count(const struct offers *offers);
const struct offer *offers_at(const struct offers *offers, size_t index);

#endif
