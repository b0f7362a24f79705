/* SPDX-License-Identifier: MIT */
/* The reasons for which a head is refused, in the order of their checks. */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "gover-d/http/head.h"

static bool is_visible(const char *text)
{
	while ((unsigned char)*text > ' ' && *text != 0x7f)
		text++;
	return *text == '\0';
}

/* Returns the path of @text and terminates the authority; NULL: the authority is malformed. */
static char *split_authority(char *text, const char **ret_authority)
{
	static const char *const schemes[] = {"http://", "https://"};
	char *authority = NULL, *path;
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (strncasecmp(text, schemes[i], strlen(schemes[i])) == 0)
			authority = text + strlen(schemes[i]);
	if (!authority)
		return text;
	n = strcspn(authority, "/");
	if (n == 0 || memchr(authority, '@', n))
		return NULL;
	path = authority + n;
	/* in place of the two slashes, so that a NUL and a path "/" have space behind it */
	authority = memmove(authority - 2, authority, n);
	authority[n] = '\0';
	*ret_authority = authority;
	if (*path == '\0')
		*--path = '/';
	return path;
}

static int digit(unsigned char c)
{
	return isdigit(c) ? c - '0' : tolower(c) - 'a' + 10;
}

/* Returns the byte of the escape at @text; 0: there is no escape, or it remains. */
static char escaped(const char *text, bool is_path)
{
	int byte;

	if (text[0] != '%' || !isxdigit((unsigned char)text[1]) ||
	    !isxdigit((unsigned char)text[2]))
		return 0;
	byte = 16 * digit((unsigned char)text[1]) + digit((unsigned char)text[2]);
	return is_path && byte == '/' ? 0 : (char)byte;
}

/* Targets are decoded here, because libmicrohttpd decodes "%2F" in a path to a separator. */
static const char *decode(char *text, bool is_path)
{
	char *to = text;

	for (const char *at = text; *at;) {
		char byte = escaped(at, is_path);

		*to++ = byte ? byte : !is_path && *at == '+' ? ' ' : *at;
		at += byte ? 3 : 1;
	}
	*to = '\0';
	return text;
}

static void add_parameter(struct http_target *target, char *name)
{
	char *value = strchr(name, '=');

	if (target->n_query++ >= API_QUERY_MAX)
		return;
	if (value)
		*value++ = '\0';
	target->query[target->n_query - 1] = (struct api_query){
		.name = decode(name, /* is_path= */ false),
		.value = value ? decode(value, /* is_path= */ false) : "",
	};
}

struct http_target http_target_parse(char *text)
{
	struct http_target target = {.valid = is_visible(text)};
	char *query = strchr(text, '?'), *path;

	if (query)
		*query++ = '\0';
	path = split_authority(text, &target.authority);
	target.valid = target.valid && path;
	target.path = decode(path ? path : text, /* is_path= */ true);
	while (query && *query)
		add_parameter(&target, strsep(&query, "&"));
	return target;
}

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
