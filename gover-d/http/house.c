/* SPDX-License-Identifier: MIT */
/*
 * Places for connections. Must never let those who say nothing, or say it slowly, keep out who
 * does.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gover-d/http/house.h"

/* In the order in which they are asked to leave; who streams or has left is not. */
enum state { WAITED_FOR, ANSWERED, STREAMS, OUT };

struct peer {
	char name[HOUSE_PEER_MAX];
	int n, n_streams;  /* of its connections; those that are out count no more */
	int refs;	   /* guests that point here */
	struct peer *next; /* house.peers */
};

struct guest {
	int fd;
	enum state state;
	bool asked; /* once, or more often */
	uint64_t since_ns;
	struct peer *peer;
};

struct house {
	struct guest **guests; /* by fd; NULL: none */
	int n_guests;	       /* length of that */
	struct peer *peers;
	int n; /* places taken */
};

struct house *house_new(void)
{
	return calloc(1, sizeof(struct house));
}

struct house *house_free(struct house *house)
{
	if (!house)
		return NULL;
	for (int fd = 0; fd < house->n_guests; fd++)
		house_leave(house, fd);
	free(house->guests);
	free(house);
	return NULL;
}

static struct guest *find(struct house *house, int fd)
{
	return fd >= 0 && fd < house->n_guests ? house->guests[fd] : NULL;
}

static int make_place(struct house *house, int fd)
{
	int n = fd + 64;
	struct guest **guests;

	if (fd < house->n_guests)
		return 0;
	guests = realloc(house->guests, (size_t)n * sizeof(struct guest *));
	if (!guests)
		return -ENOMEM;
	memset(guests + house->n_guests, 0, (size_t)(n - house->n_guests) * sizeof(struct guest *));
	house->guests = guests;
	house->n_guests = n;
	return 0;
}

static struct peer *find_peer(struct house *house, const char *name)
{
	struct peer *p;

	for (p = house->peers; p && strcmp(p->name, name) != 0; p = p->next)
		;
	return p;
}

static struct peer *make_peer(struct house *house, const char *name)
{
	struct peer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	snprintf(p->name, sizeof(p->name), "%s", name);
	p->next = house->peers;
	house->peers = p;
	return p;
}

static void release_peer(struct house *house, struct peer *peer)
{
	struct peer **at = &house->peers;

	if (peer->refs > 0)
		return;
	while (*at != peer)
		at = &(*at)->next;
	*at = peer->next;
	free(peer);
}

/* It has no place any more; its fd is still to be closed. */
static void put_out(struct house *house, struct guest *guest)
{
	if (guest->state == OUT)
		return;
	guest->peer->n_streams -= guest->state == STREAMS;
	guest->peer->n--;
	house->n--;
	guest->state = OUT;
}

static struct guest *choose_victim(struct house *house, const struct peer *peer)
{
	struct guest *victim = NULL;

	for (int fd = 0; fd < house->n_guests; fd++) {
		struct guest *g = house->guests[fd];

		if (!g || g->state >= STREAMS || g->peer != peer)
			continue;
		if (!victim || g->state < victim->state ||
		    (g->state == victim->state && g->since_ns < victim->since_ns))
			victim = g;
	}
	return victim;
}

/* Whose connections are too many for one more of @peer; NULL: nobody's. */
static const struct peer *find_crowd(const struct house *house, const struct peer *peer)
{
	const struct peer *largest = peer;

	if (peer->n >= HOUSE_PER_PEER)
		return peer;
	if (house->n < HOUSE_PLACES)
		return NULL;
	for (const struct peer *p = house->peers; p; p = p->next)
		if (p->n > largest->n)
			largest = p;
	return largest;
}

int house_enter(struct house *house, int fd, const char *name, uint64_t now_ns, int *ret_evicted)
{
	struct guest *guest = calloc(1, sizeof(*guest)), *victim = NULL;
	struct peer *peer = find_peer(house, name);
	const struct peer *crowd;

	if (guest && !peer)
		peer = make_peer(house, name);
	if (!guest || !peer || make_place(house, fd) < 0) {
		if (peer)
			release_peer(house, peer);
		free(guest);
		return -ENOMEM;
	}
	crowd = find_crowd(house, peer);
	victim = crowd ? choose_victim(house, crowd) : NULL;
	if (crowd && !victim) {
		release_peer(house, peer);
		free(guest);
		return -EBUSY;
	}
	*guest = (struct guest){.fd = fd, .since_ns = now_ns, .peer = peer};
	house->guests[fd] = guest;
	peer->refs++;
	peer->n++;
	house->n++;
	if (!victim)
		return 0;
	put_out(house, victim);
	*ret_evicted = victim->fd;
	return 1;
}

void house_leave(struct house *house, int fd)
{
	struct guest *guest = find(house, fd);

	if (!guest)
		return;
	house->guests[fd] = NULL;
	put_out(house, guest);
	guest->peer->refs--;
	release_peer(house, guest->peer);
	free(guest);
}

static void set_state(struct house *house, int fd, enum state state, uint64_t now_ns)
{
	struct guest *guest = find(house, fd);

	if (!guest || guest->state == OUT)
		return;
	guest->peer->n_streams -= guest->state == STREAMS;
	guest->state = state;
	guest->asked = true;
	guest->since_ns = now_ns;
}

void house_asked(struct house *house, int fd, uint64_t now_ns)
{
	set_state(house, fd, ANSWERED, now_ns);
}

void house_answered(struct house *house, int fd, uint64_t now_ns)
{
	set_state(house, fd, WAITED_FOR, now_ns);
}

bool house_streams(struct house *house, int fd)
{
	struct guest *guest = find(house, fd);

	if (!guest || guest->state >= STREAMS || guest->peer->n_streams >= HOUSE_STREAMS)
		return false;
	guest->peer->n_streams++;
	guest->state = STREAMS;
	return true;
}

int house_overdue(struct house *house, uint64_t now_ns)
{
	for (int fd = 0; fd < house->n_guests; fd++) {
		struct guest *g = house->guests[fd];
		uint64_t limit_s;

		if (!g)
			continue;
		limit_s = g->state == ANSWERED ? HOUSE_ANSWER_S
			  : g->asked	       ? HOUSE_NEXT_S
					       : HOUSE_FIRST_S;
		if (g->state < STREAMS && now_ns - g->since_ns > limit_s * NS_PER_S) {
			put_out(house, g);
			return g->fd;
		}
	}
	return -1;
}

int house_count(const struct house *house)
{
	return house->n;
}
