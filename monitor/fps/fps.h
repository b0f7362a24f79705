/* SPDX-License-Identifier: MIT */
/*
 * Receives the FPS reports: programs with libgover-fps.so connect to a unix socket and pass a page
 * of counters. All input is untrusted: it is bounded, checked, and counted only for the vGPU that
 * the program's process belongs to. No function blocks.
 */
#ifndef MONITOR_FPS_FPS_H
#define MONITOR_FPS_FPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/id.h"
#include "fps-preload/wire.h"

#define FPS_CLIENTS_MAX \
	1024 /* open connections; further ones are closed at once and counted as refused */

/* Totals of all programs of one vGPU, cumulative since the hub was created. */
struct fps_totals {
	uint64_t frames;
	uint64_t frame_time[FPS_WIRE_BUCKETS]; /* frames per bucket of fps-preload/wire.h */
	int open;			       /* programs now connected to the unix socket */
	uint64_t newest_ns;		       /* CLOCK_MONOTONIC of the newest frame */
	uint64_t longest_gap_ns;	       /* longest frame time */
	uint64_t gpu_time_ns;		       /* GPU time of gpu_frames frames */
	uint64_t gpu_frames;
	/* Programs in a virtual machine (monitor/fps/reporter.h). */
	uint64_t reported_frames; /* included in frames */
	int reporting;		  /* programs with a known rate; not included in open */
	double reported_fps;	  /* sum of their current rates */
};

/* Finds the vGPU that a process belongs to. Returns 0 or -ENOENT. */
typedef int (*fps_owner_fn)(void *userdata, pid_t pid, char ret_id[ID_MAX]);

/* Finds the vGPU of a virtual machine by its vsock @cid or, if @name is not NULL, by the name of
 * its socket. Returns 0, or -ENOENT if there is none or more than one. */
typedef int (*fps_vm_fn)(void *userdata, uint32_t cid, const char *name, char ret_id[ID_MAX]);

struct fps_hub;

/* Listens on @path. Creates parent folders and replaces a stale socket. Its mode is 0666, because
 * access depends on the process that connects. -EADDRINUSE: another daemon listens there. */
int fps_hub_new(const char *path, fps_owner_fn owner, void *userdata, struct fps_hub **ret_hub,
		struct err *reterr);
struct fps_hub *fps_hub_free(struct fps_hub *hub); /* NULL is fine; returns NULL */

/* An epoll fd for the event loop (EPOLLIN), and the function to call when it is readable. */
int fps_hub_fd(const struct fps_hub *hub);
void fps_hub_dispatch(struct fps_hub *hub);

/* Also receives reports from virtual machines, over @vsock_port (0: off) and over virtio-serial
 * ports, whose host sockets are in folder @ports ("": off). Called at most once. */
int fps_hub_listen_guests(struct fps_hub *hub, uint32_t vsock_port, const char *ports, fps_vm_fn vm,
			  struct err *reterr);

/* Call after contracts have changed: virtual machines are matched to vGPUs again. */
void fps_hub_rematch(struct fps_hub *hub);

/* Call once per tick, before fps_hub_totals(): reads every page and adds new frames. */
void fps_hub_collect(struct fps_hub *hub);

/* Sets the minimum frame time of a vGPU's programs, 1 ms to 1 s; 0: no limit. The next
 * fps_hub_collect() sends it. Returns 0 or -ENOMEM. */
int fps_hub_limit(struct fps_hub *hub, const char *id, uint64_t period_ns);

/* The totals of a vGPU, or NULL if no program has reported for it. Valid until the hub is freed or
 * the vGPU is forgotten. */
const struct fps_totals *fps_hub_totals(const struct fps_hub *hub, const char *id);

/* Frees the totals of a removed vGPU; its connections are matched again. */
void fps_hub_forget(struct fps_hub *hub, const char *id);

/* Returns the frame time in ms that at most the fraction @above of all frames exceeds: 0.01 gives
 * the 99th percentile, 0 the maximum. 0 if there are no frames. */
double fps_percentile_ms(const uint64_t frame_time[FPS_WIRE_BUCKETS], double above);

/* Counts for /metrics. */
struct fps_hub_stats {
	int open;
	int unmatched;	  /* open connections without a vGPU */
	uint64_t refused; /* connections closed for an invalid hello, page or message, no vGPU,
			     limits */
	uint64_t dropped; /* messages ignored as too frequent or implausible */
};
void fps_hub_stats(const struct fps_hub *hub, struct fps_hub_stats *ret_stats);

#endif
