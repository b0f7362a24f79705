/* SPDX-License-Identifier: MIT */
/*
 * A request's object into a struct by a table of fields: each is of the said form and range, or a
 * sentence names field, value and what is allowed. Must never take a field it does not know.
 */
#ifndef GOVER_D_API_JSON_DECODE_H
#define GOVER_D_API_JSON_DECODE_H

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"

enum json_decode_kind {
	JSON_DECODE_ID,	    /* char[ID_MAX] */
	JSON_DECODE_TEXT,   /* char[max + 1], at most max bytes */
	JSON_DECODE_WHOLE,  /* int in min..max */
	JSON_DECODE_NUMBER, /* double in min..max */
	JSON_DECODE_SWITCH, /* bool */
	JSON_DECODE_CID,    /* uint32_t; null is 0 */
	JSON_DECODE_LABELS, /* json_t *, a reference of its own; what stood there is released */
};

struct json_decode_field {
	const char *name;
	enum json_decode_kind kind;
	double min, max;
	size_t offset;	  /* in the target */
	unsigned int bit; /* set in *ret_bits when the field was given */
};

/*
 * Decodes @object into @target by @fields (ends with a NULL name), of which those with a bit in
 * @allowed may come and those in @required must. -EINVAL with a sentence; @target may have been
 * written in part.
 */
int json_decode_object(json_t *object, const struct json_decode_field *fields, unsigned int allowed,
		       unsigned int required, void *target, unsigned int *ret_bits,
		       struct err *reterr);

#endif
