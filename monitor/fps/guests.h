/* SPDX-License-Identifier: MIT */
/*
 * The hub's ears for virtual machines: a vsock listener, and a folder of unix sockets, each of
 * which QEMU has for one virtual machine's virtio-serial port. What comes in is cut into messages
 * and counted for the vGPU of that machine, whose limit is told back over vsock. Must never block,
 * nor let a guest keep the daemon busy.
 */
#ifndef MONITOR_FPS_GUESTS_H
#define MONITOR_FPS_GUESTS_H

#include "monitor/fps/fps.h"

#define FPS_GUEST_CONNECTIONS_MAX 1024 /* connections of all virtual machines */

/* As a limit that was told: a program may remember what an earlier daemon told it. */
#define FPS_LIMIT_UNSENT UINT64_MAX

struct fps_guests;

/* One vGPU: what the hub keeps of it, and what guests add to. */
struct fps_vgpu {
	char id[ID_MAX];
	uint64_t limit_ns; /* of a frame, at least; 0: none */
	struct fps_totals totals;
};

/* What is known of a vGPU; NULL: out of memory. */
typedef struct fps_vgpu *(*fps_vgpu_fn)(void *userdata, const char *id);

struct fps_guests_config {
	uint32_t vsock_port; /* 0: not */
	const char *ports;   /* "": none */
	fps_vm_fn vm;
	void *vm_userdata;
	fps_vgpu_fn vgpu;
	void *vgpu_userdata;
};

/* Makes the folder. Fails where the host has no vsock. */
int fps_guests_new(const struct fps_guests_config *config, struct fps_guests **ret_guests,
		   struct err *reterr);
struct fps_guests *fps_guests_free(struct fps_guests *guests); /* NULL is fine; returns NULL */

/* An epoll fd (EPOLLIN), and what to call when it is readable. @tick_ns: the last collect. */
int fps_guests_fd(const struct fps_guests *guests);
void fps_guests_dispatch(struct fps_guests *guests, uint64_t tick_ns);

/* Once a tick: asks whose the machines are, tells programs a limit that is new to them, looks for
 * sockets, and adds the rates of programs to the totals, whose own are 0 before. */
void fps_guests_collect(struct fps_guests *guests);

/* Before the next message counts, every machine is asked for again. */
void fps_guests_rematch(struct fps_guests *guests);

/* Adds to @stats. */
void fps_guests_stats(const struct fps_guests *guests, struct fps_hub_stats *stats);

#endif
