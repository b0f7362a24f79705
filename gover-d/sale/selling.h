/* SPDX-License-Identifier: MIT */
/*
 * Whether a further vGPU of a GPU may be sold now, whatever the policy answers, and the end of open
 * offers. Nothing is sold on readings that are missing, or while the GPU has a critical alert.
 */
#ifndef GOVER_D_SALE_SELLING_H
#define GOVER_D_SALE_SELLING_H

#include "gover-d/alert/alerts.h"
#include "gover-d/config/settings.h"
#include "gover-d/model/host.h"
#include "gover-d/sale/offers.h"

/* The offers of this host, and the state that decides whether they stay open. */
struct sales {
	struct offers *offers;
	const struct alerts *alerts;
	const struct settings *settings;
	const struct host *host;
};

/*
 * Returns true if a further vGPU may be sold. Otherwise writes the reason to @ret_why, which may be
 * NULL.
 */
bool selling_allowed(const struct sales *sales, const struct host_gpu *gpu, struct err *ret_why);
/*
 * Returns true if no offer is opened, whatever the policy decides, and writes the reason to
 * @ret_why. An offer of a GPU that is only observed is allowed as advice, and never opened.
 */
bool selling_is_stopped(const struct sales *sales, const struct host_gpu *gpu, struct err *ret_why);
/*
 * Returns true if the tick may close @offer. After a start, an offer that is held for a claim stays
 * open until the vGPUs are measured, so that a restart fails no sale.
 */
static inline bool selling_may_close(const struct sales *sales, const struct offer *offer,
				     struct instant now)
{
	return sales->host->ticks >= OFFERS_SETTLED_TICKS || !offers_is_held(offer, now);
}
/*
 * Closes the open offer of @gpu if nothing may be sold now. Returns the offer if it stays open and
 * the tick may close it; NULL: there is none. Call it after the alerts of a tick.
 */
struct offer *selling_tick(struct sales *sales, struct host_gpu *gpu, struct instant now);
/* Closes the open offer of @gpu for a reason that is an event, and not a state of the GPU. */
void selling_close(struct sales *sales, const struct host_gpu *gpu, struct instant now,
		   const char *format, ...) __attribute__((format(printf, 4, 5)));

/*
 * Continues or ends the offers of the last run, and restores those that are missing in the history,
 * after the vGPUs were adopted.
 */
void selling_resume(struct sales *sales, struct instant now);
/*
 * Returns the offer through which contract @c of a vGPU on @gpu was sold, if it is no longer
 * listed: in state kept, because the result of its probation is unknown.
 */
struct offer selling_past_offer(const struct host_gpu *gpu, const struct contract *c);
/* The history does not contain the unit of an offer's target. Sets it to that of the GPU. */
void selling_set_units(struct sales *sales);

#endif
