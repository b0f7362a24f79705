/* SPDX-License-Identifier: MIT */
/* Typing the values of `policy set`. Pure; ranges are the daemon's to judge. */
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
		return err_fail(reterr, EINVAL, "no key '%s'; did you mean %s?", key, guess);
	return err_fail(reterr, EINVAL, "no key '%s'; `gover-ctl policy show` lists them", key);
}

/* *ret_value is the caller's. */
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
			return err_fail(reterr, EINVAL, "%s '%s': allowed are on and off", key,
					text);
		*ret_value = json_boolean(flag);
	} else if (json_is_number(now)) {
		if (parse_int(text, INT64_MIN, INT64_MAX, &whole) == 0)
			*ret_value = json_integer(whole);
		else if (parse_double(text, -DBL_MAX, DBL_MAX, &number) == 0)
			*ret_value = json_real(number);
		else
			return err_fail(reterr, EINVAL, "%s '%s': allowed is a number", key, text);
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
		return err_fail(reterr, EINVAL, "'%s' is not of the form KEY=VALUE", pair);
	snprintf(key, sizeof(key), "%.*s", (int)(equals - pair), pair);
	now = json_object_get(params, key);
	/* The policy's own name stands beside its parameters. */
	if (!now)
		now = strcmp(key, "name") == 0 ? json_object_get(policy, "name") : NULL;
	if (!now)
		return unknown_key(key, params, reterr);
	if (json_object_get(body, key))
		return err_fail(reterr, EINVAL, "%s is given twice", key);
	r = value_like(now, key, equals + 1, &value, reterr);
	if (r == 0 && json_object_set_new(body, key, value) < 0)
		r = err_fail(reterr, ENOMEM, "out of memory");
	return r;
}
