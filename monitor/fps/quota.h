/* SPDX-License-Identifier: MIT */
/*
 * Limits of the connections of a socket. Each connection has a holder: a vGPU, a user or a virtual
 * machine. A part of the connections is reserved for holders that have few, so that no holder can
 * take all connections. Pure functions.
 */
#ifndef MONITOR_FPS_QUOTA_H
#define MONITOR_FPS_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

/* The connections of several holders. */
struct fps_quota {
	int all;      /* maximum connections of all holders together */
	int each;     /* maximum connections of one holder */
	int reserved; /* the last connections of @all are reserved ... */
	int few;      /* ... for holders with fewer connections than this */
	int used;     /* connections of all holders now; initially 0 */
};

/*
 * Takes a connection for the holder with *@held connections, and counts the connection in @used and
 * in *@held. Returns false and changes nothing if a limit is reached.
 */
bool fps_quota_take(struct fps_quota *quota, int *held);
/* Returns a connection of the holder. */
void fps_quota_give(struct fps_quota *quota, int *held);

/* The connections of a holder that were refused because of a limit. */
struct fps_refusals {
	uint64_t n;
	uint64_t newest_ns; /* CLOCK_MONOTONIC of the newest refusal */
	int held;	    /* connections of the holder at the newest refusal */
};

void fps_refusals_add(struct fps_refusals *refusals, int held, uint64_t now_ns);

#endif
