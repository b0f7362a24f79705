/* SPDX-License-Identifier: MIT */
/*
 * The header Accept of a scrape (RFC 9110, section 12.5.1). The most specific media range that
 * matches a format decides its quality.
 */
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "gover-d/api/encoding.h"
#include "gover-d/api/metrics-format.h"

/* Bytes of the header. */
struct piece {
	const char *at;
	size_t n;
};

/* A media range. A range whose quality is not valid matches no format. */
struct range {
	struct piece type, version; /* version.at == NULL: any version */
	int quality;
	bool valid;
};

/* How specific the match of a range is, in rising order. */
enum match { MATCH_NONE, MATCH_ANY, MATCH_GROUP, MATCH_TYPE, MATCH_VERSION };

static const struct offer {
	const char *group, *type;
	const char *versions[3]; /* ends with NULL */
} offers[] = {
	[METRICS_TEXT] = {"text/*", "text/plain", {"0.0.4"}},
	[METRICS_OPEN] = {"application/*", "application/openmetrics-text", {"1.0.0", "0.0.1"}},
};

/* Returns the first byte of @ends that is not in a quoted string, or the end of the text. */
static const char *find_end(const char *at, const char *ends)
{
	bool quoted = false;

	for (; *at && (quoted || !strchr(ends, *at)); at++) {
		if (quoted && *at == '\\' && at[1])
			at++;
		else if (*at == '"')
			quoted = !quoted;
	}
	return at;
}

static struct piece trim(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	return (struct piece){at, (size_t)(end - at)};
}

static bool equals(struct piece piece, const char *text)
{
	return piece.n == strlen(text) && strncasecmp(piece.at, text, piece.n) == 0;
}

static void read_parameter(struct piece piece, struct range *range)
{
	const char *sign = memchr(piece.at, '=', piece.n), *end = piece.at + piece.n;
	struct piece name, value;

	if (!sign)
		return;
	name = trim(piece.at, sign);
	value = trim(sign + 1, end);
	if (equals(name, "q"))
		range->valid = api_read_weight(value.at, &range->quality) == end;
	if (value.n >= 2 && value.at[0] == '"' && value.at[value.n - 1] == '"')
		value = (struct piece){value.at + 1, value.n - 2};
	if (equals(name, "version"))
		range->version = value;
}

/* Reads a range and returns the start of the next range. */
static const char *read_range(const char *at, struct range *range)
{
	const char *end = find_end(at, ";,");

	*range = (struct range){.type = trim(at, end), .quality = API_WEIGHT_MAX, .valid = true};
	while (*end == ';') {
		at = end + 1;
		end = find_end(at, ";,");
		read_parameter(trim(at, end), range);
	}
	return *end ? end + 1 : end;
}

static enum match match(const struct range *range, const struct offer *offer)
{
	if (!range->valid)
		return MATCH_NONE;
	if (equals(range->type, "*/*"))
		return MATCH_ANY;
	if (equals(range->type, offer->group))
		return MATCH_GROUP;
	if (!equals(range->type, offer->type))
		return MATCH_NONE;
	if (!range->version.at)
		return MATCH_TYPE;
	for (const char *const *version = offer->versions; *version; version++)
		if (equals(range->version, *version))
			return MATCH_VERSION;
	return MATCH_NONE;
}

/* Returns the quality of @offer. @ret_match is MATCH_NONE if no range matches. */
static int find_quality(const char *accept, const struct offer *offer, enum match *ret_match)
{
	enum match best = MATCH_NONE;
	struct range range;
	int quality = 0;

	while (*accept) {
		enum match now;

		accept = read_range(accept, &range);
		now = match(&range, offer);
		if (now == MATCH_NONE || now < best)
			continue;
		quality = now > best || range.quality > quality ? range.quality : quality;
		best = now;
	}
	*ret_match = best;
	return quality;
}

enum metrics_format metrics_format_choose(const char *accept)
{
	enum match open_match = MATCH_NONE, text_match = MATCH_NONE;
	int open, text;

	if (!accept)
		return METRICS_TEXT;
	open = find_quality(accept, &offers[METRICS_OPEN], &open_match);
	text = find_quality(accept, &offers[METRICS_TEXT], &text_match);
	if (open != text)
		return open > text ? METRICS_OPEN : METRICS_TEXT;
	return open > 0 && open_match >= MATCH_TYPE ? METRICS_OPEN : METRICS_TEXT;
}
