/* SPDX-License-Identifier: MIT */
/* Problem documents. The one place that turns an errno into a status; must never hide the sentence.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
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
	{412, "Precondition Failed"},
	{413, "Content Too Large"},
	{415, "Unsupported Media Type"},
	{422, "Unprocessable Content"},
	{429, "Too Many Requests"},
	{500, "Internal Server Error"},
	{503, "Service Unavailable"},
	{507, "Insufficient Storage"},
};

/* Everything else is 500: the host, not the client, is at fault. */
static const struct {
	int errnum;
	unsigned int status;
} statuses[] = {
	{EINVAL, 422},	   {ERANGE, 422}, {ENOENT, 404}, {EEXIST, 409}, /* taken */
	{ENOSPC, 409},							/* does not fit */
	{EBUSY, 409},							/* in use */
	{EPERM, 409},							/* a dry run */
	{ETIME, 409},							/* the offer is over */
	{ESTALE, 409}, /* somebody else has written a cap meanwhile */
	{ENODEV, 409}, /* this backend makes none */
	{EOPNOTSUPP, 409}, {EAGAIN, 503},
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
	struct json_encode problem = json_encode_begin();
	char detail[2 * ERR_MSG_MAX];
	va_list ap;

	va_start(ap, format);
	vsnprintf(detail, sizeof(detail), format, ap);
	va_end(ap);
	json_encode_add(&problem, "type", json_string("about:blank"));
	json_encode_add(&problem, "title", json_string(title_of(status)));
	json_encode_add(&problem, "status", json_integer(status));
	json_encode_add(&problem, "detail", json_encode_text(detail));
	json_encode_add(&problem, "instance", json_encode_text(request->path));
	api_request_reply_json(request, status, json_encode_end(&problem));
	request->reply.type = API_TYPE_PROBLEM;
}

void problem_reply_error(struct api_request *request, int r, const struct err *err)
{
	unsigned int status = 500;

	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++)
		if (statuses[i].errnum == -r)
			status = statuses[i].status;
	problem_reply(request, status, "%s", err->msg[0] ? err->msg : strerror(-r));
}
