/* SPDX-License-Identifier: MIT */
/* Listening sockets for REST. Each call returns a non-blocking fd or a negative errno. */
#ifndef GOVER_D_HTTP_LISTEN_H
#define GOVER_D_HTTP_LISTEN_H

#include "base/err.h"

/* A client that connects to a unix socket with a full queue is refused, so the queue is long. */
#define HTTP_LISTEN_BACKLOG 4096

/* FileDescriptorName= of socket units. */
#define HTTP_ACTIVATED_UNIX "gover"
#define HTTP_ACTIVATED_TCP  "gover-tcp"

/* Sockets from socket activation; -1: none. */
struct http_activated {
	int unix_socket, tcp;
};

/* Takes the sockets from systemd; call it once in a process. Their paths belong to the socket unit
 * and must not be unlinked. -EINVAL: an unusable socket. */
int http_listen_activated(struct http_activated *ret_sockets, struct err *reterr);

/* @address: "ADDR:PORT", numeric, IPv6 in brackets. -EINVAL: another form. */
int http_listen_tcp(const char *address, struct err *reterr);

#endif
