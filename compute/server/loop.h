/* SPDX-License-Identifier: MIT */
/* What the files of the server share. */
#ifndef COMPUTE_SERVER_LOOP_H
#define COMPUTE_SERVER_LOOP_H

#include <stdbool.h>

#include "base/unix-listener.h"
#include "compute/server/accelerator.h"
#include "compute/server/server.h"
#include "gpu/cgroup.h"

#define SERVER_PENDING_MAX  64		/* connections without a hello */
#define SERVER_CONTROLS_MAX 16		/* connections of gover-d and tools */
#define SERVER_HELLO_NS	    1000000000u /* a connection without a hello ends after this time */

enum watch {
	WATCH_CLIENTS,
	WATCH_CONTROLS,
	WATCH_BELL,
	WATCH_TIMER,
	WATCH_SIGNALS,
	WATCH_CONNECTION
};

/* What epoll watches. The first member of everything that has a descriptor in the loop. */
struct watched {
	enum watch kind;
	int fd;
};

struct connection {
	struct watched watched;
	struct connection *next;
	bool is_control;
	bool ended; /* closed; freed at the end of the turn of the loop */
	uint64_t accepted_ns;
	struct accelerator_client *client; /* NULL before the hello, and for control connections */
	int schedstat_fd;		   /* until it is given to the client; -1: none */
	char group[COMPUTE_ID_MAX];	   /* control group of the process; "": unknown */
};

struct server {
	struct accelerator *accelerator;
	int epoll;
	struct watched clients, controls, bell, timer, signals;
	struct unix_listener clients_name, controls_name;
	uint64_t idle_ns; /* fps_process_clock_ns() when no client waited to be accepted */
	struct cgroup_host groups;
	bool has_groups; /* @groups is valid: the host has control groups */
	struct connection *connections;
	unsigned int n_pending, n_controls;
	uint64_t refusal_logged_ns;
};

/* CLOCK_MONOTONIC, the clock of the pages. */
uint64_t server_now_ns(void);

/* Adds @watched to the loop. Returns 0 or a negative errno. */
int server_watch(struct server *server, struct watched *watched);

/* Adds a connection that was accepted at @fd, which it takes. NULL: memory is short. */
struct connection *server_add_connection(struct server *server, int fd, bool is_control);
/* Ends a connection: it is closed now and freed later. */
void server_end_connection(struct server *server, struct connection *connection);

/* programs.c */
void server_accept_clients(struct server *server);
void server_read_client(struct server *server, struct connection *connection);
/* Ends connections whose hello is late. */
void server_expire_clients(struct server *server, uint64_t now_ns);

/* controls.c */
void server_accept_controls(struct server *server);
void server_read_control(struct server *server, struct connection *connection);

#endif
