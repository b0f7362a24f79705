/* SPDX-License-Identifier: MIT */
/*
 * Listening sockets for REST, and their connections, which are accepted subject to the connection
 * table. The sockets are non-blocking.
 */
#ifndef GOVER_D_HTTP_LISTEN_H
#define GOVER_D_HTTP_LISTEN_H

#include <microhttpd.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "base/err.h"
#include "gover-d/http/connection-table.h"

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

/* Makes @timer run its daemon now. This is necessary after MHD_resume_connection(). */
void http_run_soon(sd_event_source *timer);

struct acceptor {
	struct MHD_Daemon *daemon;
	struct connection_table *table;
	int fd; /* the listening socket, owned by the acceptor */
	sd_event_source *readable;
	/* timer that evicts overdue connections; disabled while no connection is open */
	sd_event_source *sweep;
	sd_event_source *timer; /* timer that runs @daemon */
};

/*
 * Accepts connections on the listening socket @fd and takes ownership of @fd. @daemon must have no
 * listening socket; @timer runs @daemon. Call acceptor_fini() after a failure as well.
 * acceptor_fini() accepts an all-zero struct.
 */
int acceptor_init(struct acceptor *acceptor, int fd, struct MHD_Daemon *daemon,
		  struct connection_table *table, sd_event *event, sd_event_source *timer,
		  int64_t priority);
/* Closes the listening socket and accepts connections on @fd, which it takes ownership of. */
void acceptor_listen_on(struct acceptor *acceptor, int fd);
void acceptor_fini(struct acceptor *acceptor);

#endif
