/* SPDX-License-Identifier: MIT */
/* The settings in force: the configuration with the changes that clients have made. */
#ifndef GOVER_D_CONFIG_SETTINGS_H
#define GOVER_D_CONFIG_SETTINGS_H

#include <jansson.h>
#include <string.h>

#include "base/clock.h"
#include "gover-d/config/flavor.h"

struct settings {
	struct config config;	   /* in force, with live changes */
	struct config file_config; /* of the file and the command line */
	/* owned: object of texts, the keys that clients have changed; NULL: none */
	json_t *live;
	/* owned: array of texts, the changed keys of the files that need a restart; NULL: none */
	json_t *restart_keys;
	const struct policy *policy; /* of @config */
	struct policy_params params; /* of @config, with times converted to periods */
	/* of @config, see flavor_list_offered() */
	struct flavor offered[OFFERED_MAX];
	int n_offered;
	struct flavor on_sale; /* of @config: the flavour of [offer] */
	bool dry_run;	       /* no GPU, contract or cap journal is written; the history is */
};

static inline uint64_t settings_period_ns(const struct settings *settings)
{
	return (uint64_t)settings->config.period_ms * NS_PER_MS;
}

/* Sets the policy, its parameters and the flavours from the configuration in force. */
static inline void settings_apply(struct settings *settings)
{
	settings->policy = policy_find(settings->config.policy);
	settings->params = config_policy_params(&settings->config);
	settings->n_offered = flavor_list_offered(&settings->config, settings->offered);
	settings->on_sale = flavor_of(&settings->config, "");
}

/* Returns the same flavour as flavor_of(). */
static inline const struct flavor *settings_flavor(const struct settings *settings,
						   const char *name)
{
	const struct config *config = &settings->config;

	for (int i = 0; i < config->n_flavors; i++)
		if (strcmp(config->flavors[i].name, name) == 0)
			return &config->flavors[i];
	return &settings->on_sale;
}

#endif
