/* SPDX-License-Identifier: MIT */
/* The life of an offer. Must never have two alive on a GPU, nor sell one twice. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/core/offers.h"

#define OFFERS_KEPT 256

static const char *const state_names[OFFER_STATES] = {
	[OFFER_OPEN] = "open",	   [OFFER_PROBATION] = "probation", [OFFER_KEPT] = "kept",
	[OFFER_FAILED] = "failed", [OFFER_EXPIRED] = "expired",	    [OFFER_CLOSED] = "closed",
};

struct offers {
	struct offer list[OFFERS_KEPT]; /* oldest first */
	size_t n;
	int64_t last_id;
	offer_changed_fn changed;
	void *userdata;
};

const char *offer_state_name(enum offer_state state)
{
	return state_names[state];
}

int offer_state_parse(const char *name, enum offer_state *ret_state)
{
	for (size_t i = 0; i < ARRAY_SIZE(state_names); i++) {
		if (strcmp(state_names[i], name) == 0) {
			*ret_state = (enum offer_state)i;
			return 0;
		}
	}
	return -EINVAL;
}

struct offers *offers_new(int64_t last_id, offer_changed_fn changed, void *userdata)
{
	struct offers *offers = calloc(1, sizeof(*offers));

	if (!offers)
		return NULL;
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

static bool is_live(const struct offer *offer)
{
	return offer->state == OFFER_OPEN || offer->state == OFFER_PROBATION ||
	       (offer->state == OFFER_FAILED && !offer->newcomer_gone);
}

struct offer *offers_live(struct offers *offers, const char *gpu)
{
	for (size_t i = offers->n; i-- > 0;)
		if (is_live(&offers->list[i]) && strcmp(offers->list[i].gpu, gpu) == 0)
			return &offers->list[i];
	return NULL;
}

struct offer *offers_find(struct offers *offers, int64_t id)
{
	for (size_t i = 0; i < offers->n; i++)
		if (offers->list[i].id == id)
			return &offers->list[i];
	return NULL;
}

/* A place for one more: the oldest that ended makes room. */
static struct offer *place(struct offers *offers)
{
	size_t oldest = 0;

	if (offers->n < OFFERS_KEPT) {
		memset(&offers->list[offers->n], 0, sizeof(struct offer));
		return &offers->list[offers->n++];
	}
	while (oldest < offers->n && is_live(&offers->list[oldest]))
		oldest++;
	if (oldest == offers->n)
		return NULL;
	memmove(&offers->list[oldest], &offers->list[oldest + 1],
		(offers->n - oldest - 1) * sizeof(struct offer));
	memset(&offers->list[offers->n - 1], 0, sizeof(struct offer));
	return &offers->list[offers->n - 1];
}

struct offer *offers_open(struct offers *offers, const char *gpu, const struct policy_terms *flavor,
			  int fundable_pct, int ttl_s, struct instant now)
{
	struct offer *offer = offers_live(offers, gpu) ? NULL : place(offers);

	if (!offer)
		return NULL;
	offer->id = ++offers->last_id;
	snprintf(offer->gpu, sizeof(offer->gpu), "%s", gpu);
	offer->state = OFFER_OPEN;
	offer->created_ms = offer->changed_ms = now.wall_ms;
	offer->expires_ms = now.wall_ms + (int64_t)ttl_s * 1000;
	offer->expires_ns = now.mono_ns + (uint64_t)ttl_s * NS_PER_S;
	offer->flavor = *flavor;
	offer->fundable_pct = fundable_pct;
	offers->changed(offers->userdata, offer);
	return offer;
}

struct offer *offers_adopt(struct offers *offers, const struct offer *adopted)
{
	struct offer *offer = place(offers);

	if (!offer)
		return NULL;
	for (; offer > offers->list && offer[-1].id > adopted->id; offer--)
		offer[0] = offer[-1];
	*offer = *adopted;
	if (adopted->id > offers->last_id)
		offers->last_id = adopted->id;
	return offer;
}

void offers_claim(struct offers *offers, struct offer *offer, const char *vgpu, const char *key,
		  int probation_s, struct instant now)
{
	offer->state = OFFER_PROBATION;
	offer->changed_ms = now.wall_ms;
	offer->probation_ends_ns = now.mono_ns + (uint64_t)probation_s * NS_PER_S;
	snprintf(offer->vgpu, sizeof(offer->vgpu), "%s", vgpu);
	snprintf(offer->claim_key, sizeof(offer->claim_key), "%s", key);
	offers->changed(offers->userdata, offer);
}

void offers_end(struct offers *offers, struct offer *offer, enum offer_state state,
		struct instant now, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(offer->reason, sizeof(offer->reason), format, ap);
	va_end(ap);
	offer->state = state;
	offer->changed_ms = now.wall_ms;
	offers->changed(offers->userdata, offer);
}

void offers_vgpu_removed(struct offers *offers, const char *vgpu, struct instant now)
{
	for (size_t i = 0; i < offers->n; i++) {
		struct offer *offer = &offers->list[i];

		if (!is_live(offer) || strcmp(offer->vgpu, vgpu) != 0)
			continue;
		offer->newcomer_gone = true;
		if (offer->state == OFFER_PROBATION)
			offers_end(offers, offer, OFFER_CLOSED, now,
				   "vGPU %s was removed during its probation", vgpu);
	}
}

static void watch_probation(struct offers *offers, struct offer *offer, double broken_limit_pct,
			    struct instant now)
{
	double broken_pct;

	if (offer->severe_run >= OFFER_SEVERE_PERIODS) {
		offers_end(offers, offer, OFFER_FAILED, now,
			   "severe overload in %d periods together while vGPU %s was on probation",
			   offer->severe_run, offer->vgpu);
		return;
	}
	/* What could not be seen at all is not judged: it is watched on. */
	if (now.mono_ns < offer->probation_ends_ns || offer->watched_s <= 0)
		return;
	broken_pct = 100 * offer->broken_s / offer->watched_s;
	if (broken_pct > broken_limit_pct)
		offers_end(
			offers, offer, OFFER_FAILED, now,
			"%.1f %% of the vGPU-seconds of vGPU %s's probation were broken, allowed "
			"are %.1f %%",
			broken_pct, offer->vgpu, broken_limit_pct);
	else
		offers_end(offers, offer, OFFER_KEPT, now,
			   "vGPU %s passed its probation with %.1f %% broken time, allowed are "
			   "%.1f %%",
			   offer->vgpu, broken_pct, broken_limit_pct);
}

void offers_tick(struct offers *offers, const char *gpu, double watched_s, double broken_s,
		 bool severe, double broken_limit_pct, struct instant now)
{
	struct offer *offer = offers_live(offers, gpu);

	if (!offer)
		return;
	if (offer->state == OFFER_OPEN && now.mono_ns >= offer->expires_ns) {
		offers_end(offers, offer, OFFER_EXPIRED, now, "nobody claimed it in time");
	} else if (offer->state == OFFER_PROBATION) {
		offer->watched_s += watched_s;
		offer->broken_s += broken_s;
		offer->severe_run = severe ? offer->severe_run + 1 : 0;
		watch_probation(offers, offer, broken_limit_pct, now);
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
