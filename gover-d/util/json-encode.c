/* SPDX-License-Identifier: MIT */
/* Builds JSON values, objects and lists, and writes them as text. */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/xalloc.h"
#include "gover-d/util/json-encode.h"

void json_encode_add(json_t *object, const char *key, json_t *value)
{
	(void)json_object_set_new_nocheck(object, key, value);
}

char *json_encode_dump(json_t *document)
{
	/* 15 significant digits: 0.1 is printed as 0.1, not as 0.10000000000000001. */
	char *text = json_dumps(document, JSON_COMPACT | JSON_REAL_PRECISION(15));

	json_decref(document);
	return text;
}

char *json_encode_dump_sorted(json_t *document)
{
	char *text = json_dumps(document, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(15));

	json_decref(document);
	return text;
}

json_t *json_encode_number(double value)
{
	return isfinite(value) ? json_real(round(value * 1000) / 1000) : json_null();
}

json_t *json_encode_moment(int64_t wall_ms)
{
	char text[CLOCK_TEXT_MAX];

	clock_format(wall_ms, text);
	return json_string_nocheck(text);
}

json_t *json_encode_time(int64_t wall_ms)
{
	return wall_ms ? json_encode_moment(wall_ms) : json_null();
}

json_t *json_encode_text(const char *text)
{
	json_t *value = json_string(text);

	if (value)
		return value;

	/*
	 * The text is not UTF-8 if it was truncated within a character, or comes from another
	 * program.
	 */
	CLEANUP_FREE char *ascii = xstrdup(text);

	for (char *c = ascii; *c; c++)
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	return json_string(ascii);
}

json_t *json_encode_name(const char *name)
{
	return name[0] ? json_encode_text(name) : json_null();
}
