/* SPDX-License-Identifier: MIT */
/* The fields of the summary of an experiment: names, titles, values, JSON, and sums over GPUs. */
#ifndef SIM_EXPERIMENT_SUMMARY_H
#define SIM_EXPERIMENT_SUMMARY_H

#include <jansson.h>

#include "sim/experiment/experiment.h"

#define SUMMARY_EXACT (-1) /* value of summary_field.decimals: the value is not rounded */

/* The value of several GPUs: the sum, the mean weighted by seconds, or that of the worst GPU. */
enum summary_sum { SUMMARY_TOTAL, SUMMARY_MEAN, SUMMARY_LEAST, SUMMARY_MOST };

/* One number of a summary. */
struct summary_field {
	const char *name;  /* name with the unit, as in summary.json */
	const char *title; /* in tables */
	size_t offset;	   /* offset of the value in struct experiment_summary */
	bool recorded;	   /* true: a recording contains this value too */
	bool whole;	   /* true: the value is an int; false: a double */
	int decimals;	   /* in tables */
	enum summary_sum sum;
};

/* Returns field number @index; NULL past the last field. */
const struct summary_field *summary_field_at(size_t index);
/* Returns the field @name; NULL: unknown name. */
const struct summary_field *summary_find_field(const char *name);
double summary_value(const struct summary_field *field, const struct experiment_summary *summary);

/*
 * Adds all fields, and broken_s_at_depth, to @object. If @recorded is true, fields that a recording
 * does not contain are null.
 */
void summary_encode(const struct experiment_summary *summary, bool recorded, int decimals,
		    json_t *object);
/* Encodes the broken time of each shortfall range. @depth_s has ACCOUNT_DEPTHS values. */
json_t *summary_encode_depths(const double *depth_s, int decimals);

/* Adds up the summaries of @n GPUs. A quotient is computed from the sums. */
void summary_add_up(const struct experiment_summary *const *parts, int n,
		    struct experiment_summary *ret_sum);

#endif
