/* SPDX-License-Identifier: MIT */
/* Flavours: loading, lookup by name, and the price of a contract. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "gover-d/config/flavor.h"
#include "tests/unit/temp-file.h"
#include "tests/unit/unit.h"

static struct config config; /* static: too large for the stack */
static struct err err;

static int load(const char *text)
{
	temp_file_write(text);
	config_default(&config);
	err.msg[0] = '\0';
	return config_load(&config, temp_file, &err);
}

FIXTURE_ONCE(temp_file_make, temp_file_remove)

TEST(errors_name_the_line_of_the_section)
{
	static const struct {
		const char *text;
		int line;
		const char *message;
	} rows[] = {
		{"[flavor]\n", 1, "not a valid name of a flavour"},
		{"[flavor a b]\n", 1, "not a valid name of a flavour"},
		{"[flavor a]\n[flavor a]\n", 2, "[flavor a] is given twice"},
		{"[flavor a]\nflavor_cap_pct = 5\n", 2,
		 "[flavor NAME] has no key \"flavor_cap_pct\""},
		{"[flavor a]\ncap_pct = 101\n", 2,
		 "[flavor NAME] cap_pct = \"101\" is not allowed"},
		{"[flavor a]\nprice_per_cap_hour = -1\n", 2, "allowed: unset, or 0..1000000000"},
		{"[offer]\npenalty_per_broken_s = nan\n", 2, "allowed: unset, or 0..1000000000"},
		{"[offer]\nprice_per_move = -1\n", 2, "allowed: unset, or 0..1000000000"},
		{"[offer]\nflavor = a b\n", 2, "allowed: a name of A-Z"},
		{"[offer]\nflavor =\n", 2, "allowed: a name of A-Z"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char where[64];

		snprintf(where, sizeof(where), "%s:%d: ", temp_file, rows[i].line);
		if (load(rows[i].text) != -EINVAL || !strstr(err.msg, rows[i].message) ||
		    strncmp(err.msg, where, strlen(where)) != 0)
			fail_msg("row %zu: \"%s\"", i, err.msg);
	}
}

TEST(too_many_flavours_are_rejected)
{
	char text[16 * (FLAVORS_MAX + 1)] = "";

	for (int i = 0; i < FLAVORS_MAX; i++)
		sprintf(text + strlen(text), "[flavor f%d]\n", i);
	assert_int_equal(load(text), 0);
	assert_int_equal(config.n_flavors, FLAVORS_MAX);
	strcat(text, "[flavor more]\n");
	assert_int_equal(load(text), -EINVAL);
	assert_non_null(strstr(err.msg, "up to 32"));
}

TEST(offered_flavours_are_sorted_by_cap)
{
	static const char *const names[] = {"most", "default", "same", "small"};
	struct flavor flavors[OFFERED_MAX];

	assert_int_equal(load("[offer]\nflavor_cap_pct = 25\n"
			      "[flavor small]\noffered = on\ncap_pct = 12\n"
			      "[flavor hidden]\ncap_pct = 40\n"
			      "[flavor same]\noffered = on\ncap_pct = 25\n"
			      "[flavor most]\noffered = on\ncap_pct = 60\n"),
			 0);
	assert_int_equal(config_check(&config, &err), 0);
	assert_int_equal(flavor_list_offered(&config, flavors), ARRAY_SIZE(names));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_string_equal(flavors[i].name, names[i]);
	config_default(&config);
	assert_int_equal(flavor_list_offered(&config, flavors), 1);
	assert_string_equal(flavors[0].name, "default");
}

TEST(offered_flavours_are_limited)
{
	char text[64 * OFFERED_MAX] = "";

	for (int i = 1; i < OFFERED_MAX; i++)
		sprintf(text + strlen(text), "[flavor f%d]\noffered = on\n", i);
	assert_int_equal(load(text), 0);
	assert_int_equal(config_check(&config, &err), 0);
	strcat(text, "[flavor more]\noffered = on\n");
	assert_int_equal(load(text), 0);
	assert_int_equal(config_check(&config, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "[flavor more] offered: too many flavours"));
	assert_int_equal(load("[flavor tiny]\ncap_pct = 9\n"), 0);
	assert_int_equal(config_check(&config, &err), 0);
	assert_int_equal(load("[flavor tiny]\ncap_pct = 9\noffered = on\n"), 0);
	assert_int_equal(config_check(&config, &err), -EINVAL);
	assert_string_equal(err.msg, "[policy] min_newcomer_pct = 10: too large (allowed: up to "
				     "[flavor tiny] cap_pct = 9, which is offered)");
}

TEST(names_are_unique)
{
	assert_int_equal(load("[flavor default]\n"), 0);
	assert_int_equal(config_check(&config, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "is the flavour of [offer]"));
	assert_int_equal(load("[offer]\nflavor = x\n[flavor default]\n"), 0);
	assert_int_equal(config_check(&config, &err), 0);
	assert_int_equal(config_set_live(&config, "flavor", "default", &err), 0);
	assert_int_equal(config_check(&config, &err), -EINVAL);
}

TEST(a_flavour_is_found_by_name)
{
	static const struct {
		const char *name, *found; /* NULL: none */
		const char *priced_as;
	} rows[] = {
		{"", "half", "half"}, {"half", "half", "half"}, {"s", "s", "s"},
		{"t", "t", "t"},      {"u", NULL, "half"},	{"default", NULL, "half"},
	};
	struct flavor flavor;

	assert_int_equal(load("[offer]\nflavor = half\nprice_per_cap_hour = 5\n"
			      "[flavor s]\n[flavor t]\n"),
			 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(flavor_find(&config, rows[i].name, &flavor),
				 rows[i].found != NULL);
		if (rows[i].found)
			assert_string_equal(flavor.name, rows[i].found);
		flavor = flavor_of(&config, rows[i].name);
		assert_string_equal(flavor.name, rows[i].priced_as);
		assert_float_equal(flavor.price_per_cap_hour,
				   rows[i].priced_as[0] == 'h' ? 5 : PRICE_UNSET, 0);
	}
	assert_int_equal(flavor_refuse(&config, "u", &err), -EINVAL);
	assert_string_equal(err.msg, "flavor: u is not allowed (allowed: half, s, t)");
}

TEST(the_policy_uses_the_prices_of_the_offer)
{
	assert_int_equal(load("[offer]\nprice_per_cap_hour = 5\nprice_per_move = 3\n"
			      "[flavor s]\npenalty_per_broken_s = 7\n"),
			 0);
	assert_float_equal(config_policy_params(&config).price_per_cap_hour, 5, 0);
	assert_float_equal(config_policy_params(&config).penalty_per_broken_s, 0.01, 0);
	assert_int_equal(config_set_live(&config, "penalty_per_broken_s", "0.5", &err), 0);
	assert_float_equal(config_policy_params(&config).penalty_per_broken_s, 0.5, 0);
	assert_int_equal(config_set_live(&config, "penalty_per_broken_s", "unset", &err), 0);
	assert_float_equal(config_policy_params(&config).penalty_per_broken_s, 0.01, 0);
	assert_float_equal(config.offer.penalty_per_broken_s, PRICE_UNSET, 0);
	assert_float_equal(config_policy_params(&config).price_per_move, 3, 0);
	assert_int_equal(config_set_live(&config, "price_per_move", "0.6", &err), 0);
	assert_float_equal(config_policy_params(&config).price_per_move, 0.6, 0);
	assert_int_equal(config_set_live(&config, "price_per_move", "unset", &err), 0);
	assert_float_equal(config_policy_params(&config).price_per_move, 0, 0);
}
