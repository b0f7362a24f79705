/* SPDX-License-Identifier: MIT */
/* The reasons for which a head is refused, in the order of their checks. */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "gover-d/http/head.h"

#define FIELDS_MAX     100
#define PARAMETERS_MAX 64

/* Fields that occur at most once: they decide framing, routing and rights. */
enum field { HOST, CONTENT_LENGTH, TRANSFER_ENCODING, AUTHORIZATION, CONTENT_TYPE, OTHER };

enum reason {
	ACCEPTED,
	BAD_METHOD,
	BAD_TARGET,
	MANY_PARAMETERS,
	BAD_VERSION,
	MANY_FIELDS,
	BAD_NAME,
	BAD_VALUE,
	REPEATED,
	BAD_ENCODING,
	NO_HOST,
	OTHER_HOST,
	TWO_FRAMINGS,
	OLD_CHUNKED,
};

#define TEXT(number)  #number
#define LIMIT(number) "(limit " TEXT(number) ")"

static const struct head_refusal refusals[] = {
	[BAD_METHOD] = {400, "request line: malformed method (allowed: METHOD TARGET HTTP/1.1)"},
	[BAD_TARGET] = {400, "request target: malformed (allowed: /path, http://HOST/path, without "
			     "spaces and control characters)"},
	[MANY_PARAMETERS] = {414, "query: too many parameters " LIMIT(PARAMETERS_MAX)},
	[BAD_VERSION] = {505, "HTTP version: not supported (allowed: HTTP/1.0, HTTP/1.1)"},
	[MANY_FIELDS] = {431, "header fields: too many " LIMIT(FIELDS_MAX)},
	[BAD_NAME] = {400, "header field: malformed name (allowed: letters, digits and "
			   "!#$%&'*+-.^_`|~, directly followed by ':', on one line)"},
	[BAD_VALUE] = {400, "header field: control character in the value"},
	[REPEATED] = {400, "Host, Content-Length, Transfer-Encoding, Authorization or "
			   "Content-Type: given twice"},
	[BAD_ENCODING] = {400, "Transfer-Encoding: not supported (allowed: chunked)"},
	[NO_HOST] = {400, "Host: required in HTTP/1.1"},
	[OTHER_HOST] = {400, "Host: differs from the host of the request target"},
	[TWO_FRAMINGS] = {400, "Content-Length: not allowed with Transfer-Encoding"},
	[OLD_CHUNKED] = {411, "Content-Length: required in HTTP/1.0 (Transfer-Encoding is not "
			      "allowed)"},
};

static const char *const names[OTHER] = {
	[HOST] = MHD_HTTP_HEADER_HOST,
	[CONTENT_LENGTH] = MHD_HTTP_HEADER_CONTENT_LENGTH,
	[TRANSFER_ENCODING] = MHD_HTTP_HEADER_TRANSFER_ENCODING,
	[AUTHORIZATION] = MHD_HTTP_HEADER_AUTHORIZATION,
	[CONTENT_TYPE] = MHD_HTTP_HEADER_CONTENT_TYPE,
};

struct head {
	int n_fields;
	const char *values[OTHER]; /* NULL: the field is absent */
	enum reason reason;
};

static bool is_token(const char *text)
{
	size_t n = 0;

	while (isalnum((unsigned char)text[n]) || (text[n] && strchr("!#$%&'*+-.^_`|~", text[n])))
		n++;
	return n > 0 && text[n] == '\0';
}

/* Bytes from 0x80 are allowed, as in RFC 9110. */
static bool is_text(const char *text)
{
	for (; *text; text++)
		if (((unsigned char)*text < ' ' && *text != '\t') || *text == 0x7f)
			return false;
	return true;
}

static enum field find_field(const char *name)
{
	int i = 0;

	while (i < OTHER && strcasecmp(name, names[i]) != 0)
		i++;
	return (enum field)i;
}

/*
 * Returns true if @name begins with the name of a field that frames the body. libmicrohttpd appends
 * a folded line to the name of its field: "Content-Length:" and " 34" become "Content-Length34".
 */
static bool is_folded(const char *name)
{
	for (int i = CONTENT_LENGTH; i <= TRANSFER_ENCODING; i++)
		if (strncasecmp(name, names[i], strlen(names[i])) == 0 && name[strlen(names[i])])
			return true;
	return false;
}

static enum MHD_Result check_field(void *userdata, enum MHD_ValueKind kind, const char *name,
				   const char *value)
{
	struct head *head = userdata;
	const enum field field = find_field(name);

	(void)kind;
	value = value ? value : "";
	if (++head->n_fields > FIELDS_MAX)
		head->reason = MANY_FIELDS;
	else if (!is_token(name) || is_folded(name))
		head->reason = BAD_NAME;
	else if (!is_text(value))
		head->reason = BAD_VALUE;
	else if (field != OTHER && head->values[field])
		head->reason = REPEATED;
	else if (field == TRANSFER_ENCODING && strcasecmp(value, "chunked") != 0)
		head->reason = BAD_ENCODING;
	if (field != OTHER)
		head->values[field] = value;
	return head->reason == ACCEPTED ? MHD_YES : MHD_NO;
}

static enum reason find_reason(struct MHD_Connection *connection, const char *method,
			       const struct http_target *target, const char *version)
{
	const bool is_1_0 = strcmp(version, MHD_HTTP_VERSION_1_0) == 0;
	struct head head = {0};

	if (!is_token(method))
		return BAD_METHOD;
	if (!target->valid)
		return BAD_TARGET;
	if (target->n_query > PARAMETERS_MAX)
		return MANY_PARAMETERS;
	if (!is_1_0 && strcmp(version, MHD_HTTP_VERSION_1_1) != 0)
		return BAD_VERSION;
	MHD_get_connection_values(connection, MHD_HEADER_KIND, check_field, &head);
	if (head.reason != ACCEPTED)
		return head.reason;
	if (!is_1_0 && !head.values[HOST])
		return NO_HOST;
	if (target->authority && head.values[HOST] &&
	    strcasecmp(target->authority, head.values[HOST]) != 0)
		return OTHER_HOST;
	if (head.values[TRANSFER_ENCODING] && head.values[CONTENT_LENGTH])
		return TWO_FRAMINGS;
	return head.values[TRANSFER_ENCODING] && is_1_0 ? OLD_CHUNKED : ACCEPTED;
}

const struct head_refusal *head_check(struct MHD_Connection *connection, const char *method,
				      const struct http_target *target, const char *version)
{
	const enum reason reason = find_reason(connection, method, target, version);

	return reason == ACCEPTED ? NULL : &refusals[reason];
}
