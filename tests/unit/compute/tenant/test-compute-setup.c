/* SPDX-License-Identifier: MIT */
/* The environment variables of the compute layer. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "compute/tenant/link.h"
#include "tests/unit/unit.h"

TEST(the_variables_select_the_arbiter)
{
	char longest[5 + 107 + 1] = "unix:", too_long[5 + 108 + 1] = "unix:";
	const struct {
		const char *value, *debug, *path; /* path: NULL if off */
		bool debugs;
	} rows[] = {
		{NULL, NULL, "/run/gover/compute.sock", false},
		{"unix:/tmp/a", "1", "/tmp/a", true},
		{"unix:/tmp/a", "yes", "/tmp/a", false},
		{"off", "1", NULL, true},
		{"", NULL, NULL, false},
		{"unix:", NULL, NULL, false},
		{"/tmp/a", NULL, NULL, false},
		{longest, NULL, longest + 5, false},
		{too_long, NULL, NULL, false},
	};

	memset(longest + 5, 'x', 107);
	memset(too_long + 5, 'x', 108);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tenant_setup setup;

		assert_int_equal(rows[i].value ? setenv("GOVER_CL", rows[i].value, 1)
					       : unsetenv("GOVER_CL"),
				 0);
		assert_int_equal(rows[i].debug ? setenv("GOVER_CL_DEBUG", rows[i].debug, 1)
					       : unsetenv("GOVER_CL_DEBUG"),
				 0);
		tenant_setup_read(&setup);
		assert_int_equal(setup.off, !rows[i].path);
		assert_int_equal(setup.debug, rows[i].debugs);
		if (rows[i].path)
			assert_string_equal(setup.arbiter.sun_path, rows[i].path);
	}
}

TEST(the_parts_of_launches_are_selected)
{
	static const struct {
		const char *value;
		bool slice;
		unsigned int parts;
	} rows[] = {
		{NULL, true, 0},  {"0", false, 0},	  {"1", false, 0},	    {"2", true, 2},
		{"7", true, 7},	  {"10000", true, 10000}, {"10001", false, 0},	    {"", false, 0},
		{"7x", false, 0}, {"-7", false, 0},	  {"4294967298", false, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tenant_setup setup;

		assert_int_equal(rows[i].value ? setenv("GOVER_CL_SLICE", rows[i].value, 1)
					       : unsetenv("GOVER_CL_SLICE"),
				 0);
		tenant_setup_read(&setup);
		assert_int_equal(setup.slice, rows[i].slice);
		assert_int_equal(setup.slice_parts, rows[i].parts);
	}
}
