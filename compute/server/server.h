/* SPDX-License-Identifier: MIT */
/*
 * gover-arbiter: the process that gives turns on a compute device. Two sockets: clients (programs
 * under libgover-cl.so) connect to one, gover-d and its tools to the other, which only the user of
 * the arbiter can open. One thread, one loop: it reads the pages of the clients when the bell rings
 * or a time has come, and never waits for a client.
 */
#ifndef COMPUTE_SERVER_SERVER_H
#define COMPUTE_SERVER_SERVER_H

#include <stdint.h>

#include "base/err.h"
#include "compute/arbiter/arbiter.h"

struct server;

struct server_options {
	const char *socket; /* path for clients; the control socket has COMPUTE_CONTROL_SUFFIX */
	const char *name;   /* of the device */
	const struct arbiter_discipline *discipline; /* NULL: the default */
	uint64_t slice_ns;			     /* 0: the default */
};

/*
 * Opens the sockets: from now on clients can connect, but wait for server_run(). Returns 0, or a
 * negative errno with a message. -EADDRINUSE: another arbiter serves the socket.
 */
int server_open(const struct server_options *options, struct server **ret_server,
		struct err *reterr);

/*
 * Serves until SIGTERM or SIGINT, which must be blocked. Can run in a forked child of the process
 * that opened the server. Returns 0, or a negative errno.
 */
int server_run(struct server *server);

/* Ends all connections and removes the sockets. Accepts NULL. */
void server_close(struct server *server);

#endif
