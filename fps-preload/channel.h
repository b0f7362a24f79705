/* SPDX-License-Identifier: MIT */
/* The two ways out of a virtual machine, opened. Never blocks, never allocates. */
#ifndef FPS_PRELOAD_CHANNEL_H
#define FPS_PRELOAD_CHANNEL_H

#include <linux/vm_sockets.h>
#include <sys/socket.h>

#include "fps-preload/owned-fd.h"

/* A connection that is there, or will be (channel_check_connected()). Returns 0 or a negative
 * errno. */
int channel_open_vsock(const struct sockaddr_vm *host, struct owned_fd *ret_sock);

/* 0: it is there; -EINPROGRESS: not yet; another negative errno: it never will be. */
int channel_check_connected(const struct owned_fd *sock);

/* The virtio-serial port called @name. One program at a time can have it open: -EBUSY. */
int channel_open_port(const char *name, struct owned_fd *ret_port);

#endif
