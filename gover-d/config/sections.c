/* SPDX-License-Identifier: MIT */
/* The kinds of sections whose title contains a name, and the defaults of their keys. */
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "compute/channel/wire.h"
#include "gpu/xe/xe.h"
#include "gover-d/config/table.h"

static void default_gpu(void *section, const char *name)
{
	struct gpu_section *gpu = section;

	*gpu = (struct gpu_section){
		.gpu = {.backend = "auto",
			.truth = "auto",
			.proc = "/proc",
			.socket = COMPUTE_DEFAULT_SOCKET,
			.discipline = "fair",
			.sharing = "auto",
			.lease_ms = 60000,
			.least_slice_ms = XE_LEAST_SLICE_MS,
			.longest_round_ms = XE_LONGEST_ROUND_MS,
			.preempt_timeout_ms = XE_PREEMPT_TIMEOUT_MS,
			.capacity_cores = 1,
			.speed = 1,
			.unit = "frames"},
		.intel_gpu_top = "auto",
		.fps_source = "preload",
	};
	memcpy(gpu->gpu.name, name, strlen(name) + 1);
}

static void default_flavor(void *section, const char *name)
{
	struct flavor *flavor = section;

	*flavor = (struct flavor){
		.cap_pct = 50,
		.price_per_cap_hour = PRICE_UNSET,
		.penalty_per_broken_s = PRICE_UNSET,
	};
	memcpy(flavor->name, name, strlen(name) + 1);
}

static void default_client(void *section, const char *name)
{
	struct client_section *client = section;

	*client = (struct client_section){.scope = "read"};
	memcpy(client->name, name, strlen(name) + 1);
}

const struct config_kind config_kinds[CONFIG_KINDS] = {
	[CONFIG_KIND_GPU] = {.section = CONFIG_GPU_SECTION,
			     .word = "gpu",
			     .noun = "a GPU",
			     .default_name = "gpu0",
			     .list_at = offsetof(struct config, gpus),
			     .n_at = offsetof(struct config, n_gpus),
			     .size = sizeof(struct gpu_section),
			     .name_at = offsetof(struct gpu_section, gpu.name),
			     .max = GPUS_MAX,
			     .set_default = default_gpu},
	[CONFIG_KIND_FLAVOR] = {.section = CONFIG_FLAVOR_SECTION,
				.word = "flavor",
				.noun = "a flavour",
				.list_at = offsetof(struct config, flavors),
				.n_at = offsetof(struct config, n_flavors),
				.size = sizeof(struct flavor),
				.name_at = offsetof(struct flavor, name),
				.max = FLAVORS_MAX,
				.set_default = default_flavor},
	[CONFIG_KIND_CLIENT] = {.section = CONFIG_CLIENT_SECTION,
				.word = "client",
				.noun = "a client",
				.list_at = offsetof(struct config, clients),
				.n_at = offsetof(struct config, n_clients),
				.size = sizeof(struct client_section),
				.name_at = offsetof(struct client_section, name),
				.max = CLIENTS_MAX,
				.set_default = default_client},
};
_Static_assert(FLAVORS_MAX <= CONFIG_SECTIONS_MAX && GPUS_MAX <= CONFIG_SECTIONS_MAX &&
		       CLIENTS_MAX <= CONFIG_SECTIONS_MAX,
	       "no kind has more sections than CONFIG_SECTIONS_MAX");

const struct config_kind *config_kind_find(const struct setting *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(config_kinds); i++)
		if (strcmp(config_kinds[i].section, key->section) == 0)
			return &config_kinds[i];
	return NULL;
}

int config_kind_count(const struct config_kind *kind, const struct config *config)
{
	return *(const int *)(const void *)((const char *)config + kind->n_at);
}

void config_kind_set_count(const struct config_kind *kind, struct config *config, int n)
{
	*(int *)(void *)((char *)config + kind->n_at) = n;
}

const void *config_kind_at(const struct config_kind *kind, const struct config *config, int index)
{
	return (const char *)config + kind->list_at + (size_t)index * kind->size;
}

const char *config_kind_name(const struct config_kind *kind, const struct config *config, int index)
{
	return (const char *)config_kind_at(kind, config, index) + kind->name_at;
}
