/* SPDX-License-Identifier: MIT */
/*
 * A file of fixed-width lines "ID LAST INTENT", one for each vGPU: the cap that was written last,
 * and the cap that is about to be written. An unused line is blank. fsync() is not needed: a crash
 * of the machine may lose the newest lines, but it also resets all caps.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "gover-d/store/cap-journal.h"

/* length of a record; it divides the page size, so that no record spans two pages */
#define RECORD_BYTES 128
#define RECORDS_MAX  65536

struct record {
	char id[ID_MAX]; /* "": unused */
	int last_pct, intent_pct;
};

struct cap_journal {
	int fd;
	int n;
	struct record *records;
};

static struct record *find(const struct cap_journal *journal, const char *id)
{
	for (int i = 0; i < journal->n; i++)
		if (strcmp(journal->records[i].id, id) == 0)
			return &journal->records[i];
	return NULL;
}

static int write_record(struct cap_journal *journal, const struct record *record)
{
	off_t at = (off_t)(record - journal->records) * RECORD_BYTES;
	char line[RECORD_BYTES + 1];
	ssize_t n;

	if (record->id[0])
		snprintf(line, sizeof(line), "%-63s %3d %3d%*s\n", record->id, record->last_pct,
			 record->intent_pct, RECORD_BYTES - 72, "");
	else
		snprintf(line, sizeof(line), "%*s\n", RECORD_BYTES - 1, "");
	n = pwrite(journal->fd, line, RECORD_BYTES, at);
	if (n < 0)
		return -errno;
	return n == RECORD_BYTES ? 0 : -ENOSPC;
}

static bool parse_record(const char *line, struct record *ret_record)
{
	struct record r;
	char more;

	if (sscanf(line, "%63s %3d %3d %c", r.id, &r.last_pct, &r.intent_pct, &more) != 3 ||
	    !id_valid(r.id) || r.last_pct < 0 || r.last_pct > 100 || r.intent_pct < 0 ||
	    r.intent_pct > 100)
		return false;
	*ret_record = r;
	return true;
}

static int load(struct cap_journal *journal)
{
	char line[RECORD_BYTES + 1];
	struct stat st;
	ssize_t n;

	if (fstat(journal->fd, &st) < 0)
		return -errno;
	if (st.st_size > (off_t)RECORDS_MAX * RECORD_BYTES)
		return -EFBIG;
	journal->n = (int)(st.st_size / RECORD_BYTES);
	journal->records = calloc((size_t)journal->n + 1, sizeof(*journal->records));
	if (!journal->records)
		return -ENOMEM;
	for (int i = 0; i < journal->n; i++) {
		struct record r = {0};

		n = pread(journal->fd, line, RECORD_BYTES, (off_t)i * RECORD_BYTES);
		if (n != RECORD_BYTES)
			return n < 0 ? -errno : -EIO;
		line[n] = '\0';
		if (parse_record(line, &r))
			journal->records[i] = r;
	}
	return 0;
}

int cap_journal_open(const char *path, struct cap_journal **ret_journal, struct err *reterr)
{
	struct cap_journal *journal = calloc(1, sizeof(*journal));
	int r;

	if (!journal)
		return -ENOMEM;
	journal->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	r = journal->fd < 0 ? -errno : load(journal);
	if (r < 0) {
		cap_journal_close(journal);
		return err_fail(reterr, -r, "%s: cannot open the cap journal: %s", path,
				strerror(-r));
	}
	*ret_journal = journal;
	return 0;
}

struct cap_journal *cap_journal_close(struct cap_journal *journal)
{
	if (!journal)
		return NULL;
	if (journal->fd >= 0)
		(void)close(journal->fd);
	free(journal->records);
	free(journal);
	return NULL;
}

bool cap_journal_get(const struct cap_journal *journal, const char *id, int *ret_last_pct,
		     int *ret_intent_pct)
{
	const struct record *record = find(journal, id);

	if (!record)
		return false;
	*ret_last_pct = record->last_pct;
	*ret_intent_pct = record->intent_pct;
	return true;
}

static struct record *free_record(struct cap_journal *journal)
{
	struct record *grown = find(journal, "");

	if (grown)
		return grown;
	if (journal->n == RECORDS_MAX)
		return NULL;
	grown = realloc(journal->records, ((size_t)journal->n + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	journal->records = grown;
	grown = &journal->records[journal->n++];
	memset(grown, 0, sizeof(*grown));
	return grown;
}

int cap_journal_set(struct cap_journal *journal, const char *id, int last_pct, int intent_pct)
{
	struct record *record = find(journal, id), before;
	int r;

	if (!record)
		record = free_record(journal);
	if (!record)
		return -ENOMEM;
	before = *record;
	snprintf(record->id, sizeof(record->id), "%s", id);
	record->last_pct = last_pct;
	record->intent_pct = intent_pct;
	r = write_record(journal, record);
	if (r < 0)
		*record = before;
	return r;
}

const char *cap_journal_next(const struct cap_journal *journal, int *place)
{
	while (*place < journal->n) {
		const struct record *record = &journal->records[(*place)++];

		if (record->id[0])
			return record->id;
	}
	return NULL;
}

int cap_journal_remove(struct cap_journal *journal, const char *id)
{
	struct record *record;
	int r = 0;

	/* An earlier removal that could not be written may have left a second record. */
	while (r == 0 && (record = find(journal, id))) {
		memset(record, 0, sizeof(*record));
		r = write_record(journal, record);
	}
	return r;
}
