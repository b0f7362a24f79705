/* SPDX-License-Identifier: MIT */
/* Tests scenario files: valid files, error messages, and the keys in the manual page. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "sim/experiment/scenario.h"
#include "tests/unit/temp-file.h"
#include "tests/unit/unit.h"

#define PAGE	   "man/gover-scenario.5"
#define PAGE_MAX   65536
#define ONE_TENANT "[tenant a]\nworkload = glxgears\n"

static struct scenario scenario; /* too large for the stack */
static struct err err;

static int load(const char *text)
{
	temp_file_write(text);
	err.msg[0] = '\0';
	scenario_fini(&scenario); /* frees the traces of the previous scenario */
	return scenario_load(temp_file, &scenario, &err);
}

FIXTURE_ONCE(temp_file_make, temp_file_remove)

TEST(a_tenant_is_the_only_required_section)
{
	struct policy_terms terms;

	assert_int_equal(load(ONE_TENANT), 0);
	assert_int_equal(scenario.seconds, 200);
	assert_int_equal(scenario.period_ms, 1000);
	assert_int_equal(scenario.max_vgpus, 16);
	assert_string_equal(scenario.policy, "gover");
	assert_int_equal(scenario_params(&scenario).fund_window_periods, 30);
	assert_int_equal(scenario.n_tenants, 1);
	assert_string_equal(scenario.tenants[0].name, "a");
	assert_true(scenario.tenants[0].arrive_s < 0);
	assert_true(scenario.drawn[0]);
	terms = scenario_terms(&scenario, &scenario.tenants[0]);
	assert_int_equal(terms.initial_cap_pct, 50);
	assert_true(terms.target_fps <= 0);
	assert_true(terms.weight >= 1);
}

TEST(keys_of_a_tenant_override_its_flavor)
{
	const struct scenario_tenant *tenant = scenario.tenants;
	struct policy_terms terms;

	assert_int_equal(load("[price]\nprice_per_cap_hour = 2\npenalty_per_broken_s = 3\n"
			      "[flavor big]\ncap_pct = 40\ntarget_fps = 60\n"
			      "price_per_cap_hour = 5\n"
			      "[tenant a]\nworkload = plot3d\nflavor = big\n"
			      "[tenant b]\nworkload = plot3d\nflavor = big\ncontract_pct = 30\n"
			      "target_fps = 0\n"
			      "[tenant c]\nworkload = plot3d\n"),
			 0);
	terms = scenario_terms(&scenario, &tenant[0]);
	assert_int_equal(terms.initial_cap_pct, 40);
	assert_int_equal((int)terms.target_fps, 60);
	assert_int_equal((int)scenario_price_per_cap_hour(&scenario, &tenant[0]), 5);
	assert_int_equal((int)scenario_penalty_per_broken_s(&scenario, &tenant[0]), 3);
	terms = scenario_terms(&scenario, &tenant[1]);
	assert_int_equal(terms.initial_cap_pct, 30);
	assert_int_equal((int)terms.target_fps, 0);
	terms = scenario_terms(&scenario, &tenant[2]);
	assert_int_equal(terms.initial_cap_pct, 50);
	assert_int_equal((int)scenario_price_per_cap_hour(&scenario, &tenant[2]), 2);
}

TEST(the_kinds_that_take_offers_can_be_listed)
{
	static const char text[] = "[tenant a]\nworkload = idle\n[tenant b]\nworkload = idle\n"
				   "[tenant c]\nworkload = idle\n[arrivals]\nfrom = a, c\n"
				   "draw = shuffle\n";

	assert_int_equal(load(text), 0);
	assert_true(scenario.drawn[0] && !scenario.drawn[1] && scenario.drawn[2]);
	assert_int_equal(scenario.draw, SCENARIO_SHUFFLE);
}

static const struct {
	const char *text, *message; /* message: the expected message without the file name */
} mistakes[] = {
	{"", ": no tenants (required: a section [tenant NAME])"},
	{"[scenario]\nseconds = 0\n" ONE_TENANT,
	 ":2: [scenario] seconds = \"0\" is not allowed (allowed: 1..10000000 s)"},
	{"[scenario]\nsecond = 1\n", ":2: [scenario] has no key \"second\" (did you mean "
				     "\"seconds\"? allowed: seconds, "
				     "period_ms, seed, migrate, migrate_s"},
	{"[scenarios]\n", ":1: unknown section [scenarios] (did you mean \"scenario\"?"},
	{"[scenario]\n[scenario]\n", ":2: [scenario] is given twice"},
	{ONE_TENANT "workload = idle\n", ":3: [tenant NAME] workload is given twice"},
	{ONE_TENANT "[tenant a]\n", ":3: [tenant a] is given twice"},
	{ONE_TENANT "[flavor b]\n[flavor b]\n", ":4: [flavor b] is given twice"},
	{"[tenant]\n",
	 ":1: [tenant ]: not a valid name (allowed: 1 to 31 characters A-Z a-z 0-9 . _ -"},
	{"[tenant a b]\n", ":1: [tenant a b]: not a valid name"},
	{"[tenant aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]\n", ":1: [tenant aaaa"},
	{"\n[tenant a]\ncount = 2\n", ":2: [tenant a] workload: required"},
	{"[tenant a]\nworkload = load:pct=200\n",
	 ":2: [tenant a] workload load: pct '200': not valid (allowed:"},
	{"[tenant a]\nflavor = big\nworkload = idle\n",
	 ":2: [tenant a] flavor: [flavor big] is not defined above"},
	{"[tenant a]\nworkload = idle\narrive_s = -1\n",
	 ":3: [tenant NAME] arrive_s = \"-1\" is not allowed (allowed: 0..1e7 s, or offer)"},
	{"[tenant a]\nworkload = idle\narrive_s = nan\n", ":3: [tenant NAME] arrive_s = \"nan\""},
	{"[tenant a]\nworkload = idle\nmin_cap_pct = 60\n",
	 ":1: [tenant a] min_cap_pct = 60: above the contract (allowed: up to 50)"},
	{"[tenant a]\nworkload = load:pct=5\nshared_clock = on\n",
	 ":1: [tenant a] shared_clock = on: not possible with this workload (allowed: square, or "
	 "trace with loop=on)"},
	{ONE_TENANT "[arrivals]\nfrom = a b\n",
	 ":4: [arrivals] from: [tenant b] is not defined above"},
	{ONE_TENANT "arrive_s = 0\n[arrivals]\nfrom = a\n",
	 ":5: [arrivals] from: [tenant a] does not take offers "
	 "(allowed: tenants with arrive_s = offer)"},
	{ONE_TENANT "[arrivals]\ndraw = all\n",
	 ":4: [arrivals] draw = \"all\" is not allowed (allowed: independent, shuffle or "
	 "listed)"},
	{ONE_TENANT "[policy]\nname = best\n", ":4: [policy] name = \"best\" is not allowed"},
	{ONE_TENANT "[policy]\noverload_pct = 0\n",
	 ":4: [policy] overload_pct = \"0\" is not allowed (allowed: 1..100 percent)"},
	{ONE_TENANT "[policy]\nfund_window_s = 301\n",
	 ": [policy] fund_window_s = 301: too long (301 periods, limit 300)"},
	{ONE_TENANT "[policy]\nmin_newcomer_pct = 51\n",
	 ": [policy] min_newcomer_pct = 51: too large (allowed: up to [offer] flavor_cap_pct = "
	 "50)"},
	{ONE_TENANT "[offer]\nflavor_cap_pct = 5\n",
	 ": [policy] min_newcomer_pct = 10: too large (allowed: up to [offer] flavor_cap_pct = "
	 "5)"},
	{ONE_TENANT "[policy]\ncap_floor_pct = 51\n",
	 ": [policy] cap_floor_pct = 51: too large (allowed: up to [offer] flavor_cap_pct = 50)"},
	{ONE_TENANT "[host]\nstep_pct = 5\n",
	 ": [host] floor_pct = 1: not a multiple of step_pct = 5"},
	{ONE_TENANT "[host]\nsharing = soft\n",
	 ":4: [host] sharing = \"soft\" is not allowed (allowed: hard or guarantee)"},
	{ONE_TENANT "[host]\ndiscipline = guarantee\n",
	 ":4: [host] discipline = \"guarantee\" is not allowed (allowed: cap or weight)"},
	{ONE_TENANT "[host]\nsharing = guarantee\ndiscipline = weight\n",
	 ": [host] sharing = guarantee: not possible with discipline = weight (allowed: "
	 "discipline = cap)"},
	{ONE_TENANT "[host]\nsharing = guarantee\n[policy]\npaper_mode = on\n",
	 ": [host] sharing = guarantee: not possible with [policy] paper_mode = on, because the "
	 "caps of the paper are hard limits (allowed: hard)"},
	{"seconds = 1\n", ":1: key \"seconds\" before the first section"},
	{ONE_TENANT "seconds\n", ":3: not a line of an INI file"},
};

TEST(error_messages_name_the_line)
{
	for (size_t i = 0; i < ARRAY_SIZE(mistakes); i++) {
		size_t length = strlen(temp_file);

		assert_int_equal(load(mistakes[i].text), -EINVAL);
		if (strncmp(err.msg, temp_file, length) != 0 ||
		    strncmp(err.msg + length, mistakes[i].message, strlen(mistakes[i].message)) !=
			    0)
			fail_msg("%s\ngot %s\nwanted FILE%s", mistakes[i].text, err.msg,
				 mistakes[i].message);
	}
}

TEST(single_values_can_be_set)
{
	assert_int_equal(load(ONE_TENANT), 0);
	assert_int_equal(scenario_set(&scenario, "overload_pct", "80", &err), 0);
	assert_int_equal((int)scenario.params.overload_pct, 80);
	assert_int_equal(scenario_set(&scenario, "policy.overload_pct", "70", &err), 0);
	assert_int_equal((int)scenario.params.overload_pct, 70);
	assert_int_equal(scenario_set(&scenario, "scenario.seconds", "7", &err), 0);
	assert_int_equal(scenario.seconds, 7);
	assert_int_equal(scenario_set(&scenario, "offer.flavor_cap_pct", "20", &err), 0);
	assert_int_equal(scenario_terms(&scenario, scenario.tenants).initial_cap_pct, 20);
	assert_int_equal(scenario_set(&scenario, "seconds", "7", &err), -ENOENT);
	assert_int_equal(scenario_set(&scenario, "tenant NAME.count", "7", &err), -ENOENT);
	assert_int_equal(scenario_set(&scenario, "tenant.count", "7", &err), -ENOENT);
	assert_int_equal(scenario_set(&scenario, "scenario.seconds", "x", &err), -EINVAL);
	assert_int_equal(scenario.seconds, 7);
}

TEST(a_scenario_can_be_made_in_code)
{
	scenario_fini(&scenario);
	scenario_default(&scenario);
	assert_int_equal(scenario_check(&scenario, &err), -EINVAL);
	assert_string_equal(err.msg, "scenario: no tenants (required: a section [tenant NAME])");
	scenario.tenants[scenario.n_tenants++] = (struct scenario_tenant){
		.name = "a",
		.workload_text = "idle",
		.flavor = -1,
		.target_fps = -1,
		.weight = 1,
		.arrive_s = SCENARIO_BY_OFFER,
		.count = 1,
	};
	assert_int_equal(workload_parse("idle", &scenario.tenants[0].workload, &err), 0);
	assert_int_equal(scenario_check(&scenario, &err), 0);
	assert_true(scenario.drawn[0]);
}

/*
 * The manual page contains each key as "KEY = DEFAULT", or as "KEY" if it has no default, and then
 * "Allowed: ...". The keys of [policy] are in gover.conf(5).
 */
TEST(the_page_has_every_key)
{
	CLEANUP_FREE char *page = NULL;
	const struct setting *key;
	const char *section = "";
	size_t length;

	assert_int_equal(load(ONE_TENANT), 0);
	assert_int_equal(file_read(PAGE, PAGE_MAX, &page, &length), 0);
	for (size_t i = 0; (key = scenario_key_at(i)); i++) {
		char value[256] = "", item[700];
		const char *at;

		if (strcmp(key->section, "policy") == 0)
			continue;
		if (strcmp(key->section, section) != 0) {
			section = key->section;
			snprintf(item, sizeof(item), ".Ss [%s]\n", section);
			assert_non_null(strstr(page, item));
		}
		snprintf(item, sizeof(item), ".Ss [%s]\n", section);
		at = strstr(page, item);
		if (!strchr(section, ' '))
			setting_format(key, &scenario, value, sizeof(value));
		snprintf(item, sizeof(item), "\n.It Ic %s%s%s\nAllowed: %s.\n", key->key,
			 value[0] ? " = " : "", value, key->allowed);
		if (strchr(section, ' ')) {
			snprintf(item, sizeof(item), "\n.It Ic %s", key->key);
			at = strstr(at, item);
			snprintf(item, sizeof(item), "\nAllowed: %s.\n", key->allowed);
		}
		if (!at || !strstr(at, item))
			fail_msg("%s: missing: %s", PAGE, item);
	}
}
