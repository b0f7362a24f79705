/* SPDX-License-Identifier: MIT */
/* JSON for tests, with ' instead of ", so that it needs no escapes in C. */
#ifndef TESTS_UNIT_QUOTED_JSON_H
#define TESTS_UNIT_QUOTED_JSON_H

#include <jansson.h>

/* The caller frees the result. The text must be valid. */
json_t *quoted_json(const char *quoted);

/*
 * Checks that @json contains @quoted: each member of its objects, and as many elements in its
 * lists. An integer and a real number differ.
 */
void expect_json(const json_t *json, const char *quoted);

#endif
