/* SPDX-License-Identifier: MIT */
/* Lets connections in: accepts them, finds out whose they are, and asks the house (http-house.h).
 */
#ifndef GOVER_D_HTTP_DOOR_H
#define GOVER_D_HTTP_DOOR_H

#include <microhttpd.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "gover-d/http/house.h"

struct door {
	struct MHD_Daemon *daemon;
	struct house *house;
	int fd;			   /* listens; owned */
	sd_event_source *arrivals; /* somebody stands there */
	sd_event_source *sweep;	   /* off while nobody is in the house */
	sd_event_source *timer;	   /* what runs the daemon */
};

/* Opens it: takes over @fd, which listens. @timer is what runs @daemon, which has no listening
 * socket of its own. Shut with door_fini(), also after failure; an all-zero one may be. */
int door_init(struct door *door, int fd, struct MHD_Daemon *daemon, struct house *house,
	      sd_event *event, sd_event_source *timer, int64_t priority);
void door_fini(struct door *door);

#endif
