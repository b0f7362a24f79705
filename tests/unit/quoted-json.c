/* SPDX-License-Identifier: MIT */
/* JSON written with single quotes, and the check that a JSON is as expected. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/quoted-json.h"
#include "tests/unit/unit.h"

json_t *quoted_json(const char *quoted)
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

static void expect(const char *name, const json_t *json, const json_t *wanted)
{
	const char *key;
	json_t *value;
	size_t i;

	if (json_is_object(json) && json_is_object(wanted)) {
		json_object_foreach ((json_t *)(size_t)wanted, key, value) {
			expect(key, json_object_get(json, key), value);
		}
	} else if (json_is_array(json) && json_is_array(wanted)) {
		assert_int_equal(json_array_size(json), json_array_size(wanted));
		json_array_foreach (wanted, i, value) {
			expect(name, json_array_get(json, i), value);
		}
	} else if (!json_equal(json, wanted)) {
		fail_msg("%s: %s", name, json ? json_dumps(json, JSON_ENCODE_ANY) : "missing");
	}
}

void expect_json(const json_t *json, const char *quoted)
{
	json_t *wanted = quoted_json(quoted);

	expect("", json, wanted);
	json_decref(wanted);
}
