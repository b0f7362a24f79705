/* SPDX-License-Identifier: MIT */
/*
 * Converts the values of `policy set` to the types of the parameters. The daemon checks the ranges.
 */
#include <errno.h>
#include <float.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/nearest.h"
#include "gover-ctl/verb/policy-set.h"

static int unknown_key(const char *key, json_t *params, struct err *reterr)
{
	const char *candidate, *guess = NULL;
	int best = NEAREST_FAR;
	json_t *value;

	json_object_foreach (params, candidate, value) {
		nearest_offer(key, candidate, &best, &guess);
	}
	if (guess)
		return err_fail(reterr, EINVAL, "'%s': unknown key (did you mean %s?)", key, guess);
	return err_fail(reterr, EINVAL, "'%s': unknown key (`gover-ctl policy show` lists all)",
			key);
}

/* Returns @text in the type of the present value @now; NULL: @text is not allowed. */
static json_t *value_like(const json_t *now, const char *key, const char *text, struct err *reterr)
{
	int64_t whole;
	double number;
	bool flag;

	if (text[0] == '\0' || strcmp(text, "default") == 0)
		return json_null();
	if (json_is_boolean(now) && parse_bool(text, &flag) == 0)
		return json_boolean(flag);
	if (json_is_number(now) && parse_int(text, INT64_MIN, INT64_MAX, &whole) == 0)
		return json_integer(whole);
	if (json_is_number(now) && parse_double(text, -DBL_MAX, DBL_MAX, &number) == 0)
		return json_real(number);
	if (!json_is_boolean(now) && !json_is_number(now))
		return json_string(text);
	(void)err_fail(reterr, EINVAL, "%s '%s': not allowed (allowed: %s)", key, text,
		       json_is_boolean(now) ? "on, off" : "a number");
	return NULL;
}

int policy_set_add_pair(json_t *body, const char *pair, const json_t *policy, struct err *reterr)
{
	json_t *params = json_object_get(policy, "params"), *value;
	const char *equals = strchr(pair, '=');
	const json_t *now;
	char key[64];

	if (!equals || equals == pair)
		return err_fail(reterr, EINVAL, "'%s': not of the form KEY=VALUE", pair);
	snprintf(key, sizeof(key), "%.*s", (int)(equals - pair), pair);
	now = json_object_get(params, key);
	/* The key "name" is not a parameter: it selects the policy. */
	if (!now)
		now = strcmp(key, "name") == 0 ? json_object_get(policy, "name") : NULL;
	if (!now)
		return unknown_key(key, params, reterr);
	if (json_object_get(body, key))
		return err_fail(reterr, EINVAL, "%s: given twice", key);
	value = value_like(now, key, equals + 1, reterr);
	if (!value)
		return -EINVAL;
	(void)json_object_set_new(body, key, value);
	return 0;
}
