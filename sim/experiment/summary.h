/* SPDX-License-Identifier: MIT */
/* The numbers of an experiment's summary: names, titles, values, JSON, and sums over GPUs. */
#ifndef SIM_EXPERIMENT_SUMMARY_H
#define SIM_EXPERIMENT_SUMMARY_H

#include <jansson.h>

#include "sim/experiment/experiment.h"

#define SUMMARY_EXACT (-1) /* number of decimals that means: do not round */

/* One number of a summary. */
struct summary_field {
	const char *name;  /* name with the unit, as in summary.json */
	const char *title; /* in tables */
	size_t offset;	   /* offset in struct experiment_summary */
	bool recorded;	   /* the value is known for a recording too */
	bool whole;	   /* the value is an int, otherwise a double */
	int decimals;	   /* in tables */
};

/* Returns field number @index; NULL past the last field. */
const struct summary_field *summary_field_at(size_t index);
const struct summary_field *summary_find_field(const char *name); /* NULL: unknown */
double summary_value(const struct summary_field *field, const struct experiment_summary *summary);

/* Adds every field and broken_s_at_depth to @object. With @recorded, fields that a recording does
 * not contain are null. */
void summary_encode(const struct experiment_summary *summary, bool recorded, int decimals,
		    json_t *object);
/* Encodes ACCOUNT_DEPTHS broken times by shortfall range. NULL: out of memory. */
json_t *summary_encode_depths(const double *depth_s, int decimals);

/*
 * Sums the summaries of @n GPUs. Means are weighted by seconds. The min-max ratio, lambda and the
 * worst vGPU are those of the worst GPU.
 */
void summary_add_up(const struct experiment_summary *const *parts, int n,
		    struct experiment_summary *ret_sum);

#endif
