/* SPDX-License-Identifier: MIT */
/* The two ways out of a virtual machine, opened. Never blocks, never allocates. */
#ifndef FPS_PRELOAD_DIAL_H
#define FPS_PRELOAD_DIAL_H

#include <linux/vm_sockets.h>
#include <sys/socket.h>

#include "fps-preload/kept.h"

/* A connection that is there, or will be (dial_ready()). Returns 0 or a negative errno. */
int dial_vsock(const struct sockaddr_vm *host, struct kept *ret_sock);

/* 0: it is there; -EINPROGRESS: not yet; another negative errno: it never will be. */
int dial_ready(const struct kept *sock);

/* The virtio-serial port called @name. One program at a time can have it open: -EBUSY. */
int dial_port(const char *name, struct kept *ret_port);

#endif
