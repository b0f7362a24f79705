/* SPDX-License-Identifier: MIT */
/* Reads the text once, from the beginning to the end, and allocates nothing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-fleet/model/xml-scan.h"

void xml_scan_init(struct xml_scan *scan, const char *text, size_t length)
{
	*scan = (struct xml_scan){.at = text, .end = text + length};
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-' || c == '.' || c == ':' || (unsigned char)c >= 0x80;
}

static bool begins(const struct xml_scan *scan, const char *text)
{
	size_t length = strlen(text);

	return (size_t)(scan->end - scan->at) >= length && memcmp(scan->at, text, length) == 0;
}

/* Returns the first @text at or after scan->at + @skip; NULL: there is none. */
static const char *find(const struct xml_scan *scan, size_t skip, const char *text)
{
	if ((size_t)(scan->end - scan->at) < skip)
		return NULL;
	return memmem(scan->at + skip, (size_t)(scan->end - scan->at) - skip, text, strlen(text));
}

static bool push(struct xml_scan *scan, const char *name, size_t length)
{
	size_t used = strlen(scan->path);

	if (scan->depth == XML_SCAN_DEPTH || used + length + 2 > sizeof(scan->path))
		return false;
	scan->starts[scan->depth++] = used;
	if (used)
		scan->path[used++] = '/';
	memcpy(scan->path + used, name, length);
	scan->path[used + length] = '\0';
	return true;
}

static void pop(struct xml_scan *scan)
{
	if (scan->depth == 0)
		return;
	scan->path[scan->starts[--scan->depth]] = '\0';
	scan->complete = scan->depth == 0;
}

/* Returns the end of the tag, the position of its '>', which quoted values may contain. */
static const char *tag_end(const char *at, const char *end)
{
	char quote = '\0';

	for (; at < end; at++) {
		if (quote) {
			if (*at == quote)
				quote = '\0';
		} else if (*at == '"' || *at == '\'') {
			quote = *at;
		} else if (*at == '>') {
			return at;
		} else if (*at == '<') {
			return NULL;
		}
	}
	return NULL;
}

static enum xml_scan_event open_element(struct xml_scan *scan)
{
	const char *name = scan->at + 1, *stop = tag_end(name, scan->end), *after = name;

	while (stop && after < stop && is_name(*after))
		after++;
	if (!stop || after == name || scan->complete || !push(scan, name, (size_t)(after - name)))
		return XML_SCAN_ERROR;
	scan->at = stop + 1;
	scan->closes = stop > after && stop[-1] == '/';
	scan->begin = after;
	scan->stop = scan->closes ? stop - 1 : stop;
	if (scan->begin < scan->stop && !is_space(*scan->begin))
		return XML_SCAN_ERROR;
	return XML_SCAN_OPEN;
}

static enum xml_scan_event close_element(struct xml_scan *scan)
{
	const char *name = scan->at + 2, *stop = find(scan, 2, ">"), *after = name;
	const char *open;

	while (stop && after < stop && is_name(*after))
		after++;
	if (!stop || scan->depth == 0)
		return XML_SCAN_ERROR;
	open = scan->path + scan->starts[scan->depth - 1];
	open += *open == '/';
	if (strlen(open) != (size_t)(after - name) || memcmp(open, name, strlen(open)) != 0)
		return XML_SCAN_ERROR;
	for (; after < stop; after++)
		if (!is_space(*after))
			return XML_SCAN_ERROR;
	scan->at = stop + 1;
	scan->closed = true;
	return XML_SCAN_CLOSE;
}

/* Skips a comment, a processing instruction or a DTD. Returns false if it does not end. */
static bool skip_other(struct xml_scan *scan)
{
	const char *closing = begins(scan, "<!--") ? "-->" : begins(scan, "<?") ? "?>" : ">";
	const char *stop = find(scan, begins(scan, "<!--") ? 4 : 2, closing);

	if (!stop)
		return false;
	scan->at = stop + strlen(closing);
	return true;
}

static enum xml_scan_event text_until(struct xml_scan *scan)
{
	scan->begin = scan->at;
	while (scan->at < scan->end && *scan->at != '<')
		scan->at++;
	scan->stop = scan->at;
	if (scan->depth > 0)
		return XML_SCAN_TEXT;
	for (const char *c = scan->begin; c < scan->stop; c++)
		if (!is_space(*c))
			return XML_SCAN_ERROR;
	return xml_scan_next(scan);
}

enum xml_scan_event xml_scan_next(struct xml_scan *scan)
{
	if (scan->closed)
		pop(scan);
	scan->closed = false;
	if (scan->closes) {
		scan->closes = false;
		scan->closed = true;
		return XML_SCAN_CLOSE;
	}
	while (begins(scan, "<!") || begins(scan, "<?"))
		if (begins(scan, "<![CDATA[") || !skip_other(scan))
			return XML_SCAN_ERROR;
	if (scan->at == scan->end)
		return scan->complete ? XML_SCAN_END : XML_SCAN_ERROR;
	if (begins(scan, "</"))
		return close_element(scan);
	return *scan->at == '<' ? open_element(scan) : text_until(scan);
}

/* --- values --- */

/* Decodes the reference that begins at @at. Returns the position after it; NULL: unknown. */
static const char *decode_reference(const char *at, const char *stop, char *ret_c)
{
	static const struct {
		const char *text;
		char c;
	} known[] = {
		{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
	const char *semicolon = memchr(at, ';', (size_t)(stop - at));
	size_t length = semicolon ? (size_t)(semicolon - at) + 1 : 0;
	char digits[8] = "", *end;
	long code;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strlen(known[i].text) == length && memcmp(known[i].text, at, length) == 0) {
			*ret_c = known[i].c;
			return semicolon + 1;
		}
	}
	if (length < 4 || length - 3 >= sizeof(digits) || at[1] != '#')
		return NULL;
	memcpy(digits, at + 2, length - 3);
	code = digits[0] == 'x' ? strtol(digits + 1, &end, 16) : strtol(digits, &end, 10);
	if (*end || code < 1 || code > 127)
		return NULL;
	*ret_c = (char)code;
	return semicolon + 1;
}

static int decode(const char *at, const char *stop, char *ret_text, size_t size)
{
	size_t n = 0;

	while (at < stop) {
		char c = *at;

		if (c == '&')
			at = decode_reference(at, stop, &c);
		else
			at++;
		if (!at || c == '\0')
			return -EINVAL;
		if (n + 1 >= size)
			return -ENOBUFS;
		ret_text[n++] = c;
	}
	ret_text[n] = '\0';
	return 0;
}

int xml_scan_attribute(const struct xml_scan *scan, const char *name, char *ret_value, size_t size)
{
	const char *at = scan->begin;

	while (at < scan->stop) {
		const char *begin, *after, *value, *stop;

		while (at < scan->stop && is_space(*at))
			at++;
		if (at == scan->stop)
			break;
		for (begin = at; at < scan->stop && is_name(*at);)
			at++;
		after = at;
		while (at < scan->stop && is_space(*at))
			at++;
		if (after == begin || at == scan->stop || *at++ != '=')
			return -EINVAL;
		while (at < scan->stop && is_space(*at))
			at++;
		if (at == scan->stop || (*at != '"' && *at != '\''))
			return -EINVAL;
		value = at + 1;
		stop = memchr(value, *at, (size_t)(scan->stop - value));
		if (!stop)
			return -EINVAL;
		at = stop + 1;
		if (strlen(name) == (size_t)(after - begin) &&
		    memcmp(name, begin, (size_t)(after - begin)) == 0)
			return decode(value, stop, ret_value, size);
	}
	return -ENOENT;
}

int xml_scan_text(const struct xml_scan *scan, char *ret_text, size_t size)
{
	const char *begin = scan->begin, *stop = scan->stop;

	while (begin < stop && is_space(*begin))
		begin++;
	while (stop > begin && is_space(stop[-1]))
		stop--;
	return decode(begin, stop, ret_text, size);
}
