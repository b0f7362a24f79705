/* SPDX-License-Identifier: MIT */
/*
 * Builds JSON values, objects and lists, and writes them as text. A value that JSON cannot
 * represent becomes null.
 */
#ifndef GOVER_D_UTIL_JSON_ENCODE_H
#define GOVER_D_UTIL_JSON_ENCODE_H

#include <jansson.h>
#include <stdint.h>

/* Returns a finite number with three decimals; null if @value is not finite. */
json_t *json_encode_number(double value);
/* Returns a time as RFC 3339 in UTC. */
json_t *json_encode_moment(int64_t wall_ms);
/* Like json_encode_moment(), but returns null for 0, which means that there is no time. */
json_t *json_encode_time(int64_t wall_ms);
/* Returns @text as a string. If @text is not UTF-8, each byte outside ASCII becomes '?'. */
json_t *json_encode_text(const char *text);
/* Does the same as json_encode_text(), but returns null for "". */
json_t *json_encode_name(const char *name);

/* Adds @value under @key and takes over its reference. */
void json_encode_add(json_t *object, const char *key, json_t *value);

/* Returns the compact text, which the caller frees, and releases @document. */
char *json_encode_dump(json_t *document);
/* Like json_encode_dump(), but the members are in the order of their names. */
char *json_encode_dump_sorted(json_t *document);

#endif
