/* SPDX-License-Identifier: MIT */
/*
 * The peer of a connection: a process on this host, or an IP address. The kernel is asked once for
 * each connection. User names are not looked up, because a lookup may block.
 */
#ifndef GOVER_D_AUTH_PEER_H
#define GOVER_D_AUTH_PEER_H

#include <stdint.h>

#include "gover-d/auth/access.h"

#define PEER_KEY_BYTES 16

struct peer {
	bool local;		 /* the peer is connected to the unix socket */
	bool loopback;		 /* the peer uses TCP from a loopback address */
	enum access_scope scope; /* scope of the peer if @local is true */
	uid_t uid;		 /* user id of the peer if @local is true */
	char name[ACCESS_NAME_MAX];
	char from[ACCESS_FROM_MAX];
	/*
	 * Key for the limits of auth/limits.h: the IPv4 address, or the /64 network of the IPv6
	 * address.
	 */
	uint8_t key[PEER_KEY_BYTES];
};

/*
 * Reads the peer of the connected socket @fd. A negative errno means that the peer is unknown and
 * has no access.
 */
int peer_read(int fd, const struct access_rules *rules, struct peer *ret_peer);

#endif
