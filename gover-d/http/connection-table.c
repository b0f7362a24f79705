/* SPDX-License-Identifier: MIT */
/*
 * A connection has a slot from connection_table_add() until it is removed or evicted. Idle and slow
 * connections are evicted first, so that they cannot block active clients.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "gover-d/http/connection-table.h"

/*
 * States in the order of eviction: IDLE connections first. STREAMING and EVICTED connections are
 * never evicted.
 */
enum state { IDLE, REPLYING, STREAMING, EVICTED };

struct client {
	char name[CONNECTION_CLIENT_MAX];
	int n;		     /* number of connections with a slot */
	int n_streams;	     /* number of these connections that are streams */
	int refs;	     /* number of connections of this client, including evicted ones */
	struct client *next; /* next in table.clients */
};

struct connection {
	int fd;
	enum state state;
	bool requested;	   /* at least one request was received */
	uint64_t since_ns; /* start of the current state */
	struct client *client;
};

struct connection_table {
	struct connection **by_fd; /* connections by fd; NULL: no connection has this fd */
	int n_by_fd;		   /* length of by_fd */
	struct client *clients;
	int n; /* slots in use */
};

struct connection_table *connection_table_new(void)
{
	return xcalloc(1, sizeof(struct connection_table));
}

struct connection_table *connection_table_free(struct connection_table *table)
{
	if (!table)
		return NULL;
	for (int fd = 0; fd < table->n_by_fd; fd++)
		connection_table_remove(table, fd);
	free(table->by_fd);
	free(table);
	return NULL;
}

static struct connection *find(const struct connection_table *table, int fd)
{
	return fd >= 0 && fd < table->n_by_fd ? table->by_fd[fd] : NULL;
}

static void reserve(struct connection_table *table, int fd)
{
	int n = fd + 64;

	if (fd < table->n_by_fd)
		return;
	table->by_fd = xreallocarray(table->by_fd, (size_t)n, sizeof(struct connection *));
	memset(table->by_fd + table->n_by_fd, 0,
	       (size_t)(n - table->n_by_fd) * sizeof(struct connection *));
	table->n_by_fd = n;
}

static struct client *find_client(struct connection_table *table, const char *name)
{
	struct client *p;

	for (p = table->clients; p && strcmp(p->name, name) != 0; p = p->next)
		;
	return p;
}

static struct client *make_client(struct connection_table *table, const char *name)
{
	struct client *p = xcalloc(1, sizeof(*p));

	snprintf(p->name, sizeof(p->name), "%s", name);
	p->next = table->clients;
	table->clients = p;
	return p;
}

static void release_client(struct connection_table *table, struct client *client)
{
	struct client **at = &table->clients;

	if (client->refs > 0)
		return;
	while (*at != client)
		at = &(*at)->next;
	*at = client->next;
	free(client);
}

/* Evicts a connection: frees its slot. The fd stays open until connection_table_remove(). */
static void evict(struct connection_table *table, struct connection *c)
{
	if (c->state == EVICTED)
		return;
	c->client->n_streams -= c->state == STREAMING;
	c->client->n--;
	table->n--;
	c->state = EVICTED;
}

static struct connection *choose_evicted(struct connection_table *table,
					 const struct client *client)
{
	struct connection *evicted = NULL;

	for (int fd = 0; fd < table->n_by_fd; fd++) {
		struct connection *c = table->by_fd[fd];

		if (!c || c->state >= STREAMING || c->client != client)
			continue;
		if (!evicted || c->state < evicted->state ||
		    (c->state == evicted->state && c->since_ns < evicted->since_ns))
			evicted = c;
	}
	return evicted;
}

/*
 * Returns the client that must lose a connection before @client can have a further connection;
 * NULL: a slot is free.
 */
static const struct client *find_donor(const struct connection_table *table,
				       const struct client *client)
{
	const struct client *largest = client;

	if (client->n >= CONNECTION_SLOTS_PER_CLIENT)
		return client;
	if (table->n < CONNECTION_SLOTS)
		return NULL;
	for (const struct client *p = table->clients; p; p = p->next)
		if (p->n > largest->n)
			largest = p;
	return largest;
}

int connection_table_add(struct connection_table *table, int fd, const char *name, uint64_t now_ns,
			 int *ret_evicted)
{
	struct connection *c, *evicted;
	struct client *client = find_client(table, name);
	const struct client *donor;

	if (!client)
		client = make_client(table, name);
	donor = find_donor(table, client);
	evicted = donor ? choose_evicted(table, donor) : NULL;
	if (donor && !evicted) {
		release_client(table, client);
		return -EBUSY;
	}
	reserve(table, fd);
	c = xmalloc(sizeof(*c));
	*c = (struct connection){.fd = fd, .since_ns = now_ns, .client = client};
	table->by_fd[fd] = c;
	client->refs++;
	client->n++;
	table->n++;
	if (!evicted)
		return 0;
	evict(table, evicted);
	*ret_evicted = evicted->fd;
	return 1;
}

void connection_table_remove(struct connection_table *table, int fd)
{
	struct connection *c = find(table, fd);

	if (!c)
		return;
	table->by_fd[fd] = NULL;
	evict(table, c);
	c->client->refs--;
	release_client(table, c->client);
	free(c);
}

static void set_state(struct connection_table *table, int fd, enum state state, uint64_t now_ns)
{
	struct connection *c = find(table, fd);

	if (!c || c->state == EVICTED)
		return;
	c->client->n_streams -= c->state == STREAMING;
	c->state = state;
	c->requested = true;
	c->since_ns = now_ns;
}

void connection_table_begin_request(struct connection_table *table, int fd, uint64_t now_ns)
{
	set_state(table, fd, REPLYING, now_ns);
}

void connection_table_end_request(struct connection_table *table, int fd, uint64_t now_ns)
{
	set_state(table, fd, IDLE, now_ns);
}

bool connection_table_begin_stream(struct connection_table *table, int fd)
{
	struct connection *c = find(table, fd);

	if (!c || c->state >= STREAMING || c->client->n_streams >= CONNECTION_STREAMS_PER_CLIENT)
		return false;
	c->client->n_streams++;
	c->state = STREAMING;
	return true;
}

int connection_table_evict_overdue(struct connection_table *table, uint64_t now_ns)
{
	for (int fd = 0; fd < table->n_by_fd; fd++) {
		struct connection *c = table->by_fd[fd];
		uint64_t limit_s;

		if (!c)
			continue;
		limit_s = c->state == REPLYING ? CONNECTION_SEND_S
			  : c->requested       ? CONNECTION_NEXT_REQUEST_S
					       : CONNECTION_FIRST_REQUEST_S;
		if (c->state < STREAMING && now_ns - c->since_ns > limit_s * NS_PER_S) {
			evict(table, c);
			return c->fd;
		}
	}
	return -1;
}

int connection_table_count(const struct connection_table *table)
{
	return table->n;
}
