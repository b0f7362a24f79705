/* SPDX-License-Identifier: MIT */
/*
 * Classes and traits are created only after Placement has refused a document that names them, so
 * that a known class costs no request.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "gover-fleet/cloud/provider.h"

#define PATH_MAX_LENGTH 320

/* Explains a refusal that no reading can resolve. */
static int refused(const struct reply *reply, const char *what, struct err *reterr)
{
	return err_fail(reterr, EPROTO, "Placement refused %s: HTTP status %ld: %.400s", what,
			reply->status, placement_error_detail(reply->json));
}

static int changed(const struct reply *reply, const struct provider *provider, struct err *reterr)
{
	return err_condition(reterr, reply->status == 404 ? PROVIDER_GONE : PROVIDER_CHANGED,
			     "the provider of GPU %s was changed: HTTP status %ld: %.400s",
			     provider->id.gpu, reply->status, placement_error_detail(reply->json));
}

/* --- read --- */

enum part { INVENTORIES, TRAITS, USAGES };
static const char *const part_names[] = {"inventories", "traits", "usages"};

static int parse_part(enum part part, const json_t *json, struct seen *seen,
		      int64_t *ret_generation, struct err *reterr)
{
	int r;

	switch (part) {
	case INVENTORIES:
		r = placement_parse_inventories(json, &seen->inventories, reterr);
		*ret_generation = seen->inventories.generation;
		return r;
	case TRAITS:
		r = placement_parse_traits(json, &seen->traits, reterr);
		*ret_generation = seen->traits.generation;
		return r;
	case USAGES:
	default:
		r = placement_parse_usages(json, &seen->usages, reterr);
		*ret_generation = seen->usages.generation;
		return r;
	}
}

static int read_part(struct service *service, struct provider *provider, enum part part,
		     int64_t *ret_generation, struct err *reterr)
{
	CLEANUP_REPLY struct reply reply = {0};
	char path[PATH_MAX_LENGTH];
	int r;

	snprintf(path, sizeof(path), "/resource_providers/%s/%s", provider->id.uuid,
		 part_names[part]);
	r = service_request(service, "GET", path, NULL, &reply, reterr);
	if (r < 0)
		return r;
	if (reply.status == 404)
		return changed(&reply, provider, reterr);
	if (reply.status != 200)
		return refused(&reply, path, reterr);
	return parse_part(part, reply.json, &provider->seen, ret_generation, reterr);
}

int provider_read(struct service *service, struct provider *provider, struct err *reterr)
{
	int64_t generations[3] = {0};

	provider->known = false;
	for (enum part part = INVENTORIES; part <= USAGES; part++) {
		int r = read_part(service, provider, part, &generations[part], reterr);

		if (r != 0)
			return r;
	}
	if (generations[INVENTORIES] != generations[TRAITS] ||
	    generations[TRAITS] != generations[USAGES])
		return err_condition(reterr, PROVIDER_CHANGED,
				     "the provider of GPU %s changed while it was read",
				     provider->id.gpu);
	provider->id.generation = generations[USAGES];
	provider->known = true;
	return 0;
}

/* --- create and delete --- */

static int make_uuid(char ret_uuid[PLACEMENT_UUID_MAX], struct err *reterr)
{
	unsigned char b[16];

	if (getrandom(b, sizeof(b), GRND_NONBLOCK) != (ssize_t)sizeof(b))
		return err_fail(reterr, EIO, "no random bytes available: %s", strerror(errno));
	b[6] = (b[6] & 0x0f) | 0x40; /* version 4, variant of RFC 4122 */
	b[8] = (b[8] & 0x3f) | 0x80;
	snprintf(ret_uuid, PLACEMENT_UUID_MAX,
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
		 b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
		 b[15]);
	return 0;
}

static int judge_created(const struct reply *reply, struct provider *provider, struct err *reterr)
{
	if (reply->status == 200)
		return placement_parse_created(reply->json, &provider->id, reterr);
	if (reply->status == 409) {
		(void)changed(reply, provider, reterr);
		return PROVIDER_GONE;
	}
	if (reply->status == 400 || reply->status == 404)
		return err_condition(reterr, PROVIDER_NO_PARENT,
				     "Placement refused the provider of GPU %s: HTTP status %ld: "
				     "%.400s",
				     provider->id.gpu, reply->status,
				     placement_error_detail(reply->json));
	return refused(reply, "a provider", reterr);
}

int provider_create(struct service *service, const char *host, const char *root, const char *gpu,
		    struct provider *ret_provider, struct err *reterr)
{
	CLEANUP_REPLY struct reply reply = {0};
	struct provider *provider = ret_provider;
	char name[PLACEMENT_NAME_MAX];
	json_t *body;
	int r = placement_name(host, gpu, name);

	if (r < 0)
		return err_fail(reterr, -r,
				"GPU %s: the name of its provider exceeds %d characters", gpu,
				PLACEMENT_NAME_MAX - 1);
	memset(provider, 0, sizeof(*provider));
	snprintf(provider->id.gpu, sizeof(provider->id.gpu), "%s", gpu);
	r = make_uuid(provider->id.uuid, reterr);
	if (r < 0)
		return r;
	body = placement_encode_provider(name, provider->id.uuid, root);
	r = service_request(service, "POST", "/resource_providers", body, &reply, reterr);
	json_decref(body);
	if (r == 0)
		r = judge_created(&reply, provider, reterr);
	if (r != 0)
		return r;
	provider->seen.inventories.generation = provider->id.generation;
	provider->seen.traits.generation = provider->id.generation;
	provider->seen.usages.generation = provider->id.generation;
	provider->known = true;
	return 0;
}

int provider_delete(struct service *service, const struct provider *provider, struct err *reterr)
{
	CLEANUP_REPLY struct reply reply = {0};
	char path[PATH_MAX_LENGTH];
	int r;

	snprintf(path, sizeof(path), "/resource_providers/%s", provider->id.uuid);
	r = service_request(service, "DELETE", path, NULL, &reply, reterr);
	if (r < 0 || reply.status == 204 || reply.status == 404)
		return r;
	return reply.status == 409 ? changed(&reply, provider, reterr)
				   : refused(&reply, "to delete a provider", reterr);
}

/* --- write --- */

/* PUT /resource_classes/NAME or /traits/NAME; succeeds if the word exists. */
static int create_word(struct service *service, const char *folder, const char *name,
		       struct err *reterr)
{
	CLEANUP_REPLY struct reply reply = {0};
	char path[PATH_MAX_LENGTH];
	int r;

	snprintf(path, sizeof(path), "/%s/%s", folder, name);
	r = service_request(service, "PUT", path, NULL, &reply, reterr);
	if (r < 0 || reply.status == 201 || reply.status == 204)
		return r;
	return refused(&reply, path, reterr);
}

int provider_create_trait(struct service *service, const char *name, struct err *reterr)
{
	return create_word(service, "traits", name, reterr);
}

static int create_words(struct service *service, const struct difference *difference,
			enum part part, struct err *reterr)
{
	const struct placement_inventories *inventories = &difference->inventories;
	const struct placement_traits *traits = &difference->traits;
	int r = 0;

	for (size_t i = 0; part == INVENTORIES && i < inventories->n_classes && r == 0; i++)
		r = create_word(service, "resource_classes", inventories->classes[i].name, reterr);
	for (size_t i = 0; part == TRAITS && i < traits->n_names && r == 0; i++)
		/* standard traits exist; only custom ones can be created */
		if (strncmp(traits->names[i], "CUSTOM_", strlen("CUSTOM_")) == 0)
			r = provider_create_trait(service, traits->names[i], reterr);
	return r;
}

static json_t *encode_part(const struct difference *difference, enum part part, int64_t generation)
{
	if (part == INVENTORIES)
		return placement_encode_inventories(&difference->inventories, generation);
	return placement_encode_traits(&difference->traits, generation);
}

/* Sends the document; if Placement does not know one of its words, creates them and sends again. */
static int send_part(struct service *service, const struct provider *provider,
		     const struct difference *difference, enum part part, struct reply *ret_reply,
		     struct err *reterr)
{
	char path[PATH_MAX_LENGTH];
	json_t *body = encode_part(difference, part, provider->id.generation);
	int r;

	snprintf(path, sizeof(path), "/resource_providers/%s/%s", provider->id.uuid,
		 part_names[part]);
	r = service_request(service, "PUT", path, body, ret_reply, reterr);
	if (r == 0 && ret_reply->status == 400) {
		reply_fini(ret_reply);
		r = create_words(service, difference, part, reterr);
		if (r == 0)
			r = service_request(service, "PUT", path, body, ret_reply, reterr);
	}
	json_decref(body);
	return r;
}

/* Writes one class. A smaller document costs Placement a third less time. */
static int write_class(struct service *service, struct provider *provider,
		       const struct placement_inventory *inventory, struct err *reterr)
{
	struct placement_inventories *seen = &provider->seen.inventories;
	int i = placement_find_inventory(seen, inventory->name);
	CLEANUP_REPLY struct reply reply = {0};
	char path[PATH_MAX_LENGTH];
	json_t *body = placement_encode_inventory(inventory, provider->id.generation);
	int r;

	snprintf(path, sizeof(path), "/resource_providers/%s/inventories/%s", provider->id.uuid,
		 inventory->name);
	r = service_request(service, "PUT", path, body, &reply, reterr);
	json_decref(body);
	if (r < 0)
		return r;
	/* 400: the provider does not have the class, although its generation says so */
	if (reply.status == 400 || reply.status == 404 || reply.status == 409)
		return changed(&reply, provider, reterr);
	if (reply.status != 200)
		return refused(&reply, part_names[INVENTORIES], reterr);
	r = placement_parse_inventory(reply.json, inventory->name, &seen->classes[i],
				      &seen->generation, reterr);
	if (r == 0)
		provider->id.generation = seen->generation;
	return r;
}

static int write_part(struct service *service, struct provider *provider,
		      const struct difference *difference, enum part part, struct err *reterr)
{
	int only = part == INVENTORIES ? difference_only_class(difference, &provider->seen) : -1;
	CLEANUP_REPLY struct reply reply = {0};
	int64_t generation;
	int r;

	if (only >= 0)
		return write_class(service, provider, &difference->inventories.classes[only],
				   reterr);
	r = send_part(service, provider, difference, part, &reply, reterr);
	if (r < 0)
		return r;
	if (reply.status == 404 || reply.status == 409)
		return changed(&reply, provider, reterr);
	if (reply.status != 200)
		return refused(&reply, part_names[part], reterr);
	/* what Placement has stored, so that another change of it is seen */
	r = parse_part(part, reply.json, &provider->seen, &generation, reterr);
	if (r < 0)
		return r;
	provider->id.generation = generation;
	return 0;
}

int provider_write(struct service *service, struct provider *provider,
		   const struct difference *difference, int *writes, struct err *reterr)
{
	bool inventories_first = !difference->traits_first;
	const enum part order[] = {inventories_first ? INVENTORIES : TRAITS,
				   inventories_first ? TRAITS : INVENTORIES};

	for (size_t i = 0; i < 2; i++) {
		int r;

		if (order[i] == INVENTORIES ? !difference->write_inventories
					    : !difference->write_traits)
			continue;
		r = write_part(service, provider, difference, order[i], reterr);
		if (r != 0)
			return r;
		++*writes;
	}
	return 0;
}
