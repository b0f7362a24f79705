/* SPDX-License-Identifier: MIT */
/*
 * Follows gover-d in a thread: reads its whole state at each connection, at each event that may
 * change contracts or offers, and every 15 seconds.
 */
#ifndef GOVER_FLEET_HOST_FOLLOWER_H
#define GOVER_FLEET_HOST_FOLLOWER_H

#include "client/client.h"
#include "gover-fleet/model/host-state.h"

struct follower;

/* What is known about gover-d at one time. */
struct follower_view {
	struct host_state *state; /* a reference; NULL: gover-d has not answered yet */
	bool connected;		  /* the last read succeeded */
	uint64_t read_ns;	  /* CLOCK_MONOTONIC at the begin of the last read that succeeded */
	char problem[256];	  /* why the last read failed; "" if connected */
};

/* Called in the follower's thread after each read, and when gover-d no longer answers. */
typedef void (*follower_changed_fn)(void *userdata);

/* Starts the thread. @socket is the path of gover-d's socket. */
int follower_new(const char *socket, follower_changed_fn changed, void *userdata,
		 struct follower **ret_follower, struct err *reterr);
/* Ends the thread, within the time limit of a request. Accepts NULL; returns NULL. */
struct follower *follower_free(struct follower *follower);

/* The caller frees the view with follower_view_fini(). */
void follower_view(struct follower *follower, struct follower_view *ret_view);
void follower_view_fini(struct follower_view *view);

/*
 * Reads the state once with @client, without a thread. Errors are those of client_request(), with
 * -EPROTO for a refused request.
 */
int follower_read(struct client *client, struct host_state **ret_state, struct err *reterr);

#endif
