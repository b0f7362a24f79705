/* SPDX-License-Identifier: MIT */
/*
 * The table of open connections: it limits their number and duration, and chooses the connection
 * that a new one evicts. A new connection is accepted at the cost of the one that has been idle
 * longest. Pure: a connection is a file descriptor and a client's name; the caller passes the time.
 */
#ifndef GOVER_D_HTTP_CONNECTION_TABLE_H
#define GOVER_D_HTTP_CONNECTION_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/* A large table makes evictions rare, so that a new connection keeps its slot long enough to send
 * its request. A slot needs at most 16 KiB. */
#define CONNECTION_SLOTS	      2048
#define CONNECTION_SLOTS_PER_CLIENT   1024
#define CONNECTION_STREAMS_PER_CLIENT 128 /* event streams are never evicted */
#define CONNECTION_CLIENT_MAX	      64
#define CONNECTION_FIRST_REQUEST_S    10 /* to receive the first request with its body */
#define CONNECTION_NEXT_REQUEST_S     30 /* to receive the next request after a reply */
#define CONNECTION_SEND_S	      60 /* to send a reply */

struct connection_table;
struct connection_table *connection_table_new(void);
/* NULL is fine; returns NULL. */
struct connection_table *connection_table_free(struct connection_table *table);

/* Adds the connection @fd of @client. 1: *@ret_evicted lost its slot, and the caller shuts it down;
 * else 0. -EBUSY: every connection that could be evicted is a stream; -ENOMEM. */
int connection_table_add(struct connection_table *table, int fd, const char *client,
			 uint64_t now_ns, int *ret_evicted);
/* Call it before @fd is closed. */
void connection_table_remove(struct connection_table *table, int fd);

/* The request was received; its reply is sent now. */
void connection_table_begin_request(struct connection_table *table, int fd, uint64_t now_ns);
/* The reply was sent. */
void connection_table_end_request(struct connection_table *table, int fd, uint64_t now_ns);
/* The reply is an event stream. False: the client has too many of them. */
bool connection_table_begin_stream(struct connection_table *table, int fd);

/* Evicts one connection that exceeds its time limit. Returns its fd, which the caller shuts down;
 * -1: none. */
int connection_table_evict_overdue(struct connection_table *table, uint64_t now_ns);

int connection_table_count(const struct connection_table *table); /* slots in use */

#endif
