/* SPDX-License-Identifier: MIT */
/* Values of `policy set`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-ctl/verb/policy.h"
#include "tests/unit/quoted-json.h"
#include "tests/unit/unit.h"

TEST(policy_values_have_the_type_of_the_present_value)
{
	static const struct {
		const char *pair;
		int result;
		const char *text; /* expected body, or part of the expected message */
	} rows[] = {
		{"overload_pct=97", 0, "{\"overload_pct\":97}"},
		{"steal_fraction=0.25", 0, "{\"steal_fraction\":0.25}"},
		{"paper_mode=on", 0, "{\"paper_mode\":true}"},
		{"paper_mode=off", 0, "{\"paper_mode\":false}"},
		{"overload_pct=", 0, "{\"overload_pct\":null}"},
		{"paper_mode=default", 0, "{\"paper_mode\":null}"},
		{"name=static", 0, "{\"name\":\"static\"}"},
		{"hook=a=b", 0, "{\"hook\":\"a=b\"}"},
		{"paper_mode=1", -EINVAL, "paper_mode '1': not allowed (allowed: on, off)"},
		{"overload_pct=ten", -EINVAL,
		 "overload_pct 'ten': not allowed (allowed: a number)"},
		{"overload_pct=nan", -EINVAL, "overload_pct 'nan'"},
		{"overload_pct=95 ", -EINVAL, "overload_pct '95 '"},
		{"overlod_pct=9", -EINVAL,
		 "'overlod_pct': unknown key (did you mean overload_pct?)"},
		{"xyzzy=9", -EINVAL, "'xyzzy': unknown key (`gover-ctl policy show` lists all)"},
		{"overload_pct", -EINVAL, "'overload_pct': not of the form KEY=VALUE"},
		{"=9", -EINVAL, "'=9': not of the form KEY=VALUE"},
	};
	json_t *policy = quoted_json("{'name': 'gover', 'params': {'overload_pct': 95, "
				     "'steal_fraction': 0.2, 'paper_mode': false, 'hook': ''}}");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *body = json_object();
		struct err err = {.msg = ""};
		int r = policy_set_add_pair(body, rows[i].pair, policy, &err);
		char *text = json_dumps(body, JSON_COMPACT | JSON_REAL_PRECISION(15));

		if (r != rows[i].result || !strstr(r == 0 ? text : err.msg, rows[i].text))
			fail_msg("'%s' gave %d, %s, \"%s\"", rows[i].pair, r, text, err.msg);
		free(text);
		json_decref(body);
	}
	json_decref(policy);
}

TEST(a_key_is_set_once)
{
	json_t *policy = quoted_json("{'params': {'overload_pct': 95}}"), *body = json_object();
	struct err err;

	assert_int_equal(policy_set_add_pair(body, "overload_pct=90", policy, &err), 0);
	assert_int_equal(policy_set_add_pair(body, "overload_pct=91", policy, &err), -EINVAL);
	assert_string_equal(err.msg, "overload_pct: given twice");
	assert_int_equal(json_integer_value(json_object_get(body, "overload_pct")), 90);
	json_decref(body);
	json_decref(policy);
}
