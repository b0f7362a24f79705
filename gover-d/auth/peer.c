/* SPDX-License-Identifier: MIT */
/* Reads credentials and addresses of connections. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "gover-d/auth/peer.h"

#define GROUPS_STATIC 64

/*
 * Reads the supplementary groups of the peer into @some, or, if they do not fit, into *ret_more,
 * which the caller frees. Returns the number of groups or a negative errno.
 */
static int read_groups(int fd, gid_t some[GROUPS_STATIC], gid_t **ret_more)
{
	socklen_t size = GROUPS_STATIC * sizeof(gid_t);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, some, &size) == 0)
		return (int)(size / sizeof(gid_t));
	if (errno != ERANGE)
		return -errno;
	*ret_more = xmalloc(size);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, *ret_more, &size) < 0)
		return -errno;
	return (int)(size / sizeof(gid_t));
}

static int read_process(int fd, const struct access_rules *rules, struct peer *peer)
{
	struct ucred process;
	socklen_t size = sizeof(process);
	gid_t some[GROUPS_STATIC];
	CLEANUP_FREE gid_t *more = NULL;
	int n;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &process, &size) < 0)
		return -errno;
	n = read_groups(fd, some, &more);
	if (n < 0)
		return n;
	peer->local = true;
	peer->uid = process.uid;
	peer->scope =
		access_of_peer(rules, process.uid, process.gid, more ? more : some, (size_t)n);
	if (process.uid == 0)
		strcpy(peer->name, "root");
	else
		snprintf(peer->name, sizeof(peer->name), "uid %lu", (unsigned long)process.uid);
	snprintf(peer->from, sizeof(peer->from), "pid %ld", (long)process.pid);
	return 0;
}

static void read_address(const struct sockaddr *address, struct peer *peer)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)address;
	const uint8_t *bytes = v6->sin6_addr.s6_addr;

	peer->loopback = access_is_loopback(address);
	/* An IPv4 address has the key of its IPv4-mapped IPv6 address. */
	peer->key[10] = peer->key[11] = 0xff;
	if (address->sa_family == AF_INET) {
		memcpy(peer->key + 12, &v4->sin_addr, 4);
		(void)inet_ntop(AF_INET, &v4->sin_addr, peer->from, sizeof(peer->from));
	} else if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
		memcpy(peer->key + 12, bytes + 12, 4);
		(void)inet_ntop(AF_INET, bytes + 12, peer->from, sizeof(peer->from));
	} else {
		memset(peer->key, 0, sizeof(peer->key));
		memcpy(peer->key, bytes, 8);
		(void)inet_ntop(AF_INET6, bytes, peer->from, sizeof(peer->from));
	}
}

int peer_read(int fd, const struct access_rules *rules, struct peer *ret_peer)
{
	struct sockaddr_storage address = {0};
	socklen_t size = sizeof(address);
	struct peer peer = {0};
	int r = 0;

	if (getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		return -errno;
	if (address.ss_family == AF_UNIX) {
		r = read_process(fd, rules, &peer);
	} else {
		size = sizeof(address);
		if (getpeername(fd, (struct sockaddr *)&address, &size) < 0)
			r = -errno;
		else if (address.ss_family != AF_INET && address.ss_family != AF_INET6)
			r = -EAFNOSUPPORT;
		else
			read_address((const struct sockaddr *)&address, &peer);
	}
	if (r >= 0)
		*ret_peer = peer;
	return r;
}
