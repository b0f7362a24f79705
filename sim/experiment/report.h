/* SPDX-License-Identifier: MIT */
/*
 * Writes an experiment to a folder: rows per period for each vGPU (seconds.csv) and for the host
 * (host.csv), the decisions (decisions.jsonl) and the summary (summary.json). The same experiment
 * gives the same bytes: the files contain no time of day, path or address.
 */
#ifndef SIM_EXPERIMENT_REPORT_H
#define SIM_EXPERIMENT_REPORT_H

#include "sim/experiment/summary.h"

/* Returns all of summary.json. NULL: out of memory. */
json_t *report_encode(const struct experiment *experiment, const char *policy, uint64_t seed);

struct report;

/* Creates @dir and its files. -errno with a message. */
int report_open(const char *dir, struct report **ret_report, struct err *reterr);

/* The on_event hook of an experiment; its userdata is the report. */
void report_event(void *report, const struct experiment_event *event);

/* Call after each experiment_step(). */
void report_period(struct report *report, const struct experiment *experiment);

/*
 * Writes summary.json and frees the report, also after an error. -EIO with a message if a file
 * could not be written. @report: may be NULL.
 */
int report_close(struct report *report, const json_t *summary, struct err *reterr);

#endif
