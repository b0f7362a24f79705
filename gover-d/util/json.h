/* SPDX-License-Identifier: MIT */
/*
 * Builds JSON values, objects and lists, writes them as text, and decodes objects strictly. A value
 * that JSON cannot represent becomes null.
 */
#ifndef GOVER_D_UTIL_JSON_H
#define GOVER_D_UTIL_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Returns a finite number with three decimals; null if @value is not finite. */
json_t *json_encode_number(double value);
/* Returns a time as RFC 3339 in UTC. */
json_t *json_encode_moment(int64_t wall_ms);
/* Like json_encode_moment(), but returns null for 0, which means that there is no time. */
json_t *json_encode_time(int64_t wall_ms);
/* Returns @text as a string, after text_mask_controls(). */
json_t *json_encode_text(const char *text);
/* Does the same as json_encode_text(), but returns null for "". */
json_t *json_encode_name(const char *name);

/* Adds @value under @key and takes over its reference. */
void json_encode_add(json_t *object, const char *key, json_t *value);

/* Returns the compact text, which the caller frees, and releases @document. */
char *json_encode_dump(json_t *document);
/* Like json_encode_dump(), but the members are in the order of their names. */
char *json_encode_dump_sorted(json_t *document);

/*
 * Masks the control characters of all texts and keys in @value, see text_find_control(). Returns
 * false if there is none.
 */
bool json_mask_controls(json_t *value);

/*
 * Strict decoding of a JSON object into a struct by a table of fields. A field that is unknown, has
 * the wrong type or is out of range fails with a message that names the field, the value and what
 * is allowed.
 */

enum json_decode_kind {
	JSON_DECODE_ID,	    /* char[ID_MAX]: a valid id; min and max are not used */
	JSON_DECODE_TEXT,   /* char[max + 1]: at most max bytes */
	JSON_DECODE_WHOLE,  /* int in min..max */
	JSON_DECODE_INT64,  /* int64_t in min..max; max at most 2^53 */
	JSON_DECODE_NUMBER, /* double in min..max */
	JSON_DECODE_SWITCH, /* bool */
	JSON_DECODE_CID,    /* uint32_t in min..max; null is decoded as 0 */
	/*
	 * json_t *: an object of at most max strings; the old reference in the struct is released
	 */
	JSON_DECODE_LABELS,
};

struct json_decode_field {
	const char *name;
	enum json_decode_kind kind;
	double min, max;
	size_t offset;	  /* offset of the member in the target struct */
	unsigned int bit; /* bit that is set in *ret_bits if the object contains the field */
};

/*
 * Decodes @object into @target. @fields ends with an entry whose name is NULL. A field is accepted
 * if @allowed contains its bit. A missing field is an error if @required contains its bit. Returns
 * 0, or -EINVAL with a message; after an error, @target may be partly written.
 */
int json_decode_object(json_t *object, const struct json_decode_field *fields, unsigned int allowed,
		       unsigned int required, void *target, unsigned int *ret_bits,
		       struct err *reterr);

/* Decodes @object, which must be an object with all @fields. Otherwise as above. */
int json_decode_all(json_t *object, const struct json_decode_field *fields, void *target,
		    struct err *reterr);

/* Decodes the member @name of @object in the same way. Messages begin with @name. */
int json_decode_member(const json_t *object, const char *name,
		       const struct json_decode_field *fields, void *target, struct err *reterr);

/*
 * Calls @element for each object of the member @name of @object, a list of at most @max objects.
 * Stops at the first negative errno. Messages begin with @name and the index of the element.
 */
int json_decode_list(const json_t *object, const char *name, size_t max,
		     int (*element)(void *userdata, json_t *object, struct err *reterr),
		     void *userdata, struct err *reterr);

#endif
