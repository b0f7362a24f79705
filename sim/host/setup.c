/* SPDX-License-Identifier: MIT */
/* Creates a scenario and a policy from command line arguments. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/host/setup.h"

#define PAST_ONLY_POLICY "qos" /* "past-only" without @POLICY means past-only@qos */

static int take_set(struct scenario *scenario, const char *set, struct err *reterr)
{
	const char *equals = strchr(set, '=');
	struct err inner = {""};
	char key[64];
	int r;

	if (!equals || equals == set || (size_t)(equals - set) >= sizeof(key))
		return err_fail(reterr, EINVAL, "--set %.80s: not a setting (allowed: KEY=VALUE)",
				set);
	memcpy(key, set, (size_t)(equals - set));
	key[equals - set] = '\0';
	r = scenario_set(scenario, key, equals + 1, &inner);
	return r < 0 ? err_fail(reterr, -r, "--set %.80s: %s", set, inner.msg) : 0;
}

int setup_sets(struct scenario *scenario, const char *const *sets, int n_sets, struct err *reterr)
{
	int r = 0;

	for (int i = 0; r == 0 && i < n_sets; i++)
		r = take_set(scenario, sets[i], reterr);
	return r == 0 ? scenario_check(scenario, reterr) : r;
}

void setup_free(struct scenario *scenario)
{
	if (scenario)
		scenario_fini(scenario);
	free(scenario);
}

int setup_scenario(const char *path, const char *const *sets, int n_sets,
		   struct scenario **ret_scenario, struct err *reterr)
{
	struct scenario *scenario = malloc(sizeof(*scenario));
	int r;

	if (!scenario)
		return err_fail(reterr, ENOMEM, "out of memory");
	r = scenario_load(path, scenario, reterr);
	if (r == 0)
		r = setup_sets(scenario, sets, n_sets, reterr);
	if (r < 0) {
		setup_free(scenario);
		return r;
	}
	*ret_scenario = scenario;
	return 0;
}

static int find_policy(const char *name, const struct policy **ret_policy, struct err *reterr)
{
	const struct policy *policy = policy_find(name);
	char names[256] = "";

	for (size_t i = 0; !policy && policy_at(i); i++) {
		size_t used = strlen(names);

		snprintf(names + used, sizeof(names) - used, "%s, ", policy_at(i)->name);
	}
	if (!policy)
		return err_fail(reterr, ENOENT,
				"policy '%.60s': unknown (allowed: %spast-only, past-only@POLICY, "
				"oracle)",
				name, names);
	*ret_policy = policy;
	return 0;
}

int setup_strategy(const char *name, struct setup_strategy *ret_strategy, struct err *reterr)
{
	const char *at = strchr(name, '@');
	struct setup_strategy strategy = {.policy = NULL};
	char kind[32];
	int r;

	snprintf(kind, sizeof(kind), "%.*s", (int)(at ? at - name : (ptrdiff_t)strlen(name)), name);
	strategy.is_bound = bound_find(kind, &strategy.kind) == 0;
	if (strategy.is_bound && strategy.kind == BOUND_ORACLE && !at) {
		*ret_strategy = strategy;
		return 0;
	}
	if (strategy.is_bound && strategy.kind == BOUND_PAST_ONLY)
		r = find_policy(at ? at + 1 : PAST_ONLY_POLICY, &strategy.policy, reterr);
	else
		r = find_policy(name, &strategy.policy, reterr);
	if (r == 0)
		*ret_strategy = strategy;
	return r;
}

int setup_experiment(const struct setup_strategy *strategy, const struct scenario *scenario,
		     uint64_t seed,
		     void (*on_event)(void *userdata, const struct experiment_event *event),
		     void *userdata, struct experiment **ret_experiment, struct bound **ret_bound,
		     struct err *reterr)
{
	const struct experiment_hooks hooks = {.userdata = userdata, .on_event = on_event};
	int r;

	*ret_bound = NULL;
	if (!strategy->is_bound)
		return experiment_new(scenario, strategy->policy, NULL, seed, &hooks,
				      ret_experiment, reterr);
	r = bound_new(scenario, strategy->kind, strategy->policy, seed, ret_bound, reterr);
	if (r == 0)
		r = bound_experiment(*ret_bound, on_event, userdata, ret_experiment, reterr);
	if (r < 0)
		*ret_bound = bound_free(*ret_bound);
	return r;
}
