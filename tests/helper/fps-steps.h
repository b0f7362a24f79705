/* SPDX-License-Identifier: MIT */
/* The file that a program fps-steps and its driver share (mmap). Times are CLOCK_MONOTONIC. */
#ifndef FPS_STEPS_H
#define FPS_STEPS_H

#include <stdint.h>

struct fps_steps {
	/* written by the driver: a new @step begins with @body_us */
	uint32_t step;
	uint32_t body_us; /* CPU time of the drawing of a frame */
	/* written by the program in this order, and 0 until then */
	uint32_t seen;	     /* the step of the times below */
	uint32_t frames;     /* frames presented, modulo 2^32 */
	uint64_t short_ns;   /* end of the first frame that was late */
	uint64_t on_time_ns; /* end of the first of ON_TIME frames in time after that */
};

#endif
