/* SPDX-License-Identifier: MIT */
/*
 * Opens the vsock connections and virtio-serial ports through which a program in a virtual machine
 * reaches the host. No function blocks or allocates memory.
 */
#ifndef FPS_PRELOAD_CHANNEL_H
#define FPS_PRELOAD_CHANNEL_H

#include <sys/socket.h>

#include <linux/vm_sockets.h>

#include "base/preload/owned-fd.h"

/*
 * Starts to connect to @host. The connection may still be pending afterwards; see
 * channel_check_connected(). Returns 0 or a negative errno.
 */
int channel_open_vsock(const struct sockaddr_vm *host, struct owned_fd *ret_sock);

/* Returns 0 if connected, -EINPROGRESS if pending, another negative errno if the attempt failed. */
int channel_check_connected(const struct owned_fd *sock);

/*
 * Opens the virtio-serial port @name. Returns -EBUSY if another program has the port open, because
 * only one program at a time can open a port.
 */
int channel_open_port(const char *name, struct owned_fd *ret_port);

#endif
