/* SPDX-License-Identifier: MIT */
/*
 * A claim first reads the state of gover-d, so that it knows the contract that a lost answer has
 * made. Each request has the time that is left of the deadline.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "client/client.h"
#include "gover-fleet/claim/claim.h"
#include "gover-fleet/cloud/allocation.h"
#include "gover-fleet/host/follower.h"
#include "gover-fleet/model/mapping.h"

/* maximum number of offers that a claim tries, because others may claim them at the same time */
#define TRIES_MAX 4

struct claimer {
	struct client *client;
	struct service *placement; /* NULL: there is no cloud */
	const char *host;
};

int claimer_new(const char *gover_socket, struct service *placement, const char *host,
		struct claimer **ret_claimer, struct err *reterr)
{
	struct claimer *claimer = xcalloc(1, sizeof(*claimer));
	int r;

	claimer->placement = placement;
	claimer->host = host;
	r = client_new(gover_socket, NULL, &claimer->client, reterr);
	if (r < 0) {
		claimer_free(claimer);
		return r;
	}
	*ret_claimer = claimer;
	return 0;
}

struct claimer *claimer_free(struct claimer *claimer)
{
	if (claimer)
		client_free(claimer->client);
	free(claimer);
	return NULL;
}

/* --- requests --- */

/* Gives the next request the time that is left. */
static int limit_request(struct claimer *claimer, uint64_t until_ns, struct err *reterr)
{
	uint64_t now_ns = clock_now().mono_ns;

	if (now_ns + NS_PER_MS >= until_ns)
		return err_fail(reterr, ETIMEDOUT, "gover-d: no time left for a request");
	client_set_timeout(claimer->client, (long)((until_ns - now_ns) / NS_PER_MS));
	return 0;
}

/* Returns as client_request(). */
static int request(struct claimer *claimer, const struct client_call *call, uint64_t until_ns,
		   struct reply *ret_reply, struct err *reterr)
{
	int r = limit_request(claimer, until_ns, reterr);

	return r < 0 ? r : client_request(claimer->client, call, ret_reply, reterr);
}

static int read_host(struct claimer *claimer, uint64_t until_ns, struct host_state **ret_state,
		     struct err *reterr)
{
	int r = limit_request(claimer, until_ns, reterr);

	return r < 0 ? r : follower_read(claimer->client, ret_state, reterr);
}

/*
 * Reads a vGPU as JSON. Returns 0, 1 if it does not exist or was not made by gover-fleet, or a
 * negative errno.
 */
static int read_own(struct claimer *claimer, const char *id, uint64_t until_ns, json_t **ret_json,
		    struct err *reterr)
{
	char path[ID_MAX + 16];
	const struct client_call call = {.method = "GET", .path = path};
	CLEANUP_REPLY struct reply reply = {0};
	struct state_vgpu vgpu;
	int r;

	snprintf(path, sizeof(path), "/v1/vgpus/%s", id);
	r = request(claimer, &call, until_ns, &reply, reterr);
	if (r == CLIENT_REFUSED)
		return reply.status == 404 ? 1 : -EPROTO;
	if (r < 0)
		return r;
	r = host_state_parse_vgpu(reply.json, &vgpu, reterr);
	if (r < 0)
		return r;
	if (!vgpu.sold)
		return 1;
	*ret_json = json_incref(reply.json);
	return 0;
}

/* --- making a contract --- */

/*
 * The vGPU that the domain has as a mediated device or virtual function has the name of this
 * device. Another gets the UUID of the domain.
 */
static const char *choose_id(const struct host_state *state, const struct domain_wish *wish)
{
	for (int i = 0; i < wish->n_devices; i++)
		if (host_state_find_vgpu(state, wish->devices[i]))
			return wish->devices[i];
	return wish->uuid;
}

static const char *text_or_null(const char *text)
{
	return text[0] ? text : NULL;
}

/* Returns the body of the claim; NULL: a text of the domain is not UTF-8. */
static json_t *claim_body(const struct domain_wish *wish, const char *id, const char *flavor,
			  bool unverified)
{
	return json_pack("{s:s, s:s, s:s*, s:{s:s, s:s*, s:s*, s:s*, s:s*, s:s*, s:s*}}", "id", id,
			 "vm", wish->name, "flavor", flavor, "labels", HOST_STATE_LABEL,
			 HOST_STATE_BY_FLEET, HOST_STATE_LABEL_DOMAIN, text_or_null(wish->uuid),
			 "instance", text_or_null(wish->instance), "project",
			 text_or_null(wish->project), "flavor", text_or_null(wish->flavor),
			 HOST_STATE_LABEL_MOVED, wish->migrated ? "yes" : NULL,
			 HOST_STATE_LABEL_DOUBT, unverified ? "yes" : NULL);
}

/*
 * Claims one offer. Returns 0, 1 if this offer cannot be claimed (the message has the reason), or a
 * negative errno.
 */
static int claim_offer(struct claimer *claimer, const struct domain_wish *wish, const char *id,
		       const struct state_offer *offer, bool unverified, uint64_t until_ns,
		       struct err *reterr)
{
	/* An older gover-d knows no flavour in a claim; its offers list one. */
	const char *flavor =
		offer->n_smaller > 0 ? mapping_offered_flavor(offer, wish->slot) : NULL;
	json_t *body = claim_body(wish, id, flavor, unverified);
	char path[64];
	const struct client_call call = {
		.method = "POST", .path = path, .body = body, .key = wish->uuid};
	CLEANUP_REPLY struct reply reply = {0};
	int r;

	if (!body)
		return err_fail(reterr, EILSEQ, "domain %s: a name is not UTF-8", wish->uuid);
	snprintf(path, sizeof(path), "/v1/offers/%lld/claim", (long long)offer->id);
	r = request(claimer, &call, until_ns, &reply, reterr);
	json_decref(body);
	if (r != CLIENT_REFUSED)
		return r;
	return reply.status == 409 || reply.status == 404 ? 1 : -EPROTO;
}

/* Offers held for this server come first; offers held for others cannot be claimed. */
static const struct state_offer *choose_offer(const struct host_state *state,
					      const struct domain_wish *wish, const int64_t *tried,
					      size_t n_tried)
{
	const struct state_offer *chosen = NULL;

	for (size_t i = 0; i < state->n_offers; i++) {
		const struct state_offer *offer = &state->offers[i];
		bool is_held = strcmp(offer->held_by, wish->uuid) == 0, was_tried = false;

		for (size_t k = 0; k < n_tried; k++)
			was_tried |= tried[k] == offer->id;
		if (was_tried || !mapping_offer_fits(offer, wish->slot, wish->gpu) ||
		    (offer->held_by[0] && !is_held))
			continue;
		if (is_held)
			return offer;
		if (!chosen)
			chosen = offer;
	}
	return chosen;
}

/* One attempt. Returns 0 with a result, 1 to try again, or a negative errno. */
static int try_claim(struct claimer *claimer, const struct domain_wish *wish, int64_t *tried,
		     size_t *n_tried, uint64_t until_ns, struct claim *claim, struct err *reterr)
{
	struct host_state *state = NULL;
	const struct state_vgpu *contract;
	const struct state_offer *offer;
	int r = read_host(claimer, until_ns, &state, reterr);

	if (r < 0)
		return r;
	contract = host_state_find_sold(state, wish->uuid);
	if (contract) {
		claim->result = CLAIM_EXISTED;
		memcpy(claim->vgpu, contract->id, sizeof(claim->vgpu));
		host_state_unref(state);
		return 0;
	}
	offer = *n_tried < TRIES_MAX ? choose_offer(state, wish, tried, *n_tried) : NULL;
	if (!offer) {
		claim->result = CLAIM_NO_OFFER;
		/* The message of gover-d about a refused claim is more precise. */
		if (*n_tried == 0)
			(void)err_fail(reterr, 0, "no open offer of %s%s%s", wish->slot,
				       wish->gpu[0] ? " on GPU " : "", wish->gpu);
		host_state_unref(state);
		return 0;
	}
	snprintf(claim->vgpu, sizeof(claim->vgpu), "%s", choose_id(state, wish));
	tried[(*n_tried)++] = offer->id;
	r = claim_offer(claimer, wish, claim->vgpu, offer, claim->unverified, until_ns, reterr);
	host_state_unref(state);
	claim->result = CLAIM_MADE;
	return r;
}

/*
 * Completes the wish with what the cloud knows: the slot of a server without extra specs, and the
 * GPU. Returns 0, 1 if the domain wants no vGPU, or a negative errno.
 */
static int complete_wish(struct claimer *claimer, struct domain_wish *wish, bool *ret_unverified,
			 struct err *reterr)
{
	char slot[WANTED_CLASS_MAX] = "", gpu[ID_MAX] = "";
	int r;

	*ret_unverified = false;
	if (wish->kind == DOMAIN_WANTS_NOTHING)
		return 1;
	if (!claimer->placement)
		return wish->kind == DOMAIN_WANTS_SLOT ? 0 : 1;
	r = allocation_find(claimer->placement, claimer->host, wish->uuid, slot, gpu, reterr);
	if (r == 0) {
		wish->kind = DOMAIN_WANTS_SLOT;
		memcpy(wish->slot, slot, sizeof(wish->slot));
		memcpy(wish->gpu, gpu, sizeof(wish->gpu));
		return 0;
	}
	/* The metadata is sufficient for a claim, which is then unverified. */
	*ret_unverified = true;
	if (wish->kind == DOMAIN_WANTS_SLOT)
		return 0;
	return r;
}

int claim_make(struct claimer *claimer, const struct domain_wish *wish, uint64_t until_ns,
	       struct claim *ret_claim, struct err *reterr)
{
	struct domain_wish complete = *wish;
	struct claim claim = {.result = CLAIM_NOT_OURS};
	int64_t tried[TRIES_MAX];
	size_t n_tried = 0;
	int r = complete_wish(claimer, &complete, &claim.unverified, reterr);

	if (r < 0)
		return r;
	if (r == 0)
		do
			r = try_claim(claimer, &complete, tried, &n_tried, until_ns, &claim,
				      reterr);
		while (r == 1);
	if (r < 0)
		return r;
	*ret_claim = claim;
	return 0;
}

/* --- an existing contract --- */

/* Changes an own vGPU. @call has the method and the body. Returns as claim_end(). */
static int change(struct claimer *claimer, struct client_call *call, const char *id,
		  uint64_t until_ns, struct err *reterr)
{
	char path[ID_MAX + 16];
	CLEANUP_REPLY struct reply reply = {0};
	int r;

	snprintf(path, sizeof(path), "/v1/vgpus/%s", id);
	call->path = path;
	r = request(claimer, call, until_ns, &reply, reterr);
	if (r == CLIENT_REFUSED)
		return reply.status == 404 ? 1 : -EPROTO;
	return r;
}

int claim_end(struct claimer *claimer, const char *id, uint64_t until_ns, struct err *reterr)
{
	struct client_call call = {.method = "DELETE"};
	json_t *json = NULL;
	int r = read_own(claimer, id, until_ns, &json, reterr);

	json_decref(json);
	return r != 0 ? r : change(claimer, &call, id, until_ns, reterr);
}

int claim_confirm(struct claimer *claimer, const char *id, uint64_t until_ns, struct err *reterr)
{
	struct client_call call = {.method = "PATCH"};
	json_t *json = NULL, *labels, *body;
	int r = read_own(claimer, id, until_ns, &json, reterr);

	if (r != 0)
		return r;
	labels = json_copy(json_object_get(json, "labels"));
	json_decref(json);
	(void)json_object_del(labels, HOST_STATE_LABEL_DOUBT);
	call.body = body = json_pack("{s:o}", "labels", labels);
	r = change(claimer, &call, id, until_ns, reterr);
	json_decref(body);
	return r;
}

int claim_verify(struct claimer *claimer, const char *uuid, struct err *reterr)
{
	char slot[WANTED_CLASS_MAX], gpu[ID_MAX];

	return claimer->placement
		       ? allocation_find(claimer->placement, claimer->host, uuid, slot, gpu, reterr)
		       : 0;
}
