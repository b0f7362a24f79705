/* SPDX-License-Identifier: MIT */
/*
 * Writes an experiment to a folder: rows per period for each vGPU (seconds.csv) and for the host
 * (host.csv), the decisions (decisions.jsonl) and the summary (summary.json). The files contain no
 * time of day, path or address, so the same experiment always writes the same bytes.
 */
#ifndef SIM_EXPERIMENT_REPORT_H
#define SIM_EXPERIMENT_REPORT_H

#include "sim/experiment/summary.h"

/* Returns the content of summary.json. */
json_t *report_encode(const struct experiment *experiment, const char *policy, uint64_t seed);

struct report;

/* Creates @dir and its files. -errno with a message. */
int report_open(const char *dir, struct report **ret_report, struct err *reterr);

/* Hook for struct experiment_hooks.on_event. @report: the userdata of the hook, a struct report. */
void report_event(void *report, const struct experiment_event *event);

/* Writes the rows of the last period. Call this function after each experiment_step(). */
void report_period(struct report *report, const struct experiment *experiment);

/*
 * Writes summary.json and frees @report (NULL: no effect), also after an error. Returns -EIO with a
 * message if any file could not be written.
 */
int report_close(struct report *report, const json_t *summary, struct err *reterr);

#endif
