/* SPDX-License-Identifier: MIT */
/*
 * Where a start finds its contracts: in their file, in the database, or nowhere. Must never take
 * contracts that are lost for none that were ever made.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "db/db.h"
#include "gover-d/core/manager.h"
#include "gover-d/util/log.h"

/* What the database keeps. -ENOENT: nothing. */
static int load_kept(struct manager *m, struct db_reader *reader, struct contracts *ret_kept)
{
	CLEANUP_FREE char *text = NULL;
	struct err err = {""};
	int64_t revision;
	int r;

	if (!reader)
		return -ENOENT;
	r = db_query_contracts(reader, &revision, &text);
	if (r == -ENOENT)
		return r;
	if (r < 0)
		(void)err_fail(&err, -r, "%s: cannot be read: %s", m->db_path, strerror(-r));
	else
		r = contracts_parse(text, strlen(text), m->db_path, ret_kept, &err);
	if (r < 0)
		log_warning("%s, ignoring the contracts in it", err.msg);
	return r;
}

/* What a failing disk or somebody's editor leaves may be made good; of a newer gover it is not. */
static bool is_spoilt(int r)
{
	return r == -EINVAL || r == -EIO || r == -EFBIG;
}

/* @r: of loading the file. Where the database's are taken it is said why. */
static bool prefer_kept(const struct manager *m, int r, const struct err *err,
			const struct contracts *file, const struct contracts *kept)
{
	char kept_at[CLOCK_TEXT_MAX], file_at[CLOCK_TEXT_MAX];

	/* A revision is the time of writing, unless the clock went back. */
	clock_format(kept->head.revision, kept_at);
	clock_format(file->head.revision, file_at);
	if (r == -ENOENT || is_spoilt(r)) {
		log_warning("%s; contracts and holds are taken from %s, as of %s", err->msg,
			    m->db_path, kept_at);
		return true;
	}
	if (r < 0 || file->head.revision == 0 || file->head.revision >= kept->head.revision)
		return false;
	log_warning("%s is of %s, and %s has newer contracts, of %s: those are taken",
		    m->contracts_path, file_at, m->db_path, kept_at);
	return true;
}

/* The caps file remembers whom there were contracts for. */
static void tell_lost(struct manager *m)
{
	char ids[ERR_MSG_MAX / 2] = "";
	size_t at = 0;
	int place = 0, more = 0;
	const char *id;

	while ((id = capbook_next(m->actuator.book, &place))) {
		m->contracts_lost = true;
		if (at + strlen(id) + 3 < sizeof(ids))
			at += (size_t)snprintf(ids + at, sizeof(ids) - at, "%s%s", at ? ", " : "",
					       id);
		else
			more++;
	}
	if (!m->contracts_lost)
		return;
	log_warning("%s is missing and %s has no contracts: what was sold of vGPU %s%s is not "
		    "known any more; those that stand are held at the caps they have",
		    m->contracts_path, m->db_path, ids, more ? " and others" : "");
}

int recall_contracts(struct manager *m, struct db_reader *reader, struct contracts *ret_contracts,
		     bool *ret_stale, struct err *reterr)
{
	struct contracts file = {0}, kept = {0};
	struct err err = {""};
	int r = contracts_load(m->contracts_path, &file, &err);
	bool take_kept = load_kept(m, reader, &kept) == 0 && prefer_kept(m, r, &err, &file, &kept);

	contracts_fini(take_kept ? &file : &kept);
	if (r < 0 && r != -ENOENT && !take_kept)
		return err_fail(reterr, -r, "%s", err.msg);
	if (r == -ENOENT && !take_kept)
		tell_lost(m);
	*ret_contracts = take_kept ? kept : file;
	*ret_stale = take_kept && r != -ENOENT;
	m->revision = ret_contracts->head.revision;
	return 0;
}
