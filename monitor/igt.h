/* SPDX-License-Identifier: MIT */
/*
 * Physical utilisation of an Intel GPU out of `intel_gpu_top -J`, run as a child process. Its
 * output is no reliable JSON: a stream of objects with or without brackets and commas, whose first
 * sample means nothing. Must never block, and never give a number that is old.
 */
#ifndef MONITOR_IGT_H
#define MONITOR_IGT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define IGT_OBJECT_MAX (256 * 1024) /* bytes of one sample; a longer one is dropped */

/* --- the stream: pure --- */

struct igt_sample {
	double util_pct;   /* busy time of the busiest engine, 0..100 */
	double actual_mhz; /* clock; 0: not told, or the GPU slept */
};

struct igt_parser;
int igt_parser_new(struct igt_parser **ret_parser);
struct igt_parser *igt_parser_free(struct igt_parser *parser); /* NULL is fine; returns NULL */
/* Forgets what was fed: a new stream begins, whose first sample will be dropped. */
void igt_parser_reset(struct igt_parser *parser);

/*
 * Takes the next bytes, cut anywhere. Returns how many samples they completed (what is no sample is
 * skipped); when there were any, *ret_sample is the newest.
 */
int igt_parser_feed(struct igt_parser *parser, const char *bytes, size_t length,
		    struct igt_sample *ret_sample);

/* --- the child process --- */

struct igt;

/*
 * Starts @path with a sample each @period_ms, on @device (as its option -d says; NULL: its own
 * choice). The child is alone in its process group and ends with its reader, whatever ends that.
 * Its complaints go to our standard error.
 */
int igt_spawn(const char *path, const char *device, int period_ms, struct igt **ret_igt,
	      struct err *reterr);
struct igt *igt_free(struct igt *igt); /* kills and reaps; NULL is fine; returns NULL */

/* An epoll fd for the daemon's loop (EPOLLIN), the same over restarts of the child. */
int igt_fd(const struct igt *igt);

/*
 * Reads what has come and starts a dead child again when it is time (1 s after the first death,
 * twice as long after each further one, at most 5 min; a sample sets that back). Call it when
 * igt_fd() is readable and once a tick. Returns 0, or once for each death -ECHILD with a sentence
 * for the log.
 */
int igt_dispatch(struct igt *igt, uint64_t now_mono_ns, struct err *reterr);

/* The newest sample and its age. -ENODATA: none, or older than 2.5 periods. */
int igt_latest(const struct igt *igt, uint64_t now_mono_ns, struct igt_sample *ret_sample,
	       double *ret_age_s);

/* The highest clock that any sample told; 0: none did. */
double igt_highest_mhz(const struct igt *igt);

#endif
