/* SPDX-License-Identifier: MIT */
/*
 * JSON as text: parses and prints with jansson, also if memory is short. jansson 2.14 ignores
 * failed allocations of its token buffer and of its output. A parsed document then misses bytes, a
 * printed text misses names, and the parser can write beyond its memory. Here, a failed allocation
 * ends the call of jansson at once. json_copy() ignores failed allocations too, and its copy then
 * misses members. All other code uses these functions instead of json_load*(), json_dump*() and
 * json_copy().
 */
#ifndef BASE_JSON_TEXT_H
#define BASE_JSON_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Parses @length bytes, as json_loadb() does. Returns a new reference. NULL: the error is in
 * *@reterr, which may be NULL.
 */
json_t *json_text_parse(const char *text, size_t length, size_t flags, json_error_t *reterr);

/* True if json_text_parse() failed because memory is short; the text may be valid. */
bool json_text_no_memory(const json_error_t *err);

/*
 * Returns the text of @json, from malloc(), as json_dumps() does. NULL: memory is short, or @json
 * is NULL or cannot be printed.
 */
char *json_text_print(const json_t *json, size_t flags);

/*
 * Returns a new object with all members of @object; the values are shared. NULL: memory is short,
 * or @object is NULL or not an object.
 */
json_t *json_text_copy_object(json_t *object);

#endif
