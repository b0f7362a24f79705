/* SPDX-License-Identifier: MIT */
/* Creates a scenario and a policy from command line arguments. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "sim/host/setup.h"

/* The names that select the best schedule found. */
static const struct schedule_name {
	const char *name;
	/* used if the name has no @POLICY */
	enum best_schedule_kind kind;
	const char *policy;
	bool takes_policy; /* true: @POLICY is allowed */
} schedule_names[] = {
	{"best-found", BEST_SCHEDULE_BY_FUTURE, NULL, true},
	/* former names */
	{"past-only", BEST_SCHEDULE_BY_POLICY, "qos", true},
	{"oracle", BEST_SCHEDULE_BY_FUTURE, NULL, false},
};

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
	struct scenario *scenario = xmalloc(sizeof(*scenario));
	int r;

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

void setup_list_policies(const char *separator, char *text, size_t size)
{
	text[0] = '\0';
	for (size_t i = 0; policy_at(i); i++) {
		size_t used = strlen(text);

		snprintf(text + used, size - used, "%s%s", used ? separator : "",
			 policy_at(i)->name);
	}
}

static int find_policy(const char *name, const struct policy **ret_policy, struct err *reterr)
{
	const struct policy *policy = policy_find(name);
	char names[256];

	setup_list_policies(", ", names, sizeof(names));
	if (!policy)
		return err_fail(
			reterr, ENOENT,
			"policy '%.60s': unknown (allowed: %s, best-found, best-found@POLICY)",
			name, names);
	*ret_policy = policy;
	return 0;
}

static const struct schedule_name *find_schedule(const char *name, size_t length)
{
	for (size_t i = 0; i < ARRAY_SIZE(schedule_names); i++)
		if (strlen(schedule_names[i].name) == length &&
		    strncmp(schedule_names[i].name, name, length) == 0)
			return &schedule_names[i];
	return NULL;
}

int setup_strategy(const char *name, struct setup_strategy *ret_strategy, struct err *reterr)
{
	size_t length = strcspn(name, "@");
	const struct schedule_name *schedule = find_schedule(name, length);
	struct setup_strategy strategy = {.is_schedule = schedule};
	const char *policy = name;
	int r = 0;

	if (schedule && name[length] == '\0') {
		strategy.kind = schedule->kind;
		policy = schedule->policy;
	} else if (schedule && schedule->takes_policy) {
		strategy.kind = BEST_SCHEDULE_BY_POLICY;
		policy = name + length + 1;
	}
	if (policy)
		r = find_policy(policy, &strategy.policy, reterr);
	if (r == 0)
		*ret_strategy = strategy;
	return r;
}

int setup_experiment(const struct setup_strategy *strategy, const struct scenario *scenario,
		     uint64_t seed,
		     void (*on_event)(void *userdata, const struct experiment_event *event),
		     void *userdata, struct experiment **ret_experiment,
		     struct best_schedule **ret_schedule, struct err *reterr)
{
	const struct experiment_hooks hooks = {.userdata = userdata, .on_event = on_event};
	int r;

	*ret_schedule = NULL;
	if (!strategy->is_schedule)
		return experiment_new(scenario, strategy->policy, NULL, seed, &hooks,
				      ret_experiment, reterr);
	r = best_schedule_new(scenario, strategy->kind, strategy->policy, seed, ret_schedule,
			      reterr);
	if (r == 0)
		r = best_schedule_experiment(*ret_schedule, on_event, userdata, ret_experiment,
					     reterr);
	if (r < 0)
		*ret_schedule = best_schedule_free(*ret_schedule);
	return r;
}
