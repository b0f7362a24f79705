/* SPDX-License-Identifier: MIT */
/* Builds JSON documents: values that may be invalid, objects, lists and their text. */
#ifndef GOVER_D_UTIL_JSON_ENCODE_H
#define GOVER_D_UTIL_JSON_ENCODE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* A finite number with three decimals, otherwise null. */
json_t *json_encode_number(double value);
/* RFC 3339 in UTC, or null for 0. */
json_t *json_encode_time(int64_t wall_ms);
/* @text may contain any bytes; if it is not UTF-8, each byte outside ASCII becomes '?'. */
json_t *json_encode_text(const char *text);
/* The same, or null for "". */
json_t *json_encode_name(const char *name);

/* An object under construction: errors are remembered and reported by json_encode_end(). */
struct json_encode {
	json_t *object;
	bool failed;
};
struct json_encode json_encode_begin(void);
/* Takes over @value; NULL makes the whole object fail. */
void json_encode_add(struct json_encode *encode, const char *key, json_t *value);
/* Returns the object, or NULL without memory. */
json_t *json_encode_end(struct json_encode *encode);

/* Appends @value, taking it over. Without memory the list is released and *@list becomes NULL;
 * later calls do nothing. */
void json_encode_append(json_t **list, json_t *value);

/* Returns the compact text from malloc and releases @document. NULL: no memory, or @document is
 * NULL. */
char *json_encode_dump(json_t *document);

#endif
