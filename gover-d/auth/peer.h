/* SPDX-License-Identifier: MIT */
/*
 * The other end of a connection, looked at once when it comes: which process it is, or which
 * address. Must never ask anybody but the kernel: names of users may be slow to have.
 */
#ifndef GOVER_D_AUTH_PEER_H
#define GOVER_D_AUTH_PEER_H

#include <stdint.h>

#include "gover-d/auth/access.h"

#define PEER_KEY_BYTES 16

struct peer {
	bool local;		 /* the unix socket */
	bool loopback;		 /* TCP of this host */
	enum access_scope scope; /* of the unix socket's, by who it is */
	char name[ACCESS_NAME_MAX];
	char from[ACCESS_FROM_MAX];
	/* Whom limits count: an IPv4 address, or the /64 of an IPv6 one, of which each has many. */
	uint8_t key[PEER_KEY_BYTES];
};

/* Who is behind the connected socket @fd. A negative errno: it cannot be known, who may nothing. */
int peer_read(int fd, const struct access_rules *rules, struct peer *ret_peer);

#endif
