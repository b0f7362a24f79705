/* SPDX-License-Identifier: MIT */
/*
 * The caps gover-d wrote last, in a small file that outlives a crash of the daemon: what is found
 * at the next start is ours when it equals the last cap or the one that was about to be written.
 * Each record is written in place before its cap is, into the page cache only: never a wait for the
 * disk.
 */
#ifndef GOVER_D_STORE_CAPBOOK_H
#define GOVER_D_STORE_CAPBOOK_H

#include <stdbool.h>

#include "base/err.h"

struct capbook;

/* Opens or makes @path; lines that are not records are dropped. */
int capbook_open(const char *path, struct capbook **ret_book, struct err *reterr);
struct capbook *capbook_close(struct capbook *book); /* NULL is fine; returns NULL */

/* What was written last for @id, and what was about to be. False: nothing is known. */
bool capbook_get(const struct capbook *book, const char *id, int *ret_last_pct,
		 int *ret_intent_pct);
/* Notes both. 0 or a negative errno. */
int capbook_set(struct capbook *book, const char *id, int last_pct, int intent_pct);
/* The first that is known at @place or behind it, and the place behind that: walk from 0. NULL: no
 * more. */
const char *capbook_next(const struct capbook *book, int *place);
/* Forgets a removed vGPU. */
int capbook_remove(struct capbook *book, const char *id);

#endif
