/* SPDX-License-Identifier: MIT */
/* Routes of the policy and its parameters. */
#include <float.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "gover-d/api/change.h"
#include "gover-d/api/etag.h"
#include "gover-d/api/handler.h"
#include "gover-d/change/control.h"
#include "gover-d/config/config.h"
#include "gover-d/util/json.h"

#define VALUE_MAX 256

/*
 * Returns a configuration value as JSON: a number, a boolean or a string, depending on the type of
 * the key.
 */
static json_t *encode_value(const struct setting *key, const char *text)
{
	double number;
	int64_t whole;
	bool on;

	if (key->type == &setting_text || key->type == &setting_word)
		return json_encode_text(text);
	if (parse_int(text, INT64_MIN, INT64_MAX, &whole) == 0)
		return json_integer(whole);
	if (parse_double(text, -DBL_MAX, DBL_MAX, &number) == 0)
		return json_real(number);
	if (parse_bool(text, &on) == 0)
		return json_boolean(on);
	return json_encode_text(text);
}

/* Returns the first key of [policy] or [offer] at or after *index; NULL: past the last key. */
static const struct setting *next_key(size_t *index)
{
	const struct setting *info;

	while ((info = config_key_at((*index)++)))
		if (strcmp(info->section, "policy") == 0 || strcmp(info->section, "offer") == 0)
			return info;
	return NULL;
}

/*
 * Writes the value of a key. A price that is not set has the value that the policy decides with, so
 * that the type of the member does not change.
 */
static int get_value(const struct config *config, const struct setting *key, char text[VALUE_MAX])
{
	const struct policy_params params = config_policy_params(config);
	int r = config_get_live(config, key->key, text, VALUE_MAX);

	if (r == 0 && strcmp(key->key, "price_per_cap_hour") == 0)
		snprintf(text, VALUE_MAX, "%.17g", params.price_per_cap_hour);
	if (r == 0 && strcmp(key->key, "penalty_per_broken_s") == 0)
		snprintf(text, VALUE_MAX, "%.17g", params.penalty_per_broken_s);
	if (r == 0 && strcmp(key->key, "price_per_move") == 0)
		snprintf(text, VALUE_MAX, "%.17g", params.price_per_move);
	return r;
}

json_t *api_encode_params(const struct config *config)
{
	json_t *o = json_object();
	char text[VALUE_MAX];
	const struct setting *key;
	size_t index = 0;

	while ((key = next_key(&index)))
		if (get_value(config, key, text) == 0)
			json_encode_add(o, key->key, encode_value(key, text));
	return o;
}

static json_t *encode_differing(const struct config *config, const struct config *file)
{
	char is[VALUE_MAX], was[VALUE_MAX];
	json_t *list = json_array();
	const struct setting *key;
	size_t index = 0;

	while ((key = next_key(&index)))
		if (config_get_live(config, key->key, is, sizeof(is)) == 0 &&
		    config_get_live(file, key->key, was, sizeof(was)) == 0 && strcmp(is, was) != 0)
			json_array_append_new(list, json_string(key->key));
	return list;
}

static json_t *encode_policies(void)
{
	json_t *list = json_array();
	const struct policy *policy;

	for (size_t i = 0; (policy = policy_at(i)); i++)
		json_array_append_new(list, json_pack("{s:s, s:s}", "name", policy->name, "summary",
						      policy->summary));
	return list;
}

static char *make_policy(struct api *api)
{
	const struct config *config = api->view->config;
	json_t *o = json_object();

	json_encode_add(o, "name", json_string(config->policy));
	json_encode_add(o, "differs", encode_differing(config, api->view->file_config));
	json_encode_add(o, "params", api_encode_params(config));
	json_encode_add(o, "file", api_encode_params(api->view->file_config));
	json_encode_add(o, "policies", encode_policies());
	return json_encode_dump(o);
}

/* The answer contains no measurements, so the ETag covers the whole answer. */
static void reply_policy(struct api *api, struct api_request *request)
{
	char *text = make_policy(api), tag[API_ETAG_MAX] = "";

	if (text)
		api_etag_of_text(text, tag);
	api_request_reply_text(request, 200, API_TYPE_JSON, text);
	api_etag_put(request, tag);
}

void api_get_policy(struct api *api, struct api_request *request)
{
	reply_policy(api, request);
	api_etag_apply(request);
}

void api_patch_policy(struct api *api, struct api_request *request)
{
	CLEANUP_FREE char *text = make_policy(api);
	struct api_change *change;
	char tag[API_ETAG_MAX];

	api_etag_of_text(text, tag);
	if (api_etag_check(request, tag) < 0)
		return;
	change = api_change_new(api, request, reply_policy);
	api_change_begun(change, control_policy_change(api->changes, request->object,
						       api_change_done(change), &change->err));
}
