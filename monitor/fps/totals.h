/* SPDX-License-Identifier: MIT */
/* Types that the hub and its parts share: totals of a vGPU, and counts of connections. */
#ifndef MONITOR_FPS_TOTALS_H
#define MONITOR_FPS_TOTALS_H

#include <stdint.h>

#include <sys/types.h>

#include "base/id.h"
#include "fps-preload/wire.h"
#include "monitor/fps/quota.h"

/*
 * Whether programs wait inside the function that presents a frame. Such a program wants its next
 * frame presented: it waits for the GPU or for the display server, not for its user. The opposite
 * is not certain: a program outside may wait for the GPU in another function (glFinish(),
 * vkWaitForFences()).
 */
enum fps_present {
	/*
	 * no program, a program that does not report its present calls (an older library, a virtual
	 * machine), or a call that has begun since the reading before
	 */
	FPS_PRESENT_UNKNOWN,
	/* every program was outside at the reading */
	FPS_PRESENT_OUTSIDE,
	/* a program was inside the same call at this reading and at the reading before */
	FPS_PRESENT_WAITS,
};

/* Totals of all programs of one vGPU, cumulative since the hub was created. */
struct fps_totals {
	uint64_t frames;
	uint64_t frame_time[FPS_WIRE_BUCKETS]; /* number of frames in each bucket
						  (fps-preload/wire.h) */
	int open;			       /* programs now connected to the unix socket */
	/* sum over the @open programs of the part of the next frame that had passed at @at_ns,
	 * each 0..1 (monitor/fps/phase.h) */
	double partial_frames;
	int present_outside; /* of the @open programs, those with FPS_PRESENT_OUTSIDE at @at_ns */
	int present_waits;   /* of the @open programs, those with FPS_PRESENT_WAITS at @at_ns */
	uint64_t at_ns;	     /* CLOCK_MONOTONIC when the frames were counted; 0: unknown */
	uint64_t newest_ns;  /* CLOCK_MONOTONIC of the newest frame */
	uint64_t longest_gap_ns; /* longest frame time */
	uint64_t gpu_time_ns;	 /* total GPU time of @gpu_frames frames */
	uint64_t gpu_frames;
	uint64_t reported_frames; /* frames of programs in a virtual machine; included in @frames */
	int reporting; /* programs in a virtual machine with a known rate; not included in @open */
	double reported_fps; /* sum of the current rates of the @reporting programs */
};

/*
 * Finds the vGPU of a virtual machine by its vsock @cid or, if @name is not NULL, by the name of
 * its socket. Returns 0 if exactly one vGPU matches, otherwise -ENOENT.
 */
typedef int (*fps_vm_fn)(void *userdata, uint32_t cid, const char *name, char ret_id[ID_MAX]);

struct fps_hub_stats {
	int open;
	int unmatched;	  /* open connections without a vGPU */
	uint64_t refused; /* connections refused: invalid data, no vGPU, or too many connections */
	uint64_t over_limit; /* connections refused because there are too many */
	uint64_t dropped;    /* messages ignored because they are too frequent or implausible */
	/* connections of programs without a vGPU that are over a limit; @refused_uid: of the newest
	 */
	struct fps_refusals users;
	uid_t refused_uid;
};

/*
 * Returns a percentile of the frame times in ms: the fraction @above of the frames took longer. For
 * example, @above is 0.01 for the 99th percentile, and 0 for the maximum. Returns 0 if there are no
 * frames.
 */
double fps_percentile_ms(const uint64_t frame_time[FPS_WIRE_BUCKETS], double above);

/* Returns FPS_PRESENT_WAITS if any program of the vGPU waits. */
enum fps_present fps_present_of(const struct fps_totals *totals);

#endif
