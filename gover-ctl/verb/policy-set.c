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

/* Converts @text to the type of the present value @now. The caller frees *ret_value. */
static int value_like(const json_t *now, const char *key, const char *text, json_t **ret_value,
		      struct err *reterr)
{
	int64_t whole;
	double number;
	bool flag;

	if (text[0] == '\0' || strcmp(text, "default") == 0) {
		*ret_value = json_null();
	} else if (json_is_boolean(now)) {
		if (parse_bool(text, &flag) < 0)
			return err_fail(reterr, EINVAL, "%s '%s': not allowed (allowed: on, off)",
					key, text);
		*ret_value = json_boolean(flag);
	} else if (json_is_number(now)) {
		if (parse_int(text, INT64_MIN, INT64_MAX, &whole) == 0)
			*ret_value = json_integer(whole);
		else if (parse_double(text, -DBL_MAX, DBL_MAX, &number) == 0)
			*ret_value = json_real(number);
		else
			return err_fail(reterr, EINVAL, "%s '%s': not allowed (allowed: a number)",
					key, text);
	} else {
		*ret_value = json_string(text);
	}
	return *ret_value ? 0 : err_fail(reterr, ENOMEM, "out of memory");
}

int policy_set_add_pair(json_t *body, const char *pair, const json_t *policy, struct err *reterr)
{
	json_t *params = json_object_get(policy, "params"), *value;
	const char *equals = strchr(pair, '=');
	const json_t *now;
	char key[64];
	int r;

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
	r = value_like(now, key, equals + 1, &value, reterr);
	if (r == 0 && json_object_set_new(body, key, value) < 0)
		r = err_fail(reterr, ENOMEM, "out of memory");
	return r;
}
