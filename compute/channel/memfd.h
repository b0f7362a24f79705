/* SPDX-License-Identifier: MIT */
/* Creates, seals and maps the two kinds of shared memory of wire.h. */
#ifndef COMPUTE_CHANNEL_MEMFD_H
#define COMPUTE_CHANNEL_MEMFD_H

#include "compute/channel/wire.h"

/*
 * Creates a tenant page: all counters are 0, and the header is complete. Returns 0 and the fd
 * (O_CLOEXEC), which the caller closes, and the writable mapping, which the caller unmaps with
 * compute_memfd_unmap_page(); or a negative errno.
 */
int compute_memfd_create_page(int *ret_fd, struct compute_page **ret_page);

/*
 * Creates a beacon: no client has a turn or a memory limit, and the stamp is 0. A seal prevents
 * further writable mappings. Returns as compute_memfd_create_page().
 */
int compute_memfd_create_beacon(int *ret_fd, struct compute_beacon **ret_beacon);

/*
 * Maps the page of a client read-only. Does not take @fd. Returns 0 or a negative errno: -EPERM:
 * @fd is not a memfd that is sealed against a change of its size; -EPROTO: wrong size, magic or
 * version.
 */
int compute_memfd_map_page(int fd, const struct compute_page **ret_page);

/* Maps the beacon of an arbiter read-only. Returns as compute_memfd_map_page(). */
int compute_memfd_map_beacon(int fd, const struct compute_beacon **ret_beacon);

/* Both accept NULL. */
void compute_memfd_unmap_page(const struct compute_page *page);
void compute_memfd_unmap_beacon(const struct compute_beacon *beacon);

#endif
