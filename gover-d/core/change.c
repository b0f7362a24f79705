/* SPDX-License-Identifier: MIT */
/* Runs the states of the changes: plan, store, apply, answer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gover-d/core/change.h"
#include "gover-d/core/save.h"
#include "gover-d/core/state.h"

static bool are_equal(const char *a, const char *b)
{
	return a[0] != '\0' && strcmp(a, b) == 0;
}

static bool conflict(const struct change_subject *a, const struct change_subject *b)
{
	return are_equal(a->gpu, b->gpu) || are_equal(a->vgpu, b->vgpu) ||
	       (a->other && b->other && strcmp(a->other, b->other) == 0);
}

bool change_conflicts(const struct manager *m, const struct change_subject *subject)
{
	const struct change *change = m->changes;

	while (change && !conflict(&change->subject, subject))
		change = change->next;
	return change;
}

static void remove_from_list(struct change *change)
{
	struct change **at = &change->manager->changes;

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
	change->state = CHANGE_REFUSED;
	change->result = result;
	save_contracts(change->manager, taken_back, change);
}

static int plan_and_apply(struct change *change, struct err *reterr)
{
	int r = change->kind->plan(change->manager, change, reterr);

	return r != 0 ? r : change->kind->apply(change->manager, change, reterr);
}

static int not_stored(const struct manager *m, int error, struct err *reterr)
{
	return err_condition(reterr, CONTROL_E_NOT_STORED,
			     "%s cannot be written (%s): nothing was changed", m->contracts_path,
			     strerror(-error));
}

static void stored(void *userdata, int result)
{
	struct change *change = userdata;
	struct err err = {""};

	if (result < 0) {
		end(change, not_stored(change->manager, result, &err), &err);
		return;
	}
	change->state = CHANGE_STORED;
	result = plan_and_apply(change, &change->err);
	if (result != 0)
		refuse(change, result);
	else
		end(change, 0, &err);
}

/* Makes all planned changes in @contracts. Returns 1 if there is one, otherwise 0. */
static int amend(const struct manager *m, struct contracts *contracts)
{
	int amended = 0;

	for (const struct change *c = m->changes; c; c = c->next) {
		int r = c->state == CHANGE_PLANNED ? c->kind->amend(c, contracts) : 0;

		if (r < 0)
			return r;
		amended |= c->state == CHANGE_PLANNED;
	}
	return amended;
}

static void accept(struct manager *m, struct change *change)
{
	change->state = CHANGE_PLANNED;
	change->next = m->changes;
	m->changes = change;
	if (m->actuator.dry_run) {
		end(change, 0, &(struct err){""});
		return;
	}
	m->amend = amend;
	save_contracts(m, stored, change);
}

int change_begin(struct manager *m, struct change *change, struct change_done done,
		 struct err *reterr)
{
	int r;

	change->manager = m;
	change->done = done;
	if (change_conflicts(m, &change->subject)) {
		r = err_fail(reterr, EBUSY, "another change of the same object is in progress");
		if (done.ret_conflict)
			*done.ret_conflict = change->subject;
	} else {
		r = change->kind->plan(m, change, reterr);
	}
	if (r == 0 && m->actuator.dry_run)
		r = change->kind->apply(m, change, reterr);
	if (r == 0)
		accept(m, change);
	else
		change_free(change);
	return r;
}
