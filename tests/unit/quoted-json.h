/* SPDX-License-Identifier: MIT */
/* JSON for tests, with ' instead of ", so that it needs no escapes in C. */
#ifndef TESTS_UNIT_QUOTED_JSON_H
#define TESTS_UNIT_QUOTED_JSON_H

#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"

/* The caller frees the result. The text must be valid. */
static inline json_t *quoted_json(const char *quoted)
{
	char *text = strdup(quoted);
	json_t *json;

	assert_non_null(text);
	for (char *c = text; *c; c++)
		if (*c == '\'')
			*c = '"';
	json = json_loadb(text, strlen(text), 0, NULL);
	assert_non_null(json);
	free(text);
	return json;
}

#endif
