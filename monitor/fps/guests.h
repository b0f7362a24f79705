/* SPDX-License-Identifier: MIT */
/*
 * Receives reports from virtual machines: over vsock, and over virtio-serial ports. QEMU provides a
 * unix socket for each port, and all these sockets are in one folder. Messages are counted for the
 * vGPU of the virtual machine. Over vsock the limit of the vGPU is sent back. No function blocks,
 * and no guest can keep the daemon busy.
 */
#ifndef MONITOR_FPS_GUESTS_H
#define MONITOR_FPS_GUESTS_H

#include "base/err.h"
#include "monitor/fps/totals.h"

/*
 * Maximum connections of all virtual machines. The last 512 are reserved for virtual machines with
 * fewer than 4.
 */
#define FPS_GUEST_CONNECTIONS_MAX      1024
#define FPS_GUEST_CONNECTIONS_RESERVED 512
#define FPS_GUEST_CONNECTIONS_FEW      4

/*
 * No limit was sent yet. The first limit is always sent, even if it is "no limit", because an
 * earlier daemon may have set another limit.
 */
#define FPS_LIMIT_UNSENT UINT64_MAX

struct fps_guests;

/* Returns the state of a vGPU. Creates the state if needed. */
typedef struct fps_vgpu *(*fps_vgpu_fn)(void *userdata, const char *id);

struct fps_guests_config {
	uint32_t vsock_port; /* 0: off */
	const char *ports;   /* folder of sockets; "": off */
	fps_vm_fn vm;
	void *vm_userdata;
	fps_vgpu_fn vgpu;
	void *vgpu_userdata;
};

/*
 * Starts listening and creates the folder of sockets. Fails if vsock is enabled but the host does
 * not support vsock.
 */
int fps_guests_new(const struct fps_guests_config *config, struct fps_guests **ret_guests,
		   struct err *reterr);
struct fps_guests *fps_guests_free(struct fps_guests *guests); /* NULL is fine; returns NULL */

/*
 * fps_guests_fd() returns an epoll fd (EPOLLIN). Call fps_guests_dispatch() when this fd is
 * readable, with the time of the last tick.
 */
int fps_guests_fd(const struct fps_guests *guests);
void fps_guests_dispatch(struct fps_guests *guests, uint64_t tick_ns);

/*
 * Call once per tick: matches virtual machines to vGPUs, sends changed limits and connects to new
 * sockets. Adds the rates of the programs to @reporting and @reported_fps of each vGPU's totals.
 * The caller has set both to 0.
 */
void fps_guests_collect(struct fps_guests *guests);

/*
 * Call after contracts have changed: each virtual machine is matched to a vGPU again before its
 * next message.
 */
void fps_guests_rematch(struct fps_guests *guests);

/* Adds the counters of all virtual machines to @stats. */
void fps_guests_stats(const struct fps_guests *guests, struct fps_hub_stats *stats);

#endif
