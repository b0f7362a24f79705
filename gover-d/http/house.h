/* SPDX-License-Identifier: MIT */
/*
 * Who may have a connection, for how long, and who makes room when all places are taken. Pure: a
 * connection is its fd and the name of its peer, time is handed in. The rule: whoever comes is let
 * in, at the cost of who has kept a place longest without asking for anything.
 */
#ifndef GOVER_D_HTTP_HOUSE_H
#define GOVER_D_HTTP_HOUSE_H

#include <stdbool.h>
#include <stdint.h>

/* So many that a crowd of hundreds stands still until its time is over: where places change hands
 * fast, who has just come has little time to speak. A place costs 16 KiB at most. */
#define HOUSE_PLACES   2048
#define HOUSE_PER_PEER 1024
#define HOUSE_STREAMS  128 /* of one peer: readers of events stay */
#define HOUSE_PEER_MAX 64
#define HOUSE_FIRST_S  10 /* for the first request, its body too, to be there */
#define HOUSE_NEXT_S   30 /* for a further one, counted from the last answer */
#define HOUSE_ANSWER_S 60 /* for an answer to be taken */

struct house;
struct house *house_new(void);
struct house *house_free(struct house *house); /* NULL is fine; returns NULL */

/* Takes @fd of @peer in. 0, or 1 where *@ret_evicted (an fd) is to be shut down for it, which is
 * without a place from here. -EBUSY: nobody can be asked to leave; -ENOMEM. */
int house_enter(struct house *house, int fd, const char *peer, uint64_t now_ns, int *ret_evicted);
void house_leave(struct house *house, int fd); /* its fd is about to be closed */

/* Its request is there, and is answered now. */
void house_asked(struct house *house, int fd, uint64_t now_ns);
/* Its answer was taken: the next request is waited for. */
void house_answered(struct house *house, int fd, uint64_t now_ns);
/* Its answer has no end. False: its peer has too many of them. */
bool house_streams(struct house *house, int fd);

/* One who has had its time, which has no place from here and is to be shut down; -1: none. */
int house_overdue(struct house *house, uint64_t now_ns);

int house_count(const struct house *house); /* places taken */

#endif
