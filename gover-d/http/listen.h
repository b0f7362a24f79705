/* SPDX-License-Identifier: MIT */
/* The sockets REST listens on. Each call returns an fd (O_CLOEXEC, non-blocking) or a negative
 * errno. */
#ifndef GOVER_D_HTTP_LISTEN_H
#define GOVER_D_HTTP_LISTEN_H

#include "base/err.h"

/* A client that connects to a unix socket with a full queue is refused, so the queue is long. */
#define HTTP_LISTEN_BACKLOG 4096

/* FileDescriptorName= of socket units. */
#define HTTP_HANDED_UNIX "gover"
#define HTTP_HANDED_TCP	 "gover-tcp"

/* Sockets that systemd listens on for us; -1: it does not. */
struct http_handed {
	int unix_socket, tcp;
};

/* Takes what was handed over at the start, once in the life of a process. Their names are the
 * socket unit's: never to be unlinked. -EINVAL: a socket that nobody here would answer on. */
int http_listen_handed(struct http_handed *ret_sockets, struct err *reterr);

/* "ADDR:PORT", numbers only, IPv6 in brackets. -EINVAL: not of this form. */
int http_listen_tcp(const char *address, struct err *reterr);

#endif
