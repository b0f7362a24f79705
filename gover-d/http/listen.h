/* SPDX-License-Identifier: MIT */
/* Listening sockets for REST. The sockets are non-blocking. */
#ifndef GOVER_D_HTTP_LISTEN_H
#define GOVER_D_HTTP_LISTEN_H

#include "base/err.h"

/*
 * Length of the accept queue. It is long, because a unix socket refuses clients when the queue is
 * full.
 */
#define HTTP_LISTEN_BACKLOG 4096

/* Values of FileDescriptorName= in the socket units. */
#define HTTP_ACTIVATED_UNIX "gover"
#define HTTP_ACTIVATED_TCP  "gover-tcp"

/* Sockets from socket activation; -1: systemd passed no such socket. */
struct http_activated {
	int unix_socket, tcp;
};

/*
 * Receives the sockets from systemd; call it once in a process. The socket unit owns the paths of
 * the sockets, so they must not be unlinked. -EINVAL: a socket is unusable.
 */
int http_listen_activated(struct http_activated *ret_sockets, struct err *reterr);

/*
 * Returns a socket that listens on @address, or a negative errno. @address is a numeric
 * "ADDR:PORT"; an IPv6 address is in brackets. -EINVAL: @address has another form.
 */
int http_listen_tcp(const char *address, struct err *reterr);

#endif
