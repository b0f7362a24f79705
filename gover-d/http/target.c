/* SPDX-License-Identifier: MIT */
/* Splits and decodes request targets. libmicrohttpd itself decodes "%2F" to a separator. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "gover-d/http/target.h"

int http_target_split(const char *target, struct http_target *ret_target)
{
	static const char *const schemes[] = {"http://", "https://"};
	const char *authority = NULL;
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (strncasecmp(target, schemes[i], strlen(schemes[i])) == 0)
			authority = target + strlen(schemes[i]);
	if (!authority) {
		*ret_target = (struct http_target){.path = target};
		return 0;
	}
	n = strcspn(authority, "/");
	if (n == 0 || memchr(authority, '@', n))
		return -EINVAL;
	*ret_target = (struct http_target){
		.path = authority[n] ? authority + n : "/",
		.authority = authority,
		.authority_length = n,
	};
	return 0;
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

const char *http_target_decode(char **at, const char *text, bool is_path)
{
	const char *decoded = *at;
	char *to = *at;

	while (*text) {
		char byte = escaped(text, is_path);

		*to++ = byte ? byte : *text;
		text += byte ? 3 : 1;
	}
	*to++ = '\0';
	*at = to;
	return decoded;
}
