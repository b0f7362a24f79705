/* SPDX-License-Identifier: MIT */
/* Flavours: which sections make them, by what name they are found, and as which a contract is
 * priced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "gover-d/config/flavor.h"
#include "tests/unit/temp-file.h"

static struct config config; /* half a megabyte: not for the stack */
static struct err err;

static int load(const char *text)
{
	temp_file_write(text);
	config_default(&config);
	err.msg[0] = '\0';
	return config_load(&config, temp_file, &err);
}

static void a_section_that_is_wrong_is_refused_with_its_line(void **state)
{
	static const struct {
		const char *text;
		int line;
		const char *says;
	} rows[] = {
		{"[flavor]\n", 1, "a flavour's name is 1 to 63"},
		{"[flavor a b]\n", 1, "a flavour's name is 1 to 63"},
		{"[flavor a]\n[flavor a]\n", 2, "[flavor a] is given twice"},
		{"[flavor a]\nflavor_cap_pct = 5\n", 2,
		 "[flavor NAME] has no key \"flavor_cap_pct\""},
		{"[flavor a]\ncap_pct = 101\n", 2,
		 "[flavor NAME] cap_pct = \"101\" is not allowed"},
		{"[flavor a]\nprice_per_cap_hour = -1\n", 2, "allowed: 0..1000000000"},
		{"[offer]\npenalty_per_broken_s = nan\n", 2, "allowed: 0..1000000000"},
		{"[offer]\nflavor = a b\n", 2, "allowed: a name of A-Z"},
		{"[offer]\nflavor =\n", 2, "allowed: a name of A-Z"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char where[64];

		snprintf(where, sizeof(where), "%s:%d: ", temp_file, rows[i].line);
		if (load(rows[i].text) != -EINVAL || !strstr(err.msg, rows[i].says) ||
		    strncmp(err.msg, where, strlen(where)) != 0)
			fail_msg("row %zu: \"%s\"", i, err.msg);
	}
}

static void no_more_than_there_is_room_for(void **state)
{
	char text[16 * (FLAVORS_MAX + 1)] = "";

	(void)state;
	for (int i = 0; i < FLAVORS_MAX; i++)
		sprintf(text + strlen(text), "[flavor f%d]\n", i);
	assert_int_equal(load(text), 0);
	assert_int_equal(config.n_flavors, FLAVORS_MAX);
	strcat(text, "[flavor more]\n");
	assert_int_equal(load(text), -EINVAL);
	assert_non_null(strstr(err.msg, "at most 32"));
}

static void no_two_have_one_name(void **state)
{
	(void)state;
	assert_int_equal(load("[flavor default]\n"), 0);
	assert_int_equal(config_check(&config, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "another name than that of [offer] flavor"));
	assert_int_equal(load("[offer]\nflavor = x\n[flavor default]\n"), 0);
	assert_int_equal(config_check(&config, &err), 0);
	assert_int_equal(config_set_live(&config, "flavor", "default", &err), 0);
	assert_int_equal(config_check(&config, &err), -EINVAL);
}

static void one_is_found_by_its_name(void **state)
{
	static const struct {
		const char *name, *found; /* NULL: none */
		const char *priced_as;
	} rows[] = {
		{"", "half", "half"}, {"half", "half", "half"}, {"s", "s", "s"},
		{"t", "t", "t"},      {"u", NULL, "half"},	{"default", NULL, "half"},
	};
	struct flavor flavor;

	(void)state;
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
		assert_float_equal(flavor.price_per_cap_hour, rows[i].priced_as[0] == 'h' ? 5 : 1,
				   0);
	}
	assert_int_equal(flavor_refuse(&config, "u", &err), -EINVAL);
	assert_string_equal(err.msg, "flavor: u is not allowed: there is half, s, t");
}

static void the_policy_is_told_the_price_of_what_is_on_sale(void **state)
{
	(void)state;
	assert_int_equal(load("[offer]\nprice_per_cap_hour = 5\n[flavor s]\n"
			      "penalty_per_broken_s = 7\n"),
			 0);
	assert_float_equal(config_policy_params(&config).price_per_cap_hour, 5, 0);
	assert_float_equal(config_policy_params(&config).penalty_per_broken_s, 0.01, 0);
	assert_int_equal(config_set_live(&config, "penalty_per_broken_s", "0.5", &err), 0);
	assert_float_equal(config_policy_params(&config).penalty_per_broken_s, 0.5, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_section_that_is_wrong_is_refused_with_its_line),
		cmocka_unit_test(no_more_than_there_is_room_for),
		cmocka_unit_test(no_two_have_one_name),
		cmocka_unit_test(one_is_found_by_its_name),
		cmocka_unit_test(the_policy_is_told_the_price_of_what_is_on_sale),
	};

	return cmocka_run_group_tests_name("flavor", tests, temp_file_make, temp_file_remove);
}
