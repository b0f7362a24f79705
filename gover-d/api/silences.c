/* SPDX-License-Identifier: MIT */
/* Routes of silences. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "gover-d/alert/silence.h"
#include "gover-d/api/change.h"
#include "gover-d/api/handler.h"
#include "gover-d/api/problem.h"
#include "gover-d/api/time.h"
#include "gover-d/core/control.h"
#include "gover-d/core/encode.h"
#include "gover-d/util/json-decode.h"
#include "gover-d/util/json-encode.h"

/* The body of POST /v1/silences. */
struct wanted {
	struct db_silence silence;
	char until[40];
};

enum {
	FIELD_ALERT = 1 << 0,
	FIELD_GPU = 1 << 1,
	FIELD_VGPU = 1 << 2,
	FIELD_UNTIL = 1 << 3,
	FIELD_REASON = 1 << 4,
	FIELDS_ALL = FIELD_ALERT | FIELD_GPU | FIELD_VGPU | FIELD_UNTIL | FIELD_REASON,
};

static const struct json_decode_field fields[] = {
	{"alert", JSON_DECODE_TEXT, 0, SILENCE_ALERT_MAX - 1,
	 offsetof(struct wanted, silence.alert), FIELD_ALERT},
	{"gpu", JSON_DECODE_ID, 0, 0, offsetof(struct wanted, silence.gpu), FIELD_GPU},
	{"vgpu", JSON_DECODE_ID, 0, 0, offsetof(struct wanted, silence.vgpu), FIELD_VGPU},
	{"until", JSON_DECODE_TEXT, 0, 39, offsetof(struct wanted, until), FIELD_UNTIL},
	{"reason", JSON_DECODE_TEXT, 0, SILENCE_REASON_MAX - 1,
	 offsetof(struct wanted, silence.reason), FIELD_REASON},
	{.name = NULL},
};

void api_get_silences(struct api *api, struct api_request *request)
{
	const struct silences *silences = api->view->silences;
	json_t *list = json_array();

	for (int i = 0; i < silences->n; i++)
		json_array_append_new(list, encode_silence(&silences->list[i]));
	api_reply_list(request, "silences", list);
}

void api_get_silence(struct api *api, struct api_request *request)
{
	const struct db_silence *silence;
	int64_t id;

	if (api_param_number(request, &id) < 0)
		return;
	silence = silences_find(api->view->silences, id);
	if (silence)
		api_request_reply_json(request, 200, encode_silence(silence));
	else
		problem_reply(request, 404, "silence %lld: not found", (long long)id);
}

/* The new silence is the last one of the list. */
static void reply_added(struct api *api, struct api_request *request)
{
	const struct silences *silences = api->view->silences;
	const struct db_silence *silence = &silences->list[silences->n - 1];

	api_request_reply_json(request, 201, encode_silence(silence));
	snprintf(request->reply.location, sizeof(request->reply.location), "/v1/silences/%lld",
		 (long long)silence->id);
}

void api_post_silence(struct api *api, struct api_request *request)
{
	struct wanted wanted = {.until = ""};
	struct api_change *change;
	struct err err = {.msg = ""};
	unsigned int given;
	int r = 0;

	if (json_decode_object(request->object, fields, FIELDS_ALL, FIELD_UNTIL | FIELD_REASON,
			       &wanted, &given, &err) < 0)
		r = CONTROL_E_INVALID;
	if (r == 0 && api_time_parse(wanted.until, &wanted.silence.until_ms) < 0)
		r = err_condition(
			&err, CONTROL_E_INVALID,
			"until: %s is invalid (allowed: a time such as 2026-11-20T18:49:56Z)",
			wanted.until);
	if (r != 0) {
		problem_reply_error(request, r, &err);
		return;
	}
	change = api_change_new(api, request, reply_added);
	api_change_begun(change, control_silence_add(api->manager, &wanted.silence,
						     api_change_done(change), &change->err));
}

void api_delete_silence(struct api *api, struct api_request *request)
{
	struct api_change *change;
	int64_t id;

	if (api_param_number(request, &id) < 0)
		return;
	change = api_change_new(api, request, api_change_reply_none);
	api_change_begun(change, control_silence_remove(api->manager, id, api_change_done(change),
							&change->err));
}
