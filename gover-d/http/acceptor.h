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
	int fd; /* listening; owned */
	sd_event_source *readable;
	sd_event_source *sweep; /* evicts overdue connections; off without connections */
	sd_event_source *timer; /* runs the daemon */
};

/* Takes ownership of the listening socket @fd. @daemon has no listening socket of its own, and
 * @timer runs it. Call acceptor_fini() also after a failure; it accepts an all-zero struct. */
int acceptor_init(struct acceptor *acceptor, int fd, struct MHD_Daemon *daemon,
		  struct connection_table *table, sd_event *event, sd_event_source *timer,
		  int64_t priority);
void acceptor_fini(struct acceptor *acceptor);

#endif
