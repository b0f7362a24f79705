/* SPDX-License-Identifier: MIT */
/* The verbs `policy show` and `policy set`. */
#include <errno.h>
#include <float.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/terminal/field.h"
#include "base/text.h"
#include "gover-ctl/shared/tables.h"
#include "gover-ctl/verb/policy.h"

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

static const char *value_text(const json_t *value, char text[64])
{
	if (json_is_boolean(value))
		return json_is_true(value) ? "on" : "off";
	if (json_is_string(value))
		return json_string_value(value);
	if (!json_is_number(value))
		return "";
	snprintf(text, 64, "%.10g", json_number_value(value));
	return text;
}

/* Converts the reply of GET /v1/policy to rows for a table. */
static json_t *make_rows(const json_t *policy)
{
	json_t *params = json_object_get(policy, "params"), *value, *rows = json_array();
	const json_t *file = json_object_get(policy, "file");
	const char *key;

	json_object_foreach (params, key, value) {
		const json_t *in_file = json_object_get(file, key);
		char now[64], was[64];

		(void)json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:s}", "key", key,
							    "value", value_text(value, now), "file",
							    value_text(in_file, was), "mark",
							    json_equal(value, in_file) ? "" : "*"));
	}
	return json_pack("{s:o}", "rows", rows);
}

static void print_policy(struct ctl *ctl, const struct reply *reply)
{
	json_t *rows;

	if (ctl->writer.json) {
		writer_reply(&ctl->writer, reply);
		return;
	}
	rows = make_rows(reply->json);
	tables_print_rows(&ctl->writer, &table_policy, rows);
	json_decref(rows);
}

static void print_policies(const struct writer *writer, const json_t *policy)
{
	const json_t *policies = json_object_get(policy, "policies"), *row;
	const char *name = field_text(policy, "name");
	size_t i;

	json_array_foreach (policies, i, row) {
		writer_line(writer, "%s %-10s %s",
			    strcmp(field_text(row, "name"), name) == 0 ? "->" : "  ",
			    field_text(row, "name"), field_text(row, "summary"));
	}
	writer_line(writer, "%s", "");
}

enum ctl_exit verb_policy_show(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply reply = {0};
	enum ctl_exit r = ctl_request(ctl, "GET", NULL, &reply, "/v1/policy");

	(void)args;
	if (r != CTL_DONE)
		return r;
	if (!ctl->writer.json)
		print_policies(&ctl->writer, reply.json);
	print_policy(ctl, &reply);
	return CTL_DONE;
}

enum ctl_exit verb_policy_set(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply now = {0}, reply = {0};
	enum ctl_exit r = ctl_request(ctl, "GET", NULL, &now, "/v1/policy");
	struct err err;
	json_t *body;

	if (r != CTL_DONE)
		return r;
	body = json_object();
	for (int i = 0; r == CTL_DONE && i < args->n_words; i++) {
		int taken = policy_set_add_pair(body, args->words[i], now.json, &err);

		if (taken < 0)
			r = ctl_fail(ctl_exit_code(taken), "policy set: %s", err.msg);
	}
	if (r == CTL_DONE)
		r = ctl_request(ctl, "PATCH", body, &reply, "/v1/policy");
	json_decref(body);
	if (r == CTL_DONE)
		print_policy(ctl, &reply);
	return r;
}
