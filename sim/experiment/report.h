/* SPDX-License-Identifier: MIT */
/*
 * What is written of an experiment: a folder with a row a period for each vGPU (seconds.csv) and
 * for the host (host.csv), what was decided (decisions.jsonl) and what it came to (summary.json).
 * Same experiment, same bytes: must never write a time of day, a path or an address.
 */
#ifndef SIM_EXPERIMENT_REPORT_H
#define SIM_EXPERIMENT_REPORT_H

#include "sim/experiment/summary.h"

/* All of summary.json; NULL: out of memory. */
json_t *report_encode(const struct experiment *experiment, const char *policy, uint64_t seed);

struct report;

/* Makes @dir and its files. -errno with a sentence. */
int report_open(const char *dir, struct report **ret_report, struct err *reterr);

/* Hand it to the experiment: told = report_event, userdata = the report. */
void report_event(void *report, const struct experiment_event *event);

/* After each experiment_step(). */
void report_period(struct report *report, const struct experiment *experiment);

/* Writes summary.json and ends the report, which is freed in any case. -EIO with a sentence when
 * anything could not be written. NULL is fine. */
int report_close(struct report *report, const json_t *summary, struct err *reterr);

#endif
