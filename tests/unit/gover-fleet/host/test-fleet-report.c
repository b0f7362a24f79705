/* SPDX-License-Identifier: MIT */
/* The body of PUT /v1/fleet. */
#include <stdlib.h>
#include <string.h>

#include "gover-fleet/host/follower.h"
#include "tests/unit/unit.h"

static void check(const struct report *report, const char *wanted)
{
	json_t *json = fleet_report_encode(report);
	char *text = json_dumps(json, JSON_COMPACT);

	assert_non_null(text);
	assert_string_equal(text, wanted);
	free(text);
	json_decref(json);
}

TEST(all_members_are_sent)
{
	const struct report full = {
		.cloud = REPORT_UNREACHABLE,
		.address = "http://k",
		.problem = "timeout",
		.unverified = 2,
		.leaks = {{"gpu0", WANTED_CLASS_PREFIX "HALF", "half", 3, 2},
			  {"gpu1", "OTHER", "OTHER", 1, 0}},
		.n_leaks = 2,
		.migrations_requested = 4,
		.migrations_completed = 3,
		.migrations_failed = 1,
	};

	check(&(struct report){.cloud = REPORT_WITHDRAWN},
	      "{\"state\":\"withdrawn\",\"cloud\":\"none\",\"problem\":null,\"unverified\":0,"
	      "\"leaks\":[],\"migrations\":{\"requested\":0,\"completed\":0,\"failed\":0},"
	      "\"ttl_s\":150}");
	check(&full,
	      "{\"state\":\"unreachable\",\"cloud\":\"http://k\",\"problem\":\"timeout\","
	      "\"unverified\":2,\"leaks\":[{\"gpu\":\"gpu0\",\"flavor\":\"half\",\"used\":3,"
	      "\"sold\":2},{\"gpu\":\"gpu1\",\"flavor\":\"OTHER\",\"used\":1,\"sold\":0}],"
	      "\"migrations\":{\"requested\":4,\"completed\":3,\"failed\":1},\"ttl_s\":150}");
}

TEST(states_have_the_names_of_the_route)
{
	assert_string_equal(fleet_report_cloud_name(REPORT_WAITING), "waiting");
	assert_string_equal(fleet_report_cloud_name(REPORT_PUBLISHED), "published");
	assert_string_equal(fleet_report_cloud_name(REPORT_UNREACHABLE), "unreachable");
	assert_string_equal(fleet_report_cloud_name(REPORT_WITHDRAWN), "withdrawn");
}
