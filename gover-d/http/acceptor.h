/* SPDX-License-Identifier: MIT */
/* Accepts connections of one listening socket, subject to the connection table. */
#ifndef GOVER_D_HTTP_ACCEPTOR_H
#define GOVER_D_HTTP_ACCEPTOR_H

#include <microhttpd.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "gover-d/http/connection-table.h"

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
void acceptor_fini(struct acceptor *acceptor);

#endif
