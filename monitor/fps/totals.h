/* SPDX-License-Identifier: MIT */
/*
 * What the hub and its parts share: the totals of a vGPU, phases of frames, readings of
 * shared pages with a check of their plausibility, and limits of connections. Pure: time is a
 * parameter.
 */
#ifndef MONITOR_FPS_TOTALS_H
#define MONITOR_FPS_TOTALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/id.h"
#include "fps-preload/wire.h"

/*
 * Limits of the connections of a socket. Each connection has a holder: a vGPU, a user or a virtual
 * machine. A part of the connections is reserved for holders that have few, so that no holder can
 * take all connections.
 */
struct fps_quota {
	int all;      /* maximum connections of all holders together */
	int each;     /* maximum connections of one holder */
	int reserved; /* the last connections of @all are reserved ... */
	int few;      /* ... for holders with fewer connections than this */
	int used;     /* connections of all holders now; initially 0 */
};

/*
 * Takes a connection for the holder with *@held connections, and counts the connection in @used and
 * in *@held. Returns false and changes nothing if a limit is reached.
 */
bool fps_quota_take(struct fps_quota *quota, int *held);
/* Returns a connection of the holder. */
void fps_quota_give(struct fps_quota *quota, int *held);

/* The connections of a holder that were refused because of a limit. */
struct fps_refusals {
	uint64_t n;
	uint64_t newest_ns; /* CLOCK_MONOTONIC of the newest refusal */
	int held;	    /* connections of the holder at the newest refusal */
};

void fps_refusals_add(struct fps_refusals *refusals, int held, uint64_t now_ns);

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
	 * each 0..1 (struct fps_phase) */
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
	struct fps_refusals users; /* see fps_hub_user_refusals() */
};

/*
 * Returns a percentile of the frame times in ms: the fraction @above of the frames took longer. For
 * example, @above is 0.01 for the 99th percentile, and 0 for the maximum. Returns 0 if there are no
 * frames.
 */
double fps_percentile_ms(const uint64_t frame_time[FPS_WIRE_BUCKETS], double above);

/* Returns FPS_PRESENT_WAITS if any program of the vGPU waits. */
enum fps_present fps_present_of(const struct fps_totals *totals);

/*
 * The part of a program's next frame that has passed, judged by the mean time between its newest
 * frames. With it, a frame rate over a short time is not wrong by a whole frame. Zero-initialised.
 */
struct fps_phase {
	uint64_t newest_ns;   /* CLOCK_MONOTONIC of the newest frame; 0: none */
	uint64_t interval_ns; /* mean time between frames; 0: unknown */
};

/*
 * Returns the part of the next frame that has passed at @now_ns, 0..1. @frames new frames were
 * presented since the last call, the newest at @newest_ns, which is not after @now_ns. The part is
 * 0 until the time between two frames is known, and stays 1 if the next frame takes longer than the
 * frames before it. More than a second between two frames is a pause: the time is unknown after it.
 */
double fps_phase_take(struct fps_phase *phase, uint64_t frames, uint64_t newest_ns,
		      uint64_t now_ns);

/* The state of one vGPU in the hub. */
struct fps_vgpu {
	char id[ID_MAX];
	uint64_t limit_ns; /* minimum time of a frame; 0: no limit */
	int held;	   /* connections of its programs to the unix socket */
	struct fps_refusals refused;
	struct fps_totals totals;
};

/*
 * Maximum plausible frames per second. A program that only calls eglSwapBuffers() on a pbuffer
 * reaches about 6,000.
 */
#define FPS_PLAUSIBLE 100000

/* Maximum time from the presentation of a frame until its GPU time is known. */
#define FPS_GPU_LATE_NS 10000000000ull

/* The readings of one page. */
struct fps_reading {
	struct fps_counters counted; /* counters at the last reading */
	uint64_t at_ns;		     /* time of the last reading */
	uint64_t spare;		     /* frames that may be counted besides those of the rate */
	struct fps_phase phase;	     /* of the counted frames */
	double partial_frames;	     /* part of the next frame that had passed then, 0..1 */
	uint32_t presents_begun[FPS_WIRE_LANES]; /* at the last reading */
	enum fps_present present;		 /* of the program at the last reading */
};

/* Begins to read a page: all frames since its creation are new. */
void fps_reading_begin(struct fps_reading *reading, uint64_t now_ns);

/* Reads the page without counting its frames. */
void fps_reading_skip(struct fps_reading *reading, const struct fps_page *page);

/*
 * Reads the page, and adds what is new since the last reading to @totals (NULL: it is not counted).
 * Ignores the new frames if the counters are implausible: counters that decrease, or more than
 * FPS_PLAUSIBLE frames per second. Apart from this rate, at most FPS_PLAUSIBLE frames are counted
 * at once.
 */
void fps_reading_take(struct fps_reading *reading, const struct fps_page *page, uint64_t now_ns,
		      struct fps_totals *totals);

/* Adds the state of the program at the last reading to @totals. */
void fps_reading_add_state(const struct fps_reading *reading, struct fps_totals *totals);

/*
 * Adds the GPU time of @gpu_frames frames. @drawn frames were presented in @elapsed_ns. Ignores an
 * implausible GPU time, for example more than @elapsed_ns and FPS_GPU_LATE_NS for each thread or
 * for each frame.
 */
void fps_gpu_time_add(struct fps_totals *totals, uint64_t drawn, uint64_t gpu_frames,
		      uint64_t gpu_time_ns, uint64_t elapsed_ns);

#endif
