/* SPDX-License-Identifier: MIT */
/*
 * Strict decoding of a JSON object into a struct by a table of fields. A field that is unknown, has
 * the wrong type or is out of range fails with a message that names the field, the value and what
 * is allowed.
 */
#ifndef GOVER_D_UTIL_JSON_DECODE_H
#define GOVER_D_UTIL_JSON_DECODE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

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
