/* SPDX-License-Identifier: MIT */
/* Reads fields of the daemon's replies. A field that is null, missing or of another type has no
 * value. */
#ifndef BASE_TERMINAL_FIELD_H
#define BASE_TERMINAL_FIELD_H

#include <math.h>
#include <stdbool.h>
#include <jansson.h>

/* Returns the text of a field; "" if the field has no value. */
static inline const char *field_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* Returns the number in a field; NAN if the field has no value. */
static inline double field_number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

/* Returns the first of both fields that has a value. */
static inline double field_either(const json_t *object, const char *key, const char *other)
{
	double value = field_number(object, key);

	return isnan(value) ? field_number(object, other) : value;
}

static inline bool field_true(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

#endif
