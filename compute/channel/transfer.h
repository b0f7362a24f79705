/* SPDX-License-Identifier: MIT */
/* Sends and receives one packet with descriptors on a SOCK_SEQPACKET socket, without waiting. */
#ifndef COMPUTE_CHANNEL_TRANSFER_H
#define COMPUTE_CHANNEL_TRANSFER_H

#include <stddef.h>

#define COMPUTE_TRANSFER_FDS_MAX 4

/*
 * Sends @size bytes with @n_fds (0 to COMPUTE_TRANSFER_FDS_MAX) descriptors, which stay open.
 * Returns 0 or a negative errno. Never raises SIGPIPE.
 */
int compute_transfer_send(int sock, const void *bytes, size_t size, const int *fds,
			  unsigned int n_fds);

/*
 * Receives a packet of at most @size bytes. Received descriptors (O_CLOEXEC) are stored in @fds,
 * which has COMPUTE_TRANSFER_FDS_MAX elements; the caller closes them. Returns the size of the
 * packet, 0 if the other side has closed the connection, or a negative errno: -EAGAIN: no packet;
 * -EMSGSIZE: the packet was longer or had more descriptors; all of them are closed.
 */
int compute_transfer_receive(int sock, void *bytes, size_t size, int *fds, unsigned int *ret_n_fds);

#endif
