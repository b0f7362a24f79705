/* SPDX-License-Identifier: MIT */
/*
 * Owns a copy of the providers as they were last read or written. The copy may be old: a write that
 * is based on it is then refused, and everything is read again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/xalloc.h"
#include "gover-fleet/cloud/backoff.h"
#include "gover-fleet/cloud/provider.h"
#include "gover-fleet/cloud/publisher.h"

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
	char path[320];
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
	char path[320];
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
			r = provider_read(p->service, p->providers[i], reterr);
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
 * Handles a result of provider.h. After a negative errno the copy stays: if the request was
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
		r = provider_create(p->service, p->host, p->root, wanted->gpus[i].name, provider,
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
	int r = provider_delete(p->service, p->providers[index], reterr);

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
	r = provider_write(p->service, provider, &difference, &p->writes, reterr);
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
	int r = provider_create_trait(p->service, WANTED_TRAIT_OVERLOADED, reterr);

	if (r == 0)
		r = provider_create_trait(p->service, WANTED_TRAIT_DRAINING, reterr);
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
