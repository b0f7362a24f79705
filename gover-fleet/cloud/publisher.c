/* SPDX-License-Identifier: MIT */
/*
 * The requests about one provider, and the publisher, which owns a copy of the providers as they
 * were last read or written. The copy may be old: a write that is based on it is then refused, and
 * everything is read again.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/xalloc.h"
#include "gover-fleet/cloud/keystone.h"
#include "gover-fleet/cloud/placement.h"
#include "gover-fleet/cloud/publisher.h"
#include "gover-fleet/model/mapping.h"

#define PROVIDER_CHANGED   1 /* the provider was changed: read it again and decide anew */
#define PROVIDER_GONE	   2 /* the provider was removed, or another one has its name */
#define PROVIDER_NO_PARENT 3 /* the provider of the compute node no longer exists */

struct provider {
	struct placement_gpu id;
	bool known; /* @seen is the content at the generation id.generation */
	struct seen seen;
};

#define DOUBLINGS_MAX 16

void backoff_succeed(struct backoff *backoff)
{
	backoff->failures = 0;
}

void backoff_fail(struct backoff *backoff)
{
	backoff->failures = min_int(backoff->failures + 1, DOUBLINGS_MAX);
}

int backoff_pause_ms(const struct backoff *backoff, uint32_t random)
{
	int64_t limit_ms;

	if (backoff->failures == 0)
		return 0;
	limit_ms = (int64_t)backoff->first_ms << (backoff->failures - 1);
	if (limit_ms > backoff->max_ms)
		limit_ms = backoff->max_ms;
	return (int)(limit_ms - (int64_t)(random % (uint32_t)(limit_ms / 2 + 1)));
}

#define PATH_BYTES 320

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
	char path[PATH_BYTES];
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

/* Reads the content. Returns PROVIDER_CHANGED if it changed between two requests. */
static int read_provider(struct service *service, struct provider *provider, struct err *reterr)
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

/*
 * Creates the provider of @gpu below the provider @root of compute node @host. @provider is then
 * known and empty.
 */
static int create_provider(struct service *service, const char *host, const char *root,
			   const char *gpu, struct provider *provider, struct err *reterr)
{
	CLEANUP_REPLY struct reply reply = {0};
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

/* Deletes the provider. Succeeds if it does not exist. PROVIDER_CHANGED: it has allocations. */
static int delete_provider(struct service *service, const struct provider *provider,
			   struct err *reterr)
{
	CLEANUP_REPLY struct reply reply = {0};
	char path[PATH_BYTES];
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
	char path[PATH_BYTES];
	int r;

	snprintf(path, sizeof(path), "/%s/%s", folder, name);
	r = service_request(service, "PUT", path, NULL, &reply, reterr);
	if (r < 0 || reply.status == 201 || reply.status == 204)
		return r;
	return refused(&reply, path, reterr);
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
			r = create_word(service, "traits", traits->names[i], reterr);
	return r;
}

/* Sends the document; if Placement does not know one of its words, creates them and sends again. */
static int send_part(struct service *service, const struct provider *provider,
		     const struct difference *difference, enum part part, struct reply *ret_reply,
		     struct err *reterr)
{
	char path[PATH_BYTES];
	int64_t generation = provider->id.generation;
	json_t *body = part == INVENTORIES
			       ? placement_encode_inventories(&difference->inventories, generation)
			       : placement_encode_traits(&difference->traits, generation);
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
	char path[PATH_BYTES];
	json_t *body = placement_encode_inventory(inventory, provider->id.generation);
	int r;

	snprintf(path, sizeof(path), "/resource_providers/%s/inventories/%s", provider->id.uuid,
		 inventory->name);
	r = service_request(service, "PUT", path, body, &reply, reterr);
	json_decref(body);
	if (r < 0)
		return r;
	/* 400: the provider does not have the class, although the generation is unchanged */
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

/*
 * Writes the parts that differ, and creates classes and traits that Placement does not know.
 * Increments *writes for each part that was written. @provider must be known; it has the new
 * content of each part that was written. After -ECONNRESET it may be old, as after
 * PROVIDER_CHANGED.
 */
static int write_provider(struct service *service, struct provider *provider,
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

#define VERSION	       "placement 1.36" /* nested providers, error codes; Train (2019) and later */
#define AGAIN	       100		/* the copy was old: read and decide anew */
#define REREAD_MIN_MS  5000
#define REREAD_MAX_MS  20000
#define AGAIN_FIRST_MS 4
#define AGAIN_MAX_MS   200
#define ATTEMPTS       16  /* of one call, if other clients write at the same time */
#define RETRY_FIRST_MS 250 /* pauses if the cloud does not answer */
#define RETRY_MAX_MS   4000
#define ROOT_MAX_MS    15000 /* longest pause if the compute node has no provider yet */
#define REFUSED_MS     60000 /* if another try is not expected to succeed soon */
#define READ_MS	       60000 /* how long the list of providers counts as read */

struct publisher {
	char host[256];
	int read_ms; /* READ_MS, except in tests */
	struct service *service;
	char root[PLACEMENT_UUID_MAX]; /* "": not known */
	struct provider *providers[PLACEMENT_GPUS_MAX];
	size_t n_providers;
	bool has_traits;  /* the traits that flavors can forbid exist */
	bool current;	  /* false: the copy is old, or was never read */
	uint64_t read_ns; /* monotonic time of the last read of the tree */
	struct backoff unreachable, no_root;
	int pause_ms;
	int writes; /* changes made by the present call */
};

static bool host_valid(const char *host)
{
	size_t n = strlen(host);

	return n > 0 && n == strspn(host, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					  "0123456789.-_");
}

int publisher_new(const char *host, struct keystone *keystone, struct publisher **ret_publisher,
		  struct err *reterr)
{
	const struct service_config service = {"placement", "Placement", VERSION};
	struct publisher *p;

	if (!host_valid(host) || strlen(host) >= sizeof(p->host))
		return err_fail(reterr, EINVAL,
				"host '%s': not valid (allowed: letters, digits, '.', '-', '_')",
				host);
	p = xcalloc(1, sizeof(*p));
	strcpy(p->host, host);
	p->read_ms = READ_MS;
	p->unreachable = (struct backoff){RETRY_FIRST_MS, RETRY_MAX_MS, 0};
	p->no_root = (struct backoff){RETRY_FIRST_MS, ROOT_MAX_MS, 0};
	p->service = service_new(&service, keystone);
	*ret_publisher = p;
	return 0;
}

void publisher_set_times(struct publisher *p, int read_ms, int retry_max_ms)
{
	p->read_ms = read_ms;
	p->unreachable.max_ms = retry_max_ms;
	p->unreachable.first_ms = min_int(RETRY_FIRST_MS, retry_max_ms);
	p->no_root.first_ms = p->unreachable.first_ms;
}

static void forget_providers(struct publisher *p)
{
	for (size_t i = 0; i < p->n_providers; i++)
		free(p->providers[i]);
	p->n_providers = 0;
	p->current = false;
}

struct publisher *publisher_free(struct publisher *p)
{
	if (!p)
		return NULL;
	forget_providers(p);
	service_free(p->service);
	free(p);
	return NULL;
}

static uint32_t random_number(void)
{
	uint32_t number = 0;

	/* without random bytes, the pauses are equal, which is harmless */
	(void)!getrandom(&number, sizeof(number), GRND_NONBLOCK);
	return number;
}

/* --- read --- */

static int find_root(struct publisher *p, struct err *reterr)
{
	CLEANUP_REPLY struct reply reply = {0};
	char path[PATH_BYTES];
	int r;

	snprintf(path, sizeof(path), "/resource_providers?name=%s", p->host);
	r = service_get(p->service, path, &reply, reterr);
	if (r < 0)
		return r;
	r = placement_parse_root(reply.json, p->host, p->root, reterr);
	return r == -ENOENT ? PUBLISHER_NO_ROOT : r;
}

static int get_tree(struct publisher *p, struct placement_tree *ret_tree, struct err *reterr)
{
	CLEANUP_REPLY struct reply reply = {0};
	char path[PATH_BYTES];
	int r;

	snprintf(path, sizeof(path), "/resource_providers?in_tree=%s", p->root);
	r = service_get(p->service, path, &reply, reterr);
	if (r < 0)
		return r;
	return placement_parse_tree(reply.json, p->host, p->root, ret_tree, reterr);
}

/* Drops the root and the copies of its providers; a new root has another UUID. */
static int lose_root(struct publisher *p, struct err *reterr)
{
	forget_providers(p);
	p->root[0] = '\0';
	return err_condition(reterr, AGAIN, "the provider of compute node %s was replaced",
			     p->host);
}

static struct provider *find_provider(struct publisher *p, const char *uuid)
{
	for (size_t i = 0; i < p->n_providers; i++)
		if (strcmp(p->providers[i]->id.uuid, uuid) == 0)
			return p->providers[i];
	return NULL;
}

/* Keeps the copies of the providers in @tree, and adds empty ones for new providers. */
static void take_tree(struct publisher *p, const struct placement_tree *tree)
{
	struct provider *kept[PLACEMENT_GPUS_MAX] = {NULL};
	size_t n = 0;

	for (; n < tree->n_gpus; n++) {
		struct provider *old = find_provider(p, tree->gpus[n].uuid);

		kept[n] = xcalloc(1, sizeof(*kept[n]));
		if (old)
			*kept[n] = *old;
		kept[n]->known =
			old && old->known && old->id.generation == tree->gpus[n].generation;
		kept[n]->id = tree->gpus[n];
	}
	forget_providers(p);
	memcpy(p->providers, kept, n * sizeof(*kept));
	p->n_providers = n;
}

/* Reads the providers that are not known, without the tree. */
static int read_unknown(struct publisher *p, struct err *reterr)
{
	int r = 0;

	for (size_t i = 0; i < p->n_providers && r == 0; i++)
		if (!p->providers[i]->known)
			r = read_provider(p->service, p->providers[i], reterr);
	if (r == PROVIDER_GONE)
		p->current = false;
	return r > 0 ? AGAIN : r;
}

static int read_all(struct publisher *p, struct err *reterr)
{
	struct placement_tree tree;
	int r = p->root[0] ? 0 : find_root(p, reterr);

	if (r == 0)
		r = get_tree(p, &tree, reterr);
	if (r != 0)
		return r;
	if (!tree.has_root)
		return lose_root(p, reterr);
	take_tree(p, &tree);
	p->current = true;
	p->read_ns = clock_now().mono_ns;
	return read_unknown(p, reterr);
}

/* --- write --- */

static const struct wanted_gpu *find_wanted(const struct wanted *wanted, const char *gpu)
{
	for (size_t i = 0; i < wanted->n_gpus; i++)
		if (strcmp(wanted->gpus[i].name, gpu) == 0)
			return &wanted->gpus[i];
	return NULL;
}

/*
 * Handles the result of a request. After a negative errno the copy stays: if the request was
 * processed nevertheless, the next write has an old generation and is refused.
 */
static int judge_provider(struct publisher *p, struct provider *provider, int r)
{
	struct err lost;

	if (r == PROVIDER_CHANGED)
		provider->known = false;
	else if (r == PROVIDER_GONE)
		p->current = false;
	else if (r == PROVIDER_NO_PARENT)
		/* the caller has the message of Placement, which explains more */
		(void)lose_root(p, &lost);
	return r > 0 ? AGAIN : r;
}

static int create_missing(struct publisher *p, const struct wanted *wanted, struct err *reterr)
{
	for (size_t i = 0; i < wanted->n_gpus; i++) {
		struct provider *provider = NULL;
		int r;

		for (size_t j = 0; j < p->n_providers && !provider; j++)
			if (strcmp(p->providers[j]->id.gpu, wanted->gpus[i].name) == 0)
				provider = p->providers[j];
		if (provider)
			continue;
		if (p->n_providers == PLACEMENT_GPUS_MAX)
			return err_fail(reterr, E2BIG, "more than %d providers of GPUs",
					PLACEMENT_GPUS_MAX);
		provider = xcalloc(1, sizeof(*provider));
		r = create_provider(p->service, p->host, p->root, wanted->gpus[i].name, provider,
				    reterr);
		if (r != 0) {
			r = judge_provider(p, provider, r);
			free(provider);
			return r;
		}
		p->providers[p->n_providers++] = provider;
		p->writes++;
	}
	return 0;
}

static bool in_use(const struct provider *provider)
{
	for (size_t i = 0; i < provider->seen.usages.n_classes; i++)
		if (provider->seen.usages.classes[i].used > 0)
			return true;
	return false;
}

static int remove_provider(struct publisher *p, size_t index, struct err *reterr)
{
	int r = delete_provider(p->service, p->providers[index], reterr);

	if (r != 0)
		return judge_provider(p, p->providers[index], r);
	free(p->providers[index]);
	p->providers[index] = p->providers[--p->n_providers];
	p->writes++;
	return 0;
}

/* Writes the difference of one provider. @wanted NULL: withdraws it. */
static int write_one(struct publisher *p, struct provider *provider, const struct wanted *wanted,
		     struct err *reterr)
{
	struct difference difference;
	int r = 0;

	if (wanted)
		r = difference_compute(find_wanted(wanted, provider->id.gpu), &provider->seen,
				       &difference);
	else
		difference_withdraw(&provider->seen, &difference);
	if (r < 0)
		return err_fail(reterr, -r, "GPU %s: more than %d classes, %d traits or %d slots",
				provider->id.gpu, PLACEMENT_CLASSES_MAX, PLACEMENT_TRAITS_MAX,
				PLACEMENT_TOTAL_MAX);
	r = write_provider(p->service, provider, &difference, &p->writes, reterr);
	return judge_provider(p, provider, r);
}

/* Writes all differences between the copy and @wanted. */
static int write_all(struct publisher *p, const struct wanted *wanted, struct err *reterr)
{
	int r = wanted ? create_missing(p, wanted, reterr) : 0;

	for (size_t i = p->n_providers; i-- > 0 && r == 0;) {
		struct provider *provider = p->providers[i];

		if (wanted && !find_wanted(wanted, provider->id.gpu) && !in_use(provider))
			r = remove_provider(p, i, reterr);
		else
			r = write_one(p, provider, wanted, reterr);
	}
	return r;
}

/* --- publish --- */

/* Placement finds no host for a flavor that forbids a trait which does not exist. */
static int create_traits(struct publisher *p, struct err *reterr)
{
	int r = create_word(p->service, "traits", WANTED_TRAIT_OVERLOADED, reterr);

	if (r == 0)
		r = create_word(p->service, "traits", WANTED_TRAIT_DRAINING, reterr);
	p->has_traits = r == 0;
	return r;
}

static bool is_recent(const struct publisher *p)
{
	return clock_now().mono_ns - p->read_ns < (uint64_t)p->read_ms * NS_PER_MS;
}

/*
 * A write of the right generation proves that the copy of this provider was current. Without a
 * difference only a read can prove it, and at times also the copies of the other providers. When
 * the cloud returns, the hosts of a fleet do not read first: their writes alone keep it busy.
 */
static int converge(struct publisher *p, const struct wanted *wanted, struct err *reterr)
{
	int before = p->writes, r;

	if (p->current && (is_recent(p) || p->unreachable.failures > 0)) {
		r = read_unknown(p, reterr);
		if (r == 0)
			r = write_all(p, wanted, reterr);
		if (r != 0 || p->writes > before)
			return r;
	}
	r = read_all(p, reterr);
	if (r == 0 && wanted && !p->has_traits)
		r = create_traits(p, reterr);
	return r == 0 ? write_all(p, wanted, reterr) : r;
}

static void sleep_ms(int ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

/* The copy of a success without a recent read needs one, but not that of all hosts at once. */
static int pause_after_success(const struct publisher *p)
{
	if (is_recent(p))
		return 0;
	return REREAD_MIN_MS + (int)(random_number() % (REREAD_MAX_MS - REREAD_MIN_MS + 1));
}

/* Chooses the pause before the next call. */
static void settle(struct publisher *p, int result)
{
	bool down = result == -ENOTCONN || result == -ECONNRESET || result == -EAGAIN ||
		    result == PUBLISHER_BUSY;
	struct backoff *backoff = down ? &p->unreachable : &p->no_root;

	if (!down)
		backoff_succeed(&p->unreachable);
	if (result != PUBLISHER_NO_ROOT)
		backoff_succeed(&p->no_root);
	if (down || result == PUBLISHER_NO_ROOT) {
		backoff_fail(backoff);
		p->pause_ms = backoff_pause_ms(backoff, random_number());
	} else {
		p->pause_ms = result == 0 ? pause_after_success(p) : REFUSED_MS;
	}
}

static int publish(struct publisher *p, const struct wanted *wanted, struct err *reterr)
{
	/* a refused write is normal: repeat soon, but not at the same instant as the other client
	 */
	struct backoff again = {AGAIN_FIRST_MS, AGAIN_MAX_MS, 0};
	int r = AGAIN;

	p->writes = 0;
	for (int i = 0; i < ATTEMPTS && r == AGAIN; i++) {
		if (i > 0)
			sleep_ms(backoff_pause_ms(&again, random_number()));
		r = converge(p, wanted, reterr);
		backoff_fail(&again);
	}
	if (r == AGAIN)
		r = PUBLISHER_BUSY;
	settle(p, r);
	return r;
}

static void add_class(struct published_gpu *gpu, const char *name, int used, int sold)
{
	struct published_class *class = &gpu->classes[gpu->n_classes];

	if (gpu->n_classes == PLACEMENT_CLASSES_MAX || (used == 0 && sold == 0))
		return;
	snprintf(class->name, sizeof(class->name), "%s", name);
	class->used = used;
	class->sold = sold;
	gpu->n_classes++;
}

/* Each allocation of a flavour takes an offer, also one without a unit of the common class. */
static int count_used(const struct placement_usages *usages, const char *name)
{
	int at = placement_find_usage(usages, name), sum = 0;
	int used = at < 0 ? 0 : usages->classes[at].used;

	for (size_t i = 0; wanted_is_common(name) && i < usages->n_classes; i++)
		if (wanted_is_slot(usages->classes[i].name))
			sum += usages->classes[i].used;
	return max_int(used, sum);
}

static void report_gpu(const struct provider *provider, const struct wanted_gpu *wanted,
		       struct published_gpu *gpu)
{
	const struct placement_usages *usages = &provider->seen.usages;

	snprintf(gpu->name, sizeof(gpu->name), "%s", provider->id.gpu);
	memcpy(gpu->uuid, provider->id.uuid, sizeof(gpu->uuid));
	gpu->n_classes = 0;
	for (size_t i = 0; wanted && i < wanted->n_classes; i++) {
		const struct wanted_class *class = &wanted->classes[i];

		add_class(gpu, class->name, count_used(usages, class->name),
			  class->contracts + class->offers);
	}
	for (size_t i = 0; i < usages->n_classes; i++) {
		bool reported = false;

		for (size_t j = 0; j < gpu->n_classes; j++)
			reported |= strcmp(gpu->classes[j].name, usages->classes[i].name) == 0;
		if (!reported)
			add_class(gpu, usages->classes[i].name, usages->classes[i].used, 0);
	}
}

int publisher_publish(struct publisher *p, const struct wanted *wanted,
		      struct published *ret_published, struct err *reterr)
{
	int r = publish(p, wanted, reterr);

	if (r != 0 || !ret_published)
		return r;
	ret_published->writes = p->writes;
	ret_published->n_gpus = p->n_providers;
	for (size_t i = 0; i < p->n_providers; i++)
		report_gpu(p->providers[i], find_wanted(wanted, p->providers[i]->id.gpu),
			   &ret_published->gpus[i]);
	return 0;
}

int publisher_withdraw(struct publisher *p, struct err *reterr)
{
	return publish(p, NULL, reterr);
}

int publisher_pause_ms(const struct publisher *p)
{
	return p->pause_ms;
}
