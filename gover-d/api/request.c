/* SPDX-License-Identifier: MIT */
/* Requests and replies, independent of the transport. */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "gover-d/api/request.h"
#include "gover-d/util/json.h"

struct api_deferred {
	struct api_request *request; /* NULL: the request has ended before its deferred reply */
};

const struct api_header api_no_store[] = {{"Cache-Control", "no-store"}, {NULL, NULL}};

struct api_text *api_text_new(char *data)
{
	struct api_text *text = xmalloc(sizeof(*text));

	*text = (struct api_text){.refs = 1, .length = strlen(data), .data = data};
	return text;
}

struct api_text *api_text_ref(struct api_text *text)
{
	text->refs++;
	return text;
}

struct api_text *api_text_unref(struct api_text *text)
{
	if (text && --text->refs == 0) {
		free(text->data);
		free(text);
	}
	return NULL;
}

const char *api_request_query(const struct api_request *request, const char *name)
{
	for (size_t i = 0; i < request->n_query && i < API_QUERY_MAX; i++)
		if (strcmp(request->query[i].name, name) == 0)
			return request->query[i].value;
	return NULL;
}

void api_request_reply_empty(struct api_request *request, unsigned int status)
{
	api_text_unref(request->reply.text);
	if (request->reply.stream)
		request->reply.stream->free(request->reply.stream);
	request->reply = (struct api_reply){.status = status};
}

void api_request_reply_fixed(struct api_request *request, unsigned int status, const char *type,
			     char *bytes, size_t size)
{
	api_request_reply_empty(request, status);
	request->reply.type = type;
	request->reply.fixed = bytes;
	request->reply.fixed_size = size;
}

void api_request_reply_shared(struct api_request *request, unsigned int status, const char *type,
			      struct api_text *text)
{
	api_request_reply_empty(request, status);
	request->reply.type = type;
	request->reply.text = api_text_ref(text);
}

void api_request_reply_text(struct api_request *request, unsigned int status, const char *type,
			    char *data)
{
	struct api_text *text = api_text_new(data);

	api_request_reply_shared(request, status, type, text);
	api_text_unref(text);
}

void api_request_reply_stream(struct api_request *request, const char *type,
			      struct api_stream *stream)
{
	api_request_reply_empty(request, 200);
	request->reply.type = type;
	request->reply.headers = api_no_store;
	request->reply.stream = stream;
}

void api_request_reply_json(struct api_request *request, unsigned int status, json_t *document)
{
	api_request_reply_text(request, status, API_TYPE_JSON, json_encode_dump(document));
}

struct api_deferred *api_deferred_begin(struct api_request *request)
{
	struct api_deferred *deferred = xmalloc(sizeof(*deferred));

	deferred->request = request;
	request->deferred = deferred;
	return deferred;
}

struct api_request *api_deferred_end(struct api_deferred *deferred)
{
	struct api_request *request = deferred ? deferred->request : NULL;

	if (request)
		request->deferred = NULL;
	free(deferred);
	return request;
}

void api_request_count(struct api_request *request)
{
	struct api_counter *counter = request->counter;
	int i = 0;

	if (!counter)
		return;
	while (i < API_STATUSES_MAX - 1 && counter->statuses[i].n &&
	       counter->statuses[i].status != request->reply.status)
		i++;
	counter->statuses[i].status = request->reply.status;
	counter->statuses[i].n++;
}

void api_request_answer(struct api_request *request)
{
	if (!request->in_handler && request->answered)
		request->answered(request);
}

void api_request_fini(struct api_request *request)
{
	if (request->deferred)
		request->deferred->request = NULL;
	request->deferred = NULL;
	api_request_reply_empty(request, 0);
}
