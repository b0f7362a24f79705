/* SPDX-License-Identifier: MIT */
/*
 * The daemon's end of the FPS reports: a unix socket to which libgover-fps.so connects and hands
 * over its page of counters. Everything that comes in is a stranger's hint: bounded, checked, tied
 * to the vGPU its process belongs to. Must never block, and never follow a pointer or size from a
 * page.
 */
#ifndef MONITOR_FPS_FPS_H
#define MONITOR_FPS_FPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/id.h"
#include "fps-preload/wire.h"

#define FPS_CLIENTS_MAX 1024 /* open connections; further ones are closed at once and counted */

/* All programs of one vGPU summed, cumulative since the hub was made; never decreases. */
struct fps_totals {
	uint64_t frames;
	uint64_t frame_time[FPS_WIRE_BUCKETS]; /* fps-preload/wire.h says the buckets */
	int open;			       /* programs connected now */
	uint64_t newest_ns;		       /* CLOCK_MONOTONIC of the newest frame of any */
	uint64_t longest_gap_ns;	       /* the longest frame time of any */
	uint64_t gpu_time_ns;		       /* of gpu_frames frames, where it is measured */
	uint64_t gpu_frames;
	/* Programs in a virtual machine, which tell when they like (monitor/fps/reporter.h). */
	uint64_t reported_frames; /* of the frames */
	int reporting;		  /* of these the rate is known; not in open */
	double reported_fps;	  /* now, of all of them */
};

/* Which vGPU does a process belong to? 0 and its id, or -ENOENT. */
typedef int (*fps_owner_fn)(void *userdata, pid_t pid, char ret_id[ID_MAX]);

/* Which vGPU does a virtual machine have that is known by its vsock @cid, or, where @name is not
 * NULL, by the name of its socket? 0 and its id, or -ENOENT: none, or not one alone. */
typedef int (*fps_vm_fn)(void *userdata, uint32_t cid, const char *name, char ret_id[ID_MAX]);

struct fps_hub;

/* Listens on @path (parents made, stale socket replaced, mode 0666: who connects is judged by its
 * process, not by file rights). -EADDRINUSE: another daemon answers there. */
int fps_hub_new(const char *path, fps_owner_fn owner, void *userdata, struct fps_hub **ret_hub,
		struct err *reterr);
struct fps_hub *fps_hub_free(struct fps_hub *hub); /* NULL is fine; returns NULL */

/* An epoll fd for the daemon's loop (EPOLLIN), and what to call when it is readable. */
int fps_hub_fd(const struct fps_hub *hub);
void fps_hub_dispatch(struct fps_hub *hub);

/* Hears programs in virtual machines too: on @vsock_port (0: not), and on the sockets in folder
 * @ports ("": none) behind which virtual machines have a virtio-serial port. Once. */
int fps_hub_listen_guests(struct fps_hub *hub, uint32_t vsock_port, const char *ports, fps_vm_fn vm,
			  struct err *reterr);

/* Contracts have changed: whose reports are whose is asked anew before the next one counts. */
void fps_hub_rematch(struct fps_hub *hub);

/* Once a tick, before fps_hub_totals(): reads every page and adds what is new. */
void fps_hub_collect(struct fps_hub *hub);

/* From the next fps_hub_collect() on the programs of a vGPU take at least @period_ns for a frame, 1
 * ms to 1 s; 0: as long as they like. 0 or -ENOMEM. */
int fps_hub_limit(struct fps_hub *hub, const char *id, uint64_t period_ns);

/* The totals of a vGPU; NULL: no program has ever reported for it. Valid until the hub is freed or
 * the vGPU forgotten. */
const struct fps_totals *fps_hub_totals(const struct fps_hub *hub, const char *id);

/* Drops what is known of a removed vGPU; its connections are matched anew. */
void fps_hub_forget(struct fps_hub *hub, const char *id);

/* The frame time in ms that the share @above of all frames exceeds at most, out of bucket counts:
 * 0.01 is the 99th percentile, 0 the longest. 0 where there are none. */
double fps_percentile_ms(const uint64_t frame_time[FPS_WIRE_BUCKETS], double above);

/* Counts for /metrics. */
struct fps_hub_stats {
	int open;
	int unmatched;	  /* open connections of processes in no vGPU */
	uint64_t refused; /* bad hello, bad page, bad message, no vGPU, too many */
	uint64_t
		dropped; /* messages that did not count: too many a second, or not to be believed */
};
void fps_hub_stats(const struct fps_hub *hub, struct fps_hub_stats *ret_stats);

#endif
