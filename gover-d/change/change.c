/* SPDX-License-Identifier: MIT */
/* Plans, stores, applies and answers changes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "gover-d/change/change.h"
#include "gover-d/store/save.h"

static bool are_equal(const char *a, const char *b)
{
	return a[0] != '\0' && strcmp(a, b) == 0;
}

static bool conflict(const struct change_subject *a, const struct change_subject *b)
{
	return are_equal(a->gpu, b->gpu) || are_equal(a->vgpu, b->vgpu) ||
	       are_equal(a->key, b->key) ||
	       (a->other && b->other && strcmp(a->other, b->other) == 0);
}

bool change_conflicts(const struct changes *changes, const struct change_subject *subject)
{
	const struct change *change = changes->list;

	while (change && !conflict(&change->subject, subject))
		change = change->next;
	return change;
}

static void remove_from_list(struct change *change)
{
	struct change **at = &change->changes->list;

	while (*at != change)
		at = &(*at)->next;
	*at = change->next;
}

static void change_free(struct change *change)
{
	if (change->kind->fini)
		change->kind->fini(change);
	free(change);
}

/* Ends the change and reports its result. */
static void end(struct change *change, int result, const struct err *err)
{
	struct change_done done = change->done;

	remove_from_list(change);
	change_free(change);
	done.call(done.userdata, result, err);
}

/* The file without the refused change was written, or cannot be written, which is retried. */
static void taken_back(void *userdata, int result)
{
	struct change *change = userdata;
	struct err err = change->err;

	(void)result;
	end(change, change->result, &err);
}

static void refuse(struct change *change, int result)
{
	change->result = result;
	if (change->done.audit) { /* the file without the change is without its row too */
		audit_rows_remove(&change->changes->store->audit, change->done.audit->id);
		change->done.audit->id = 0;
	}
	save_contracts(change->changes->store,
		       &(struct save_request){.done = taken_back, .userdata = change});
}

static int plan_and_apply(struct change *change, struct err *reterr)
{
	int r = change->kind->plan(change->changes, change, reterr);

	return r != 0 ? r : change->kind->apply(change->changes, change, reterr);
}

static int not_stored(const struct changes *changes, int error, struct err *reterr)
{
	return err_condition(reterr, CONTROL_E_NOT_STORED,
			     "%s cannot be written (%s): nothing was changed",
			     changes->store->contracts_path, file_error(error));
}

static void stored(void *userdata, int result)
{
	struct change *change = userdata;
	struct err err = {""};

	if (result < 0) {
		end(change, not_stored(change->changes, result, &err), &err);
		return;
	}
	result = plan_and_apply(change, &change->err);
	if (result != 0)
		refuse(change, result);
	else
		end(change, 0, &err);
}

static int amend(const void *userdata, struct contracts *contracts)
{
	const struct change *change = userdata;

	return change->kind->amend(change, contracts);
}

/* All saves from now on contain the row. A dry run changes nothing, so its rows may be lost. */
static int add_audit(const struct changes *changes, struct db_audit *row, struct err *reterr)
{
	struct audit_rows *rows = &changes->store->audit;

	if (!row)
		return 0;
	audit_rows_drop_written(rows, changes->recorder->history.db);
	if (audit_rows_full(rows) && !changes->settings->dry_run)
		return err_condition(reterr, CONTROL_E_NOT_STORED,
				     "%s: %d rows of the audit log cannot be written, so nothing "
				     "was changed: repair the history (alert history_failing)",
				     changes->recorder->history.path, AUDIT_ROWS_MAX);
	if (!audit_rows_full(rows))
		audit_rows_add(rows, row);
	return 0;
}

static void accept(struct changes *changes, struct change *change)
{
	change->next = changes->list;
	changes->list = change;
	if (changes->settings->dry_run) {
		end(change, 0, &(struct err){""});
		return;
	}
	save_contracts(changes->store,
		       &(struct save_request){.amend = amend, .done = stored, .userdata = change});
}

int change_begin(struct changes *changes, struct change *change, struct change_done done,
		 struct err *reterr)
{
	int r;

	change->changes = changes;
	change->done = done;
	if (change_conflicts(changes, &change->subject)) {
		r = err_fail(reterr, EBUSY, "another change of the same object is in progress");
		if (done.ret_conflict)
			*done.ret_conflict = change->subject;
	} else {
		r = change->kind->plan(changes, change, reterr);
	}
	if (r == 0 && changes->settings->dry_run)
		r = change->kind->apply(changes, change, reterr);
	if (r == 0)
		r = add_audit(changes, done.audit, reterr);
	if (r == 0)
		accept(changes, change);
	else
		change_free(change);
	return r;
}
