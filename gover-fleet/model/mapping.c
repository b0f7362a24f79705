/* SPDX-License-Identifier: MIT */
/* The mapping of docs/openstack.md: a provider for each GPU, with a class for each flavour and the
 * common class. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gover-fleet/model/mapping.h"

/* Independent of the locale, unlike toupper(). */
static char word_character(char c)
{
	if (c >= 'a' && c <= 'z')
		return (char)(c - 'a' + 'A');
	return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
}

int wanted_word(const char *prefix, const char *name, char *ret_word, size_t size)
{
	size_t at = strlen(prefix), length = strlen(name);

	if (length == 0)
		return -EINVAL;
	if (at + length >= size)
		return -ENAMETOOLONG;
	memcpy(ret_word, prefix, at);
	for (size_t i = 0; i < length; i++)
		ret_word[at + i] = word_character(name[i]);
	ret_word[at + length] = '\0';
	return 0;
}

bool wanted_is_slot(const char *class_name)
{
	return strncmp(class_name, WANTED_CLASS_PREFIX, strlen(WANTED_CLASS_PREFIX)) == 0;
}

bool wanted_is_common(const char *class_name)
{
	return strcmp(class_name, WANTED_CLASS_COMMON) == 0;
}

#define ENDING_MAX_MS 1000

int mapping_class_name(const char *flavor, char ret_name[WANTED_CLASS_MAX])
{
	return wanted_word(WANTED_CLASS_PREFIX, flavor, ret_name, WANTED_CLASS_MAX);
}

/*
 * Finds the class of a GPU, or adds it at its place in the order of the names. NULL: too many
 * classes.
 */
static struct wanted_class *class_in(struct wanted_gpu *gpu, const char *name)
{
	size_t i = 0;

	while (i < gpu->n_classes && strcmp(gpu->classes[i].name, name) < 0)
		i++;
	if (i < gpu->n_classes && strcmp(gpu->classes[i].name, name) == 0)
		return &gpu->classes[i];
	if (gpu->n_classes == WANTED_CLASSES_MAX)
		return NULL;
	memmove(&gpu->classes[i + 1], &gpu->classes[i],
		(gpu->n_classes++ - i) * sizeof(gpu->classes[0]));
	gpu->classes[i] = (struct wanted_class){0};
	snprintf(gpu->classes[i].name, sizeof(gpu->classes[i].name), "%s", name);
	return &gpu->classes[i];
}

static struct wanted_gpu *find_gpu(struct wanted *wanted, const char *name)
{
	for (size_t i = 0; i < wanted->n_gpus; i++)
		if (strcmp(wanted->gpus[i].name, name) == 0)
			return &wanted->gpus[i];
	return NULL;
}

static struct wanted_class *class_of(struct wanted *wanted, const char *gpu, const char *flavor)
{
	struct wanted_gpu *found = find_gpu(wanted, gpu);
	char name[WANTED_CLASS_MAX];

	if (!found || mapping_class_name(flavor, name) < 0)
		return NULL;
	return class_in(found, name);
}

/* The common class comes before the first flavour of a GPU, so that there is always room for it. */
static struct wanted_class *common_of(struct wanted *wanted, const char *gpu)
{
	struct wanted_gpu *found = find_gpu(wanted, gpu);

	return found ? class_in(found, WANTED_CLASS_COMMON) : NULL;
}

static void add(struct wanted_class *class, const struct wanted_class *count)
{
	class->contracts += count->contracts;
	class->offers += count->offers;
	class->ending += count->ending;
}

/* Returns 0, or 1 if the contract cannot be published. */
static size_t count_contract(struct wanted *wanted, const struct state_vgpu *vgpu)
{
	static const struct wanted_class count = {.contracts = 1};
	struct wanted_class *common = common_of(wanted, vgpu->gpu), *class;

	class = class_of(wanted, vgpu->gpu, vgpu->flavor);
	if (!common || !class)
		return 1;
	add(class, &count);
	add(common_of(wanted, vgpu->gpu), &count);
	return 0;
}

int64_t mapping_ending_ms(const struct host_state *state)
{
	int64_t part_ms = (int64_t)state->offer_ttl_s * 1000 / 20;

	return part_ms < ENDING_MAX_MS ? part_ms : ENDING_MAX_MS;
}

/* The time of expiry of an offer of a gover-d that does not report it is 0. */
static bool is_ending(const struct host_state *state, const struct state_offer *offer,
		      int64_t now_ms)
{
	return offer->expires_ms > 0 && !offer->held_by[0] &&
	       offer->expires_ms - now_ms <= mapping_ending_ms(state);
}

/* Adds @count to the classes of the offer. Returns the number of flavours that cannot be published.
 */
static size_t count_offer(struct wanted *wanted, const struct state_offer *offer,
			  const struct wanted_class *count)
{
	struct wanted_class *common = common_of(wanted, offer->gpu), *class;
	size_t lost = 0, listed = 0;
	const char *flavor;

	for (size_t i = 0; (flavor = host_state_offer_flavor(offer, i)); i++) {
		class = common ? class_of(wanted, offer->gpu, flavor) : NULL;
		if (class)
			add(class, count);
		lost += !class;
		listed += class != NULL;
	}
	if (listed > 0)
		add(common_of(wanted, offer->gpu), count);
	return lost;
}

/* More demand than the GPU has, or a broken promise that no move of caps on this host can mend. */
static bool is_overload(const struct state_alert *alert)
{
	if (strcmp(alert->name, "promise_broken") == 0)
		return strcmp(alert->cause, "gpu_overcommitted") == 0 ||
		       strcmp(alert->cause, "donors_at_floor") == 0;
	return strcmp(alert->name, "severe_overload") == 0;
}

static bool is_overloaded(const struct host_state *state, const char *gpu)
{
	for (size_t i = 0; i < state->n_alerts; i++)
		if (is_overload(&state->alerts[i]) && strcmp(state->alerts[i].gpu, gpu) == 0)
			return true;
	return false;
}

size_t mapping_want(const struct host_state *state, bool with_offers, int64_t now_ms,
		    struct wanted *ret_wanted)
{
	size_t lost = 0;

	memset(ret_wanted, 0, sizeof(*ret_wanted));
	for (size_t i = 0; i < state->n_gpus; i++) {
		struct wanted_gpu *gpu = &ret_wanted->gpus[ret_wanted->n_gpus];

		if (ret_wanted->n_gpus == WANTED_GPUS_MAX) {
			lost++;
			continue;
		}
		ret_wanted->n_gpus++;
		memcpy(gpu->name, state->gpus[i].name, sizeof(gpu->name));
		memcpy(gpu->policy, state->policy, sizeof(gpu->policy));
		gpu->draining = !state->gpus[i].selling;
		gpu->overloaded = is_overloaded(state, gpu->name);
	}
	for (size_t i = 0; i < state->n_vgpus; i++)
		if (state->vgpus[i].sold)
			lost += count_contract(ret_wanted, &state->vgpus[i]);
	for (size_t i = 0; i < state->n_offers; i++) {
		const struct state_offer *offer = &state->offers[i];
		struct wanted_class count = {
			.offers = with_offers,
			.ending = with_offers && is_ending(state, offer, now_ms),
		};

		if (offer->open)
			lost += count_offer(ret_wanted, offer, &count);
	}
	return lost;
}

bool mapping_class_fits(const char *class_name, const char *flavor)
{
	char name[WANTED_CLASS_MAX];

	return mapping_class_name(flavor, name) == 0 && strcmp(name, class_name) == 0;
}

const char *mapping_offered_flavor(const struct state_offer *offer, const char *class_name)
{
	const char *flavor;

	for (size_t i = 0; (flavor = host_state_offer_flavor(offer, i)); i++)
		if (mapping_class_fits(class_name, flavor))
			return flavor;
	return NULL;
}

bool mapping_offer_fits(const struct state_offer *offer, const char *class_name, const char *gpu)
{
	return offer->open && (gpu[0] == '\0' || strcmp(offer->gpu, gpu) == 0) &&
	       mapping_offered_flavor(offer, class_name);
}

const char *mapping_flavor_of(const struct host_state *state, const char *class_name)
{
	if (mapping_class_fits(class_name, state->flavor))
		return state->flavor;
	for (size_t i = 0; i < state->n_offers; i++)
		if (mapping_offered_flavor(&state->offers[i], class_name))
			return mapping_offered_flavor(&state->offers[i], class_name);
	for (size_t i = 0; i < state->n_vgpus; i++)
		if (mapping_class_fits(class_name, state->vgpus[i].flavor))
			return state->vgpus[i].flavor;
	return wanted_is_slot(class_name) ? class_name + strlen(WANTED_CLASS_PREFIX) : class_name;
}
