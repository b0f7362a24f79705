/* SPDX-License-Identifier: MIT */
/*
 * Reads the physical utilisation of an Intel GPU from a child process, `intel_gpu_top -J`. The
 * output of the child is not strict JSON: a stream of objects with or without brackets and commas,
 * whose first sample is meaningless. No function blocks.
 */
#ifndef MONITOR_IGT_H
#define MONITOR_IGT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define IGT_OBJECT_MAX (256 * 1024) /* maximum bytes of one sample; a longer sample is dropped */

/* --- parser of the output --- */

struct igt_sample {
	double util_pct;   /* busy time of the busiest engine, 0..100 */
	double actual_mhz; /* GPU clock in MHz; 0: not reported, or the GPU is suspended */
};

struct igt_parser;
struct igt_parser *igt_parser_new(void);
struct igt_parser *igt_parser_free(struct igt_parser *parser); /* NULL is fine; returns NULL */
/* Starts a new stream, whose first sample is dropped. */
void igt_parser_reset(struct igt_parser *parser);

/*
 * Parses the next bytes, which may end anywhere. Returns the number of completed samples; if there
 * are any, *ret_sample is the newest. Other input is skipped.
 */
int igt_parser_feed(struct igt_parser *parser, const char *bytes, size_t length,
		    struct igt_sample *ret_sample);

/* --- the child process --- */

struct igt;

/*
 * Prepares the program @path with one sample per @period_ms. @device is passed as option -d (NULL:
 * no option).
 */
struct igt *igt_new(const char *path, const char *device, int period_ms);
/*
 * Starts the program. The child has its own process group, and exits when the daemon exits. Its
 * last line on stderr becomes a part of messages. After an error, igt_dispatch() tries again.
 */
int igt_start(struct igt *igt, struct err *reterr);
/* Kills the child and waits at most 0.1 s for its end. NULL is fine; returns NULL. */
struct igt *igt_free(struct igt *igt);

/*
 * Reads the output, kills a child that prints no valid samples, and restarts an exited child after
 * a delay (base/backoff.h; reset by a sample). Call this function once per tick. Returns 0, or
 * -ECHILD once per exit or failed start, with a message for the log.
 */
int igt_dispatch(struct igt *igt, uint64_t now_mono_ns, struct err *reterr);

/*
 * Returns the newest sample and its age. Returns -ENODATA if there is no sample or if the sample is
 * older than 2.5 periods.
 */
int igt_latest(const struct igt *igt, uint64_t now_mono_ns, struct igt_sample *ret_sample,
	       double *ret_age_s);

/*
 * Writes why igt_latest() returns no sample: the child cannot be started, has exited, does not end,
 * or prints no valid samples. Returns false if there is a sample.
 */
bool igt_describe_problem(const struct igt *igt, uint64_t now_mono_ns, char text[ERR_MSG_MAX]);

/* Returns the highest clock of all samples; 0: no clock was reported. */
double igt_highest_mhz(const struct igt *igt);

#endif
