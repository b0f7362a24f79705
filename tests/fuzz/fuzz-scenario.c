/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes scenarios. Every value of a valid scenario must be accepted when it is set again, and a
 * valid scenario must run.
 */
#include "sim/experiment/experiment.h"
#include "tests/fuzz/fuzz.h"

/* Sets each key to its current value. Skips sections that have a name, such as [tenant NAME]. */
static void set_again(struct scenario *scenario)
{
	const struct setting *key;

	for (size_t i = 0; (key = scenario_key_at(i)); i++) {
		char name[64], value[512];

		if (strchr(key->section, ' ') || strcmp(key->key, "from") == 0)
			continue;
		snprintf(name, sizeof(name), "%s.%s", key->section, key->key);
		setting_format(key, scenario, value, sizeof(value));
		FUZZ_CHECK(scenario_set(scenario, name, value, NULL) == 0);
	}
}

static void play(const struct scenario *scenario)
{
	const struct policy *policy = policy_find(scenario->policy);
	struct experiment_summary sum;
	struct experiment *experiment;

	if (experiment_new(scenario, policy, 1, NULL, &experiment, NULL) < 0)
		return;
	for (int i = 0; i < 3 && experiment_step(experiment); i++)
		;
	experiment_summarize(experiment, &sum);
	FUZZ_CHECK(sum.account.broken_s <= sum.account.vgpu_s + 1e-6);
	FUZZ_CHECK(sum.account.util_avg_pct >= 0 && sum.account.util_avg_pct < 100 + 1e-6);
	experiment_free(experiment);
}

FUZZ(scenario)
{
	static struct scenario scenario; /* static: too large for the stack */
	char path[FUZZ_PATH_MAX];
	int fd = fuzz_file(data, size, path);
	struct err err = {""};
	int r = scenario_load(path, &scenario, &err);

	close(fd);
	FUZZ_CHECK(r == 0 || strncmp(err.msg, path, strlen(path)) == 0);
	if (r < 0)
		return 0;
	set_again(&scenario);
	play(&scenario);
	scenario_fini(&scenario);
	return 0;
}
