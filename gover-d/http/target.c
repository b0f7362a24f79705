/* SPDX-License-Identifier: MIT */
/* Splits and decodes request targets. libmicrohttpd itself decodes "%2F" to a separator. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "gover-d/http/target.h"

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
