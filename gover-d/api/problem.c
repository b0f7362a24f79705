/* SPDX-License-Identifier: MIT */
/* Problem documents, and the table that maps error codes of core to HTTP statuses. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/api/problem.h"
#include "gover-d/util/json-encode.h"

static const struct {
	unsigned int status;
	const char *title;
} titles[] = {
	{400, "Bad Request"},
	{401, "Unauthorized"},
	{403, "Forbidden"},
	{404, "Not Found"},
	{405, "Method Not Allowed"},
	{409, "Conflict"},
	{411, "Length Required"},
	{412, "Precondition Failed"},
	{413, "Content Too Large"},
	{414, "URI Too Long"},
	{415, "Unsupported Media Type"},
	{422, "Unprocessable Content"},
	{429, "Too Many Requests"},
	{431, "Request Header Fields Too Large"},
	{500, "Internal Server Error"},
	{503, "Service Unavailable"},
	{505, "HTTP Version Not Supported"},
	{507, "Insufficient Storage"},
};

static const unsigned int statuses[CONTROL_N_ERRORS] = {
	[CONTROL_E_INVALID] = 422,	[CONTROL_E_NOT_FOUND] = 404,   [CONTROL_E_EXISTS] = 409,
	[CONTROL_E_DOES_NOT_FIT] = 409, [CONTROL_E_TOO_MANY] = 409,    [CONTROL_E_IN_USE] = 409,
	[CONTROL_E_OFFER_OVER] = 409,	[CONTROL_E_OFFER_HELD] = 409,  [CONTROL_E_NOT_LISTED] = 409,
	[CONTROL_E_FOREIGN_CAP] = 409,	[CONTROL_E_UNSUPPORTED] = 409, [CONTROL_E_DRY_RUN] = 409,
	[CONTROL_E_NOT_STORED] = 507,	[CONTROL_E_TOO_LARGE] = 400,   [CONTROL_E_TIMED_OUT] = 503,
	[CONTROL_E_STOPPING] = 503,	[CONTROL_E_NO_ANSWER] = 503,
};

static const char *title_of(unsigned int status)
{
	for (size_t i = 0; i < ARRAY_SIZE(titles); i++)
		if (titles[i].status == status)
			return titles[i].title;
	return "Error";
}

void problem_reply(struct api_request *request, unsigned int status, const char *format, ...)
{
	json_t *problem = json_object();
	char detail[2 * ERR_MSG_MAX];
	va_list ap;

	va_start(ap, format);
	vsnprintf(detail, sizeof(detail), format, ap);
	va_end(ap);
	json_encode_add(problem, "type", json_string("about:blank"));
	json_encode_add(problem, "title", json_string(title_of(status)));
	json_encode_add(problem, "status", json_integer(status));
	json_encode_add(problem, "detail", json_encode_text(detail));
	json_encode_add(problem, "instance", json_encode_text(request->path));
	api_request_reply_json(request, status, problem);
	request->reply.type = API_TYPE_PROBLEM;
}

void problem_reply_error(struct api_request *request, int r, const struct err *err)
{
	unsigned int status = r > 0 && r < CONTROL_N_ERRORS ? statuses[r] : 500;

	problem_reply(request, status, "%s", err->msg[0] ? err->msg : strerror(abs(r)));
}
