/* SPDX-License-Identifier: MIT */
/* The settings in force: the configuration with the changes that clients have made. */
#ifndef GOVER_D_CONFIG_SETTINGS_H
#define GOVER_D_CONFIG_SETTINGS_H

#include <jansson.h>

#include "base/clock.h"
#include "gover-d/config/config.h"

struct settings {
	struct config config;	   /* in force, with live changes */
	struct config file_config; /* of the file and the command line */
	/* owned: object of texts, the keys that clients have changed; NULL: none */
	json_t *live;
	const struct policy *policy; /* of @config */
	struct policy_params params; /* of @config, with times converted to periods */
	bool dry_run; /* no GPU, contract or cap journal is written; the history is */
};

static inline uint64_t settings_period_ns(const struct settings *settings)
{
	return (uint64_t)settings->config.period_ms * NS_PER_MS;
}

/* Sets the policy and its parameters from the configuration in force. */
static inline void settings_apply(struct settings *settings)
{
	settings->policy = policy_find(settings->config.policy);
	settings->params = config_policy_params(&settings->config);
}

#endif
