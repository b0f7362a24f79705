/* SPDX-License-Identifier: MIT */
/*
 * The daemon's end of the FPS reports: a unix socket to which libgover-fps.so connects and hands
 * over its page of counters. Everything that comes in is a stranger's hint: bounded, checked, tied
 * to the vGPU its process belongs to. Must never block, and never follow a pointer or size from a
 * page.
 */
#ifndef MONITOR_FPS_H
#define MONITOR_FPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/id.h"
#include "fps-preload/wire.h"

#define FPS_SOURCES_MAX 1024 /* open connections; further ones are closed at once and counted */

/* All programs of one vGPU summed, cumulative since the hub was made; never decreases. */
struct fps_totals {
	uint64_t frames;
	uint64_t frame_time[FPS_WIRE_BUCKETS]; /* fps-preload/wire.h says the buckets */
	int open;			       /* programs connected now */
	uint64_t newest_ns;		       /* CLOCK_MONOTONIC of the newest frame of any */
	uint64_t longest_gap_ns;	       /* the longest frame time of any */
};

/* Which vGPU does a process belong to? 0 and its id, or -ENOENT. */
typedef int (*fps_owner_fn)(void *userdata, pid_t pid, char ret_id[ID_MAX]);

struct fps_hub;

/* Listens on @path (parents made, stale socket replaced, mode 0666: who connects is judged by its
 * process, not by file rights). -EADDRINUSE: another daemon answers there. */
int fps_hub_new(const char *path, fps_owner_fn owner, void *userdata, struct fps_hub **ret_hub,
		struct err *reterr);
struct fps_hub *fps_hub_free(struct fps_hub *hub); /* NULL is fine; returns NULL */

/* An epoll fd for the daemon's loop (EPOLLIN), and what to call when it is readable. */
int fps_hub_fd(const struct fps_hub *hub);
void fps_hub_dispatch(struct fps_hub *hub);

/* Once a tick, before fps_hub_totals(): reads every page and adds what is new. */
void fps_hub_collect(struct fps_hub *hub);

/* The totals of a vGPU; NULL: no program has ever reported for it. Valid until the hub is freed or
 * the vGPU forgotten. */
const struct fps_totals *fps_hub_totals(const struct fps_hub *hub, const char *id);

/* Drops what is known of a removed vGPU; its connections are matched anew. */
void fps_hub_forget(struct fps_hub *hub, const char *id);

/* 99th percentile of frame time in ms out of bucket counts; 0 where there are none. */
double fps_p99_ms(const uint64_t frame_time[FPS_WIRE_BUCKETS]);

/* Counts for /metrics. */
struct fps_hub_stats {
	int open;
	int unmatched;	  /* open connections of processes in no vGPU */
	uint64_t refused; /* bad hello, bad page, too many */
};
void fps_hub_stats(const struct fps_hub *hub, struct fps_hub_stats *ret_stats);

#endif
