/* SPDX-License-Identifier: MIT */
/*
 * Receives the FPS reports: programs with libgover-fps.so connect to a unix socket and pass a page
 * of counters. The input is untrusted: it is bounded and checked, and frames count only for the
 * vGPU to which the process belongs. A connection ends with its process. No function blocks.
 */
#ifndef MONITOR_FPS_FPS_H
#define MONITOR_FPS_FPS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/id.h"
#include "monitor/fps/totals.h"

/*
 * Maximum connections of the programs of one vGPU and of all vGPUs, and of the programs of one user
 * that belong to no vGPU and of all such users. Further connections are refused. A part of each
 * total is reserved for vGPUs or users with few connections, see fps.c.
 */
#define FPS_VGPU_CLIENTS_MAX  512
#define FPS_VGPUS_CLIENTS_MAX 2048
#define FPS_USER_CLIENTS_MAX  64
#define FPS_USERS_CLIENTS_MAX 256

/*
 * Finds the vGPU that a process belongs to. @pid is 0 if the process has already ended and its pid
 * may belong to another process. Returns 0 or -ENOENT.
 */
typedef int (*fps_owner_fn)(void *userdata, pid_t pid, char ret_id[ID_MAX]);

struct fps_hub;

/*
 * Listens on @path, which must outlive the hub. Creates parent folders and replaces a stale socket.
 * The mode of the socket is 0666: any program may connect, because its frames count only for its
 * own vGPU. Returns -EADDRINUSE if another daemon listens on @path, and -ENAMETOOLONG. After any
 * other error, and if another program removes the name of the socket, fps_hub_collect() tries
 * again.
 */
int fps_hub_new(const char *path, fps_owner_fn owner, void *userdata, struct fps_hub **ret_hub,
		struct err *reterr);
struct fps_hub *fps_hub_free(struct fps_hub *hub); /* NULL is fine; returns NULL */
/* Returns why no program can connect to the socket; "": they can. Owned by the hub. */
const char *fps_hub_problem(const struct fps_hub *hub);

/*
 * fps_hub_fd() returns an epoll fd for the event loop (EPOLLIN). Call fps_hub_dispatch() when this
 * fd is readable.
 */
int fps_hub_fd(const struct fps_hub *hub);
void fps_hub_dispatch(struct fps_hub *hub);

/*
 * Enables reports from virtual machines, over @vsock_port (0: off) and over virtio-serial ports,
 * whose host sockets are in folder @ports ("": off). Called at most once.
 */
int fps_hub_listen_guests(struct fps_hub *hub, uint32_t vsock_port, const char *ports, fps_vm_fn vm,
			  struct err *reterr);

/* Call after contracts have changed: virtual machines are matched to vGPUs again. */
void fps_hub_rematch(struct fps_hub *hub);

/* Call once per tick, before fps_hub_totals(): reads every page and adds new frames. */
void fps_hub_collect(struct fps_hub *hub);

/* Sets the minimum frame time of a vGPU's programs, 1 ms to 1 s; 0: no limit. The next
 * fps_hub_collect() sends it. */
void fps_hub_limit(struct fps_hub *hub, const char *id, uint64_t period_ns);

/*
 * Returns the totals of a vGPU, or NULL if no program has reported for it. Valid until the hub is
 * freed or the vGPU is forgotten.
 */
const struct fps_totals *fps_hub_totals(const struct fps_hub *hub, const char *id);

/*
 * Returns the connections of the vGPU's programs that were refused because of a limit, or NULL if
 * no program has reported for the vGPU. Valid as long as the totals.
 */
const struct fps_refusals *fps_hub_refusals(const struct fps_hub *hub, const char *id);

/*
 * Returns the connections of programs without a vGPU that were refused because of a limit. Valid
 * until the hub is freed. *@ret_uid: user of the newest one.
 */
const struct fps_refusals *fps_hub_user_refusals(const struct fps_hub *hub, uid_t *ret_uid);

/* Frees the totals of a removed vGPU. The connections of the vGPU are matched to vGPUs again. */
void fps_hub_forget(struct fps_hub *hub, const char *id);

/* Writes the counters for /metrics. */
void fps_hub_stats(const struct fps_hub *hub, struct fps_hub_stats *ret_stats);

#endif
