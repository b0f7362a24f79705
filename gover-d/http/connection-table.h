/* SPDX-License-Identifier: MIT */
/*
 * The table of open connections: it limits the number and the duration of connections. Each
 * connection needs one of CONNECTION_SLOTS slots. If no slot is free, a new connection evicts the
 * connection that has been idle longest. The table stores the file descriptor of a connection and
 * the name of its client, but performs no I/O; the caller passes the time.
 */
#ifndef GOVER_D_HTTP_CONNECTION_TABLE_H
#define GOVER_D_HTTP_CONNECTION_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Number of slots. A large table makes evictions rare, so that a new connection keeps its slot long
 * enough to send its request. Each connection needs at most 24 KiB of memory.
 */
#define CONNECTION_SLOTS	    2048
#define CONNECTION_SLOTS_PER_CLIENT 1024
/* limit of event streams, which are never evicted */
#define CONNECTION_STREAMS_PER_CLIENT 128
#define CONNECTION_CLIENT_MAX	      64
#define CONNECTION_FIRST_REQUEST_S    10 /* time limit for receiving the first request */
#define CONNECTION_NEXT_REQUEST_S     30 /* time limit for receiving a later request */
#define CONNECTION_SEND_S	      60 /* time limit for sending a reply */

struct connection_table;
struct connection_table *connection_table_new(void);
/* Accepts NULL; returns NULL. */
struct connection_table *connection_table_free(struct connection_table *table);

/*
 * Adds the connection @fd of @client. Returns 1 if the connection *@ret_evicted was evicted and the
 * caller must shut it down, else 0. -EBUSY: no slot is free, and only streams could be evicted.
 */
int connection_table_add(struct connection_table *table, int fd, const char *client,
			 uint64_t now_ns, int *ret_evicted);
/* Removes the connection @fd. Call it before @fd is closed. */
void connection_table_remove(struct connection_table *table, int fd);

/* Call it when a request was received: the connection is now sending a reply. */
void connection_table_begin_request(struct connection_table *table, int fd, uint64_t now_ns);
/* Call it when the reply was sent: the connection is now idle. */
void connection_table_end_request(struct connection_table *table, int fd, uint64_t now_ns);
/*
 * Call it when the reply is an event stream. Returns false if the client already has the maximum
 * number of streams.
 */
bool connection_table_begin_stream(struct connection_table *table, int fd);

/*
 * Evicts one connection that exceeds its time limit. Returns the fd of the connection, which the
 * caller must shut down; -1: no connection exceeds its limit.
 */
int connection_table_evict_overdue(struct connection_table *table, uint64_t now_ns);

int connection_table_count(const struct connection_table *table); /* number of slots in use */

#endif
