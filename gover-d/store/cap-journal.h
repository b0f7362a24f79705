/* SPDX-License-Identifier: MIT */
/*
 * The cap journal. For each vGPU it contains the cap that gover-d wrote last and the cap that
 * gover-d is about to write. After a crash the next start adopts a cap that equals one of these two
 * caps. Any other cap is an external change.
 *
 * The record is written before the cap, in place and only into the page cache. If the disk hangs, a
 * function waits for at most CAP_JOURNAL_WAIT_MS and returns -ETIMEDOUT; further calls then return
 * it at once, until the write that hangs has ended. A write that fails is repeated every second, so
 * that the file follows the records in memory as soon as the disk works again. The functions are
 * called in one thread.
 */
#ifndef GOVER_D_STORE_CAP_JOURNAL_H
#define GOVER_D_STORE_CAP_JOURNAL_H

#include <stdbool.h>

#include "base/err.h"

struct cap_journal;

#define CAP_JOURNAL_WAIT_MS 250

/*
 * Opens or creates the file @path. Lines that are not valid records are ignored. If the file system
 * is read-only, reads the file, if it exists; each write then tries to open it for writing.
 */
int cap_journal_open(const char *path, struct cap_journal **ret_journal, struct err *reterr);
/* Writes all records. @journal may be NULL; returns NULL. */
struct cap_journal *cap_journal_close(struct cap_journal *journal);

/* Reads the record of @id. Returns false if the journal has no record of @id. */
bool cap_journal_get(const struct cap_journal *journal, const char *id, int *ret_last_pct,
		     int *ret_intent_pct);
/*
 * Writes the record of @id, unless the file contains it already. If this fails, the record in
 * memory does not change.
 */
int cap_journal_set(struct cap_journal *journal, const char *id, int last_pct, int intent_pct);
/*
 * Sets the record of @id: @cap_pct is in force. The file is written later. After the write of a
 * cap, it still contains this cap as the one that was about to be written.
 */
void cap_journal_settle(struct cap_journal *journal, const char *id, int cap_pct);
/* Waits until the file contains all records. -ETIMEDOUT: the disk hangs. */
int cap_journal_flush(struct cap_journal *journal);
/*
 * Returns the next id of the journal; NULL after the last id. *@place must be 0 at the first call.
 */
const char *cap_journal_next(const struct cap_journal *journal, int *place);
/* Removes the record of @id, if it exists. */
int cap_journal_remove(struct cap_journal *journal, const char *id);

#endif
