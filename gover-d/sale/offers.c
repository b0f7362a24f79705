/* SPDX-License-Identifier: MIT */
/* Stores the offers and reports their changes. policy/offer.h decides when an offer ends. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "gover-d/model/error.h"
#include "gover-d/sale/offers.h"

#define OFFERS_MAX 256

struct offers {
	struct offer list[OFFERS_MAX]; /* oldest first */
	size_t n;
	int64_t last_id;
	offer_changed_fn changed;
	void *userdata;
};

struct offers *offers_new(int64_t last_id, offer_changed_fn changed, void *userdata)
{
	struct offers *offers = xcalloc(1, sizeof(*offers));

	offers->last_id = last_id;
	offers->changed = changed;
	offers->userdata = userdata;
	return offers;
}

struct offers *offers_free(struct offers *offers)
{
	free(offers);
	return NULL;
}

struct offer *offers_live(struct offers *offers, const char *gpu)
{
	for (size_t i = offers->n; i-- > 0;)
		if (offer_is_live(&offers->list[i].life) && strcmp(offers->list[i].gpu, gpu) == 0)
			return &offers->list[i];
	return NULL;
}

const char *offers_newcomer(const struct offers *offers, const char *gpu)
{
	for (size_t i = offers->n; i-- > 0;)
		if (offers->list[i].life.state == OFFER_PROBATION &&
		    strcmp(offers->list[i].gpu, gpu) == 0)
			return offers->list[i].vgpu;
	return "";
}

/* Returns offers->n if there is no offer with this id. */
static size_t position_of(const struct offers *offers, int64_t id)
{
	size_t i = 0;

	while (i < offers->n && offers->list[i].id != id)
		i++;
	return i;
}

const struct offer *offers_view(const struct offers *offers, int64_t id)
{
	size_t i = position_of(offers, id);

	return i < offers->n ? &offers->list[i] : NULL;
}

struct offer *offers_find(struct offers *offers, int64_t id)
{
	size_t i = position_of(offers, id);

	return i < offers->n ? &offers->list[i] : NULL;
}

/*
 * Returns a free element of the list. If the list is full, drops the oldest offer that has ended.
 * NULL: all offers are live.
 */
static struct offer *take_slot(struct offers *offers)
{
	size_t oldest = 0;

	if (offers->n < OFFERS_MAX) {
		memset(&offers->list[offers->n], 0, sizeof(struct offer));
		return &offers->list[offers->n++];
	}
	while (oldest < offers->n && offer_is_live(&offers->list[oldest].life))
		oldest++;
	if (oldest == offers->n)
		return NULL;
	memmove(&offers->list[oldest], &offers->list[oldest + 1],
		(offers->n - oldest - 1) * sizeof(struct offer));
	memset(&offers->list[offers->n - 1], 0, sizeof(struct offer));
	return &offers->list[offers->n - 1];
}

struct offer *offers_open(struct offers *offers, const char *gpu,
			  const struct offer_flavor *flavors, int n, int ttl_s, struct instant now)
{
	struct offer *offer = offers_live(offers, gpu) ? NULL : take_slot(offers);

	if (!offer)
		return NULL;
	offer->id = ++offers->last_id;
	snprintf(offer->gpu, sizeof(offer->gpu), "%s", gpu);
	offer->created_ms = offer->changed_ms = now.wall_ms;
	offer->expires_ms = now.wall_ms + (int64_t)ttl_s * 1000;
	memcpy(offer->flavors, flavors, (size_t)n * sizeof(flavors[0]));
	offer->n_flavors = n;
	offer->life = (struct offer_life){
		.state = OFFER_OPEN,
		.expires_ns = now.mono_ns + (uint64_t)ttl_s * NS_PER_S,
	};
	offers->changed(offers->userdata, offer);
	return offer;
}

struct offer *offers_adopt(struct offers *offers, const struct offer *adopted)
{
	struct offer *offer = take_slot(offers);

	if (!offer)
		return NULL;
	for (; offer > offers->list && offer[-1].id > adopted->id; offer--)
		offer[0] = offer[-1];
	*offer = *adopted;
	if (adopted->id > offers->last_id)
		offers->last_id = adopted->id;
	return offer;
}

const struct offer_flavor *offers_flavor(const struct offer *offer, const char *name)
{
	for (int i = 0; i < offer->n_flavors; i++)
		if (name[0] == '\0' || strcmp(offer->flavors[i].name, name) == 0)
			return &offer->flavors[i];
	return NULL;
}

int offers_check_flavor(const struct offer *offer, const char *name, struct err *reterr)
{
	char list[OFFERED_MAX * (ID_MAX + 2)] = "";
	size_t n = 0;

	if (offers_flavor(offer, name))
		return 0;
	for (int i = 0; i < offer->n_flavors; i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "",
				      offer->flavors[i].name);
	return err_condition(reterr, CONTROL_E_NOT_LISTED,
			     "flavor: offer %lld does not list %.63s (allowed: %.300s)",
			     (long long)offer->id, name, list);
}

bool offers_is_held(const struct offer *offer, struct instant now)
{
	return offer->life.state == OFFER_OPEN && offer->hold.holder[0] &&
	       now.mono_ns < offer->hold.until_ns;
}

int offers_check_holder(const struct offer *offer, const char *holder, struct instant now,
			struct err *reterr)
{
	char until[CLOCK_TEXT_MAX];

	if (!offers_is_held(offer, now) || strcmp(offer->hold.holder, holder) == 0)
		return 0;
	clock_format(offer->hold.until_ms, until);
	return err_condition(reterr, CONTROL_E_OFFER_HELD,
			     "offer %lld is held by %s until %s (allowed: requests of this holder, "
			     "and a claim with it as Idempotency-Key)",
			     (long long)offer->id, offer->hold.holder, until);
}

void offers_hold(struct offers *offers, struct offer *offer, const struct offer_hold *hold,
		 struct instant now)
{
	offer->hold = *hold;
	if (offer->life.expires_ns < offer->hold.until_ns) {
		offer->life.expires_ns = offer->hold.until_ns;
		offer->expires_ms = offer->hold.until_ms;
	}
	offer->changed_ms = now.wall_ms;
	offers->changed(offers->userdata, offer);
}

void offers_claim(struct offers *offers, struct offer *offer, const char *flavor, const char *vgpu,
		  int probation_s, struct instant now)
{
	const struct offer_flavor sold = *offers_flavor(offer, flavor);

	offer->flavors[0] = sold;
	offer->n_flavors = 1;
	offer_claim(&offer->life, now.mono_ns + (uint64_t)probation_s * NS_PER_S);
	offer->changed_ms = now.wall_ms;
	snprintf(offer->vgpu, sizeof(offer->vgpu), "%s", vgpu);
	offer->hold = (struct offer_hold){.holder = ""};
	offers->changed(offers->userdata, offer);
}

void offers_end(struct offers *offers, struct offer *offer, enum offer_state state,
		struct instant now, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(offer->reason, sizeof(offer->reason), format, ap);
	va_end(ap);
	offer->life.state = state;
	offer->changed_ms = now.wall_ms;
	offers->changed(offers->userdata, offer);
}

/* Stores the reason why the offer ended, and reports the change. */
static void report_end(struct offers *offers, struct offer *offer,
		       const struct offer_limits *limits, struct instant now)
{
	offer_explain(&offer->life, limits, offer->vgpu, offer->reason);
	offer->changed_ms = now.wall_ms;
	offers->changed(offers->userdata, offer);
}

void offers_vgpu_removed(struct offers *offers, const char *vgpu, struct instant now)
{
	for (size_t i = 0; i < offers->n; i++) {
		struct offer *offer = &offers->list[i];

		if (offer_is_live(&offer->life) && strcmp(offer->vgpu, vgpu) == 0 &&
		    offer_remove_newcomer(&offer->life))
			report_end(offers, offer, NULL, now);
	}
}

void offers_restate(struct offers *offers, struct offer *offer, const int funded_pct[OFFERED_MAX],
		    const struct offer_limits *limits, struct instant now)
{
	int n = 0, before = offer->n_flavors;

	for (int i = 0; i < before; i++) {
		if (funded_pct[i] < 0)
			continue;
		offer->flavors[n] = offer->flavors[i];
		offer->flavors[n++].fundable_pct = funded_pct[i];
	}
	if (n == 0 && offer_restate(&offer->life, -ENOSPC)) {
		report_end(offers, offer, limits, now);
	} else if (n < before) {
		offer->n_flavors = n;
		offer->changed_ms = now.wall_ms;
		offers->changed(offers->userdata, offer);
	}
}

void offers_unlist(struct offers *offers, struct offer *offer, const char *name, const char *reason,
		   struct instant now)
{
	const struct offer_flavor *flavor = offers_flavor(offer, name);
	size_t at = flavor ? (size_t)(flavor - offer->flavors) : 0;

	if (offer->n_flavors == 1) {
		offers_end(offers, offer, OFFER_CLOSED, now, "%s", reason);
	} else if (flavor) {
		offer->n_flavors--;
		memmove(&offer->flavors[at], &offer->flavors[at + 1],
			((size_t)offer->n_flavors - at) * sizeof(*flavor));
		offer->changed_ms = now.wall_ms;
		offers->changed(offers->userdata, offer);
	}
}

void offers_tick(struct offers *offers, struct offer *offer, const struct offer_period *period,
		 const struct offer_limits *limits, struct instant now)
{
	if (offer_update(&offer->life, period, limits, now.mono_ns)) {
		report_end(offers, offer, limits, now);
	} else if (offer->hold.holder[0] && !offers_is_held(offer, now)) {
		offer->hold = (struct offer_hold){.holder = ""};
		offer->changed_ms = now.wall_ms;
		offers->changed(offers->userdata, offer);
	}
}

int64_t offers_last_id(const struct offers *offers)
{
	return offers->last_id;
}

size_t offers_count(const struct offers *offers)
{
	return offers->n;
}

const struct offer *offers_at(const struct offers *offers, size_t index)
{
	return &offers->list[index];
}
