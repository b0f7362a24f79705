/* SPDX-License-Identifier: MIT */
/* All offers and contracts are read from the state, so that a repeated decision is the same. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "gover-fleet/model/hold.h"
#include "gover-fleet/model/mapping.h"

#define MARGIN_MAX_MS 30000
#define MARGIN_MIN_MS 1000
#define NEXT_MIN_MS   500

void hold_make_holder(const char *uuid, int64_t offer, char ret_holder[HOLD_HOLDER_MAX])
{
	snprintf(ret_holder, HOLD_HOLDER_MAX, "%s/%lld", uuid, (long long)offer);
}

bool hold_is_for(const struct state_offer *offer, const char *uuid)
{
	char holder[HOLD_HOLDER_MAX];

	hold_make_holder(uuid, offer->id, holder);
	return strcmp(offer->held_by, holder) == 0 || strcmp(offer->held_by, uuid) == 0;
}

static int64_t margin_ms(const struct host_state *state)
{
	int64_t quarter_ms = (int64_t)state->offer_ttl_s * 1000 / 4;

	if (quarter_ms < MARGIN_MIN_MS)
		return MARGIN_MIN_MS;
	return quarter_ms < MARGIN_MAX_MS ? quarter_ms : MARGIN_MAX_MS;
}

/* The time of expiry of an offer of a gover-d that does not report it is 0. */
static bool can_be_held(const struct state_offer *offer, int64_t now_ms)
{
	return offer->open && !offer->held_by[0] && offer->expires_ms > now_ms;
}

static bool expires_soon(const struct host_state *state, const struct state_offer *offer,
			 int64_t now_ms)
{
	return can_be_held(offer, now_ms) && offer->expires_ms - now_ms <= margin_ms(state);
}

bool hold_due(const struct host_state *state, const char *gpu, const char *slot, int64_t now_ms)
{
	for (size_t i = 0; i < state->n_offers; i++)
		if (expires_soon(state, &state->offers[i], now_ms) &&
		    mapping_offer_fits(&state->offers[i], slot, gpu))
			return true;
	return false;
}

int hold_next_ms(const struct host_state *state, int64_t now_ms)
{
	int64_t next_ms = INT_MAX;

	for (size_t i = 0; i < state->n_offers; i++) {
		const struct state_offer *offer = &state->offers[i];
		int64_t left_ms = offer->expires_ms - now_ms, wait_ms;

		if (!can_be_held(offer, now_ms))
			continue;
		/* Within the margin an allocation may come at any time. */
		wait_ms = expires_soon(state, offer, now_ms) ? left_ms / 2
							     : left_ms - margin_ms(state);
		wait_ms = wait_ms < NEXT_MIN_MS ? NEXT_MIN_MS : wait_ms;
		left_ms -= mapping_ending_ms(state);
		if (left_ms > 0 && left_ms < wait_ms)
			wait_ms = left_ms;
		if (wait_ms < next_ms)
			next_ms = wait_ms;
	}
	return (int)next_ms;
}

static bool is_contract(const struct state_vgpu *vgpu, const char *gpu, const char *slot)
{
	return vgpu->sold && strcmp(vgpu->gpu, gpu) == 0 && mapping_class_fits(slot, vgpu->flavor);
}

static bool has_hold(const struct host_state *state, const char *uuid)
{
	for (size_t i = 0; i < state->n_offers; i++)
		if (state->offers[i].open && hold_is_for(&state->offers[i], uuid))
			return true;
	return false;
}

/* Returns false if it is not known which consumers have no contract. */
static bool is_clear(const struct host_state *state, const char *gpu, const char *slot,
		     const struct hold_consumer *consumers, size_t n_consumers)
{
	size_t used = 0, without = 0, contracts = 0;

	for (size_t i = 0; i < n_consumers; i++) {
		if (strcmp(consumers[i].slot, slot) != 0)
			continue;
		used++;
		without += !host_state_find_sold(state, consumers[i].uuid);
	}
	for (size_t i = 0; i < state->n_vgpus; i++)
		contracts += is_contract(&state->vgpus[i], gpu, slot);
	return used > contracts && without <= used - contracts;
}

static const struct state_offer *first_offer(const struct host_state *state, const char *gpu,
					     const char *slot, int64_t now_ms,
					     const struct hold_choice *taken, size_t n_taken)
{
	const struct state_offer *first = NULL;

	for (size_t i = 0; i < state->n_offers; i++) {
		const struct state_offer *offer = &state->offers[i];
		bool is_taken = false;

		for (size_t k = 0; k < n_taken; k++)
			is_taken |= taken[k].offer == offer->id;
		if (is_taken || !expires_soon(state, offer, now_ms) ||
		    !mapping_offer_fits(offer, slot, gpu))
			continue;
		if (!first || offer->expires_ms < first->expires_ms)
			first = offer;
	}
	return first;
}

size_t hold_choose(const struct host_state *state, const char *gpu, const char *slot,
		   const struct hold_consumer *consumers, size_t n_consumers, int64_t now_ms,
		   struct hold_choice *ret_choices, size_t max)
{
	size_t n = 0;

	if (!is_clear(state, gpu, slot, consumers, n_consumers))
		return 0;
	for (size_t i = 0; i < n_consumers && n < max; i++) {
		const struct hold_consumer *consumer = &consumers[i];
		const struct state_offer *offer;

		if (strcmp(consumer->slot, slot) != 0 ||
		    host_state_find_sold(state, consumer->uuid) || has_hold(state, consumer->uuid))
			continue;
		offer = first_offer(state, gpu, slot, now_ms, ret_choices, n);
		if (!offer)
			break;
		ret_choices[n].offer = offer->id;
		hold_make_holder(consumer->uuid, offer->id, ret_choices[n].holder);
		n++;
	}
	return n;
}
