/* SPDX-License-Identifier: MIT */
/*
 * Follows gover-d in a thread: reads its whole state at each connection, at each event that may
 * change contracts or offers, and every 15 seconds. Also reports the state of gover-fleet to
 * gover-d, which raises alerts and exports metrics.
 */
#ifndef GOVER_FLEET_HOST_FOLLOWER_H
#define GOVER_FLEET_HOST_FOLLOWER_H

#include "base/http/client.h"
#include "gover-fleet/model/host-state.h"
#include "gover-fleet/model/mapping.h"

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

/* --- the report --- */

#define REPORT_LEAKS_MAX 16
#define REPORT_TTL_S	 150 /* gover-d raises fleet_gone after this time without a report */

enum report_cloud {
	REPORT_WAITING,	    /* the cloud has no provider of this host yet, or gover-d is unknown */
	REPORT_PUBLISHED,   /* the cloud contains what this host sells */
	REPORT_UNREACHABLE, /* the cloud does not answer */
	REPORT_WITHDRAWN,   /* nothing is offered, deliberately */
	REPORT_CLOUDS,
};
const char *fleet_report_cloud_name(enum report_cloud cloud);

/* An allocation of the cloud that no contract and no offer explains. */
struct report_leak {
	char gpu[ID_MAX], slot[WANTED_CLASS_MAX]; /* the class of the cloud */
	char flavor[WANTED_CLASS_MAX];		  /* its name in gover-d */
	int used, sold;
};

struct report {
	enum report_cloud cloud;
	char address[256]; /* of the cloud; "": none */
	char problem[256]; /* "": none */
	int unverified;	   /* domains and contracts that the cloud has not confirmed */
	struct report_leak leaks[REPORT_LEAKS_MAX];
	size_t n_leaks;
	int migrations_requested, migrations_completed, migrations_failed;
};

/* Returns the body of PUT /v1/fleet; NULL: a text is not UTF-8. The caller frees it. */
json_t *fleet_report_encode(const struct report *report);

/*
 * Sends the report. Returns 1 if this gover-d has no such route, otherwise the result of
 * client_request() with -EPROTO for a refused request.
 */
int fleet_report_send(struct client *client, const struct report *report, struct err *reterr);

#endif
