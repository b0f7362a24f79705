/* SPDX-License-Identifier: MIT */
/*
 * Changes that clients request. A change has these steps:
 *
 * - planned: it was checked, and the contracts file with the change is being written.
 * - stored: the file is on disk. The change is checked again, because the state may differ now, and
 *   applied to memory and to the GPU.
 * - refused: the second check or the application failed, and the contracts file without the change
 *   is being written.
 *
 * The client is answered at the end. If the file cannot be written, the planned change ends with
 * CONTROL_E_NOT_STORED. Memory and GPU do not change before the change is stored. After a crash in
 * any step, the next start finds the change completely or not at all.
 *
 * Changes of the same subject are made one after another, so that none is based on a state that
 * another one is about to replace. Other changes are in progress at the same time, and one write
 * stores all that are planned when it begins.
 */
#ifndef GOVER_D_CHANGE_CHANGE_H
#define GOVER_D_CHANGE_CHANGE_H

#include "gover-d/model/error.h"
#include "gover-d/tick/tick.h"

struct change;

/* The changes in progress, and the parts that they change. */
struct changes {
	struct change *list;
	struct host *host;
	struct fleet *fleet;
	struct tick *tick;
	struct caps *caps;
	struct store *store;
	struct recorder *recorder;
	struct sales *sales;
	const struct settings *settings;
};

/* What a change concerns. Two changes conflict if they have a member in common. */
struct change_subject {
	char gpu[ID_MAX];    /* GPU whose caps, mode or offers may change; "": none */
	char vgpu[ID_MAX];   /* "": none */
	char key[CLAIM_MAX]; /* stored form of the idempotency key; "": none */
	const char *other;   /* static text; NULL: none */
};

/* True while a change that conflicts with @subject is in progress. */
bool change_conflicts(const struct changes *changes, const struct change_subject *subject);

struct change_done {
	/*
	 * Called once for an accepted change, when it has ended: with 0, or with an enum
	 * control_error or a negative errno and a message. The next change may begin in this call.
	 */
	void (*call)(void *userdata, int result, const struct err *err);
	void *userdata;
	/* set if the change is not accepted because of a conflict; may be NULL */
	struct change_subject *ret_conflict;
	/*
	 * The row of the audit log, owned by the caller; NULL: none. If the change is accepted, the
	 * row gets an id and is stored with the change. When the change has ended, the caller
	 * passes the final row to audit_rows_end(), or removes it. The id is 0 if the row was not
	 * added, or if it is removed because the change was refused.
	 */
	struct db_audit *audit;
};

/* The functions of one kind of change. Results are as in model/error.h. */
struct change_kind {
	/*
	 * Checks the change and does not make it. Called before the change is stored, and before it
	 * is applied.
	 */
	int (*plan)(struct changes *changes, struct change *change, struct err *reterr);
	/* Makes the change in the content of the contracts file. -ENOSPC. */
	int (*amend)(const struct change *change, struct contracts *contracts);
	/* Applies the change right after plan(). After an error, nothing has changed. */
	int (*apply)(struct changes *changes, struct change *change, struct err *reterr);
	/* Releases the members; NULL: there is nothing to release. */
	void (*fini)(struct change *change);
};

/* The first member of the struct of each kind of change. */
struct change {
	/* set by the function that begins the change */
	const struct change_kind *kind;
	struct change_subject subject;
	/* private */
	struct change *next; /* next in changes.list */
	struct changes *changes;
	struct change_done done;
	int result; /* of a refused change, with its message */
	struct err err;
};

/*
 * Begins @change, which must come from malloc() and is then owned by @changes. Returns 0 if the
 * change is accepted; @done is then called once, possibly before this function returns. Otherwise
 * frees the change, and returns the result of plan(), -EBUSY: a change that conflicts is in
 * progress, or CONTROL_E_NOT_STORED: the history does not write the rows of the audit log. A dry
 * run stores nothing.
 */
int change_begin(struct changes *changes, struct change *change, struct change_done done,
		 struct err *reterr);

#endif
