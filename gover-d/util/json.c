/* SPDX-License-Identifier: MIT */
/* Builds JSON values, objects and lists, writes them as text, and decodes objects strictly. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "gover-d/util/json.h"

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
	json_t *value = text_find_control(text) ? NULL : json_string(text);

	if (value)
		return value;

	/*
	 * The text comes from another program, or is not UTF-8 because it was truncated within a
	 * character.
	 */
	CLEANUP_FREE char *masked = xstrdup(text);

	text_mask_controls(masked);
	return json_string(masked);
}

json_t *json_encode_name(const char *name)
{
	return name[0] ? json_encode_text(name) : json_null();
}

#define ALLOWED_TEXT_MAX 160
#define LABEL_KEY_MAX	 63
#define LABEL_VALUE_MAX	 255

static void describe_allowed(const struct json_decode_field *field, char text[ALLOWED_TEXT_MAX])
{
	switch (field->kind) {
	case JSON_DECODE_ID:
		snprintf(text, ALLOWED_TEXT_MAX,
			 "1 to %d characters of A-Z a-z 0-9 . _ - not starting with . or -",
			 ID_MAX - 1);
		break;
	case JSON_DECODE_TEXT:
		snprintf(text, ALLOWED_TEXT_MAX,
			 "a string of at most %.0f bytes, no control characters", field->max);
		break;
	case JSON_DECODE_WHOLE:
	case JSON_DECODE_INT64:
		snprintf(text, ALLOWED_TEXT_MAX, "a whole number %.0f..%.0f", field->min,
			 field->max);
		break;
	case JSON_DECODE_NUMBER:
		snprintf(text, ALLOWED_TEXT_MAX, "a number %g..%g", field->min, field->max);
		break;
	case JSON_DECODE_SWITCH:
		snprintf(text, ALLOWED_TEXT_MAX, "true or false");
		break;
	case JSON_DECODE_CID:
		snprintf(text, ALLOWED_TEXT_MAX, "a whole number %.0f..%.0f, or null", field->min,
			 field->max);
		break;
	case JSON_DECODE_LABELS:
		snprintf(text, ALLOWED_TEXT_MAX,
			 "an object with at most %.0f strings; keys of 1 to %d bytes, values of at "
			 "most %d bytes, no control characters",
			 field->max, LABEL_KEY_MAX, LABEL_VALUE_MAX);
		break;
	}
}

static bool is_text(const char *text, size_t max)
{
	return strlen(text) <= max && text_find_control(text) == 0;
}

static bool is_whole(const json_t *value, double min, double max)
{
	double number = json_number_value(value);

	return json_is_number(value) && number >= min && number <= max && trunc(number) == number;
}

static bool are_labels(json_t *value, double max)
{
	const char *key;
	json_t *label;

	if (!json_is_object(value) || (double)json_object_size(value) > max)
		return false;
	json_object_foreach (value, key, label) {
		if (key[0] == '\0' || !is_text(key, LABEL_KEY_MAX))
			return false;
		if (!json_is_string(label) || !is_text(json_string_value(label), LABEL_VALUE_MAX))
			return false;
	}
	return true;
}

static bool is_allowed(const struct json_decode_field *field, json_t *value)
{
	const char *text = json_string_value(value);
	double number = json_number_value(value);

	switch (field->kind) {
	case JSON_DECODE_ID:
		return text && id_valid(text);
	case JSON_DECODE_TEXT:
		return text && is_text(text, (size_t)field->max);
	case JSON_DECODE_WHOLE:
	case JSON_DECODE_INT64:
		return is_whole(value, field->min, field->max);
	case JSON_DECODE_NUMBER:
		return json_is_number(value) && number >= field->min && number <= field->max;
	case JSON_DECODE_SWITCH:
		return json_is_boolean(value);
	case JSON_DECODE_CID:
		return json_is_null(value) || is_whole(value, field->min, field->max);
	case JSON_DECODE_LABELS:
		return are_labels(value, field->max);
	}
	return false;
}

static void put(const struct json_decode_field *field, json_t *value, void *target)
{
	char *at = (char *)target + field->offset;
	json_t *before;

	switch (field->kind) {
	case JSON_DECODE_ID:
	case JSON_DECODE_TEXT:
		memcpy(at, json_string_value(value), json_string_length(value) + 1);
		break;
	case JSON_DECODE_WHOLE:
		memcpy(at, &(int){(int)json_number_value(value)}, sizeof(int));
		break;
	case JSON_DECODE_INT64:
		memcpy(at, &(int64_t){(int64_t)json_number_value(value)}, sizeof(int64_t));
		break;
	case JSON_DECODE_NUMBER:
		memcpy(at, &(double){json_number_value(value)}, sizeof(double));
		break;
	case JSON_DECODE_SWITCH:
		memcpy(at, &(bool){json_is_true(value)}, sizeof(bool));
		break;
	case JSON_DECODE_CID:
		memcpy(at, &(uint32_t){(uint32_t)json_number_value(value)}, sizeof(uint32_t));
		break;
	case JSON_DECODE_LABELS:
		memcpy(&before, at, sizeof(before));
		json_decref(before);
		json_incref(value);
		memcpy(at, &value, sizeof(value));
		break;
	}
}

/* Returns the first control character of a text or of an object of texts; 0: none. */
static uint32_t find_control(json_t *value)
{
	const char *text = json_string_value(value), *key;
	uint32_t code = text ? text_find_control(text) : 0;
	json_t *member;

	json_object_foreach (value, key, member) {
		text = json_string_value(member);
		if (code == 0)
			code = text_find_control(key);
		if (code == 0 && text)
			code = text_find_control(text);
	}
	return code;
}

static int fail_value(const struct json_decode_field *field, json_t *value, struct err *reterr)
{
	CLEANUP_FREE char *shown =
		json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII |
					  JSON_REAL_PRECISION(15));
	char allowed[ALLOWED_TEXT_MAX];
	uint32_t code = find_control(value);

	describe_allowed(field, allowed);
	if (code > 0)
		return err_fail(reterr, EINVAL,
				"%s: the character U+%04X is not allowed (allowed: %s)",
				field->name, (unsigned int)code, allowed);
	return err_fail(reterr, EINVAL, "%s: %.100s%s is not allowed (allowed: %s)", field->name,
			shown, strlen(shown) > 100 ? "..." : "", allowed);
}

static int fail_unknown(const char *name, const struct json_decode_field *fields,
			unsigned int allowed, struct err *reterr)
{
	char list[ERR_MSG_MAX / 2] = "";
	size_t n = 0;

	for (const struct json_decode_field *f = fields; f->name; f++)
		if ((f->bit & allowed) && n < sizeof(list))
			n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", n ? ", " : "",
					      f->name);
	return err_fail(reterr, EINVAL, "%.100s: unknown field (allowed: %s)", name, list);
}

static const struct json_decode_field *find(const struct json_decode_field *fields,
					    unsigned int allowed, const char *name)
{
	for (const struct json_decode_field *f = fields; f->name; f++)
		if ((f->bit & allowed) && strcmp(f->name, name) == 0)
			return f;
	return NULL;
}

static void mask_key(json_t *object, const char *key)
{
	CLEANUP_FREE char *masked = xstrdup(key);
	json_t *member = json_incref(json_object_get(object, key));

	text_mask_controls(masked);
	(void)json_object_del(object, key);
	(void)json_object_set_new(object, masked, member);
}

bool json_mask_controls(json_t *value)
{
	const char *text = json_string_value(value), *key;
	bool found = false;
	json_t *member;
	size_t i;
	void *next;

	if (text && text_find_control(text)) {
		CLEANUP_FREE char *masked = xstrdup(text);

		text_mask_controls(masked);
		(void)json_string_set(value, masked);
		return true;
	}
	json_array_foreach (value, i, member)
		found |= json_mask_controls(member);
	json_object_foreach_safe(value, next, key, member)
	{
		found |= json_mask_controls(member);
		if (text_find_control(key)) {
			mask_key(value, key);
			found = true;
		}
	}
	return found;
}

int json_decode_object(json_t *object, const struct json_decode_field *fields, unsigned int allowed,
		       unsigned int required, void *target, unsigned int *ret_bits,
		       struct err *reterr)
{
	unsigned int bits = 0;
	const char *name;
	json_t *value;

	json_object_foreach (object, name, value) {
		const struct json_decode_field *field = find(fields, allowed, name);

		if (!field)
			return fail_unknown(name, fields, allowed, reterr);
		if (!is_allowed(field, value))
			return fail_value(field, value, reterr);
		put(field, value, target);
		bits |= field->bit;
	}
	for (const struct json_decode_field *f = fields; f->name; f++) {
		char text[ALLOWED_TEXT_MAX];

		if (!(f->bit & required & ~bits))
			continue;
		describe_allowed(f, text);
		return err_fail(reterr, EINVAL, "%s: required (allowed: %s)", f->name, text);
	}
	*ret_bits = bits;
	return 0;
}

int json_decode_all(json_t *object, const struct json_decode_field *fields, void *target,
		    struct err *reterr)
{
	unsigned int all = 0, bits;

	if (!json_is_object(object))
		return err_fail(reterr, EINVAL, "not an object");
	for (const struct json_decode_field *f = fields; f->name; f++)
		all |= f->bit;
	return json_decode_object(object, fields, all, all, target, &bits, reterr);
}

int json_decode_member(const json_t *object, const char *name,
		       const struct json_decode_field *fields, void *target, struct err *reterr)
{
	json_t *member = json_object_get(object, name);
	struct err inner = {""};

	if (!json_is_object(member))
		return err_fail(reterr, EINVAL, "%s: required (allowed: an object)", name);
	if (json_decode_all(member, fields, target, &inner) < 0)
		return err_fail(reterr, EINVAL, "%s: %s", name, inner.msg);
	return 0;
}

int json_decode_list(const json_t *object, const char *name, size_t max,
		     int (*element)(void *userdata, json_t *object, struct err *reterr),
		     void *userdata, struct err *reterr)
{
	json_t *list = json_object_get(object, name);
	struct err inner = {""};

	if (!json_is_array(list) || json_array_size(list) > max)
		return err_fail(reterr, EINVAL,
				"%s: required (allowed: a list of at most %zu objects)", name, max);
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *value = json_array_get(list, i);
		int r = json_is_object(value) ? element(userdata, value, &inner)
					      : err_fail(&inner, EINVAL, "not an object");

		if (r < 0)
			return err_fail(reterr, -r, "%s: element %zu: %s", name, i, inner.msg);
	}
	return 0;
}
