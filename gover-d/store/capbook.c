/* SPDX-License-Identifier: MIT */
/*
 * A file of fixed-width lines "ID LAST INTENT", one a vGPU; a free line is blank. Must never fsync:
 * a machine that loses its page cache has lost its caps too.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "gover-d/store/capbook.h"

#define RECORD_BYTES 128 /* divides a page: a record is never torn between two */
#define RECORDS_MAX  65536

struct record {
	char id[ID_MAX]; /* "": free */
	int last_pct, intent_pct;
};

struct capbook {
	int fd;
	int n;
	struct record *records;
};

static struct record *find(const struct capbook *book, const char *id)
{
	for (int i = 0; i < book->n; i++)
		if (strcmp(book->records[i].id, id) == 0)
			return &book->records[i];
	return NULL;
}

static int write_record(struct capbook *book, const struct record *record)
{
	off_t at = (off_t)(record - book->records) * RECORD_BYTES;
	char line[RECORD_BYTES + 1];
	ssize_t n;

	if (record->id[0])
		snprintf(line, sizeof(line), "%-63s %3d %3d%*s\n", record->id, record->last_pct,
			 record->intent_pct, RECORD_BYTES - 72, "");
	else
		snprintf(line, sizeof(line), "%*s\n", RECORD_BYTES - 1, "");
	n = pwrite(book->fd, line, RECORD_BYTES, at);
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

static int load(struct capbook *book)
{
	char line[RECORD_BYTES + 1];
	struct stat st;
	ssize_t n;

	if (fstat(book->fd, &st) < 0)
		return -errno;
	if (st.st_size > (off_t)RECORDS_MAX * RECORD_BYTES)
		return -EFBIG;
	book->n = (int)(st.st_size / RECORD_BYTES);
	book->records = calloc((size_t)book->n + 1, sizeof(*book->records));
	if (!book->records)
		return -ENOMEM;
	for (int i = 0; i < book->n; i++) {
		struct record r = {0};

		n = pread(book->fd, line, RECORD_BYTES, (off_t)i * RECORD_BYTES);
		if (n != RECORD_BYTES)
			return n < 0 ? -errno : -EIO;
		line[n] = '\0';
		if (parse_record(line, &r))
			book->records[i] = r;
	}
	return 0;
}

int capbook_open(const char *path, struct capbook **ret_book, struct err *reterr)
{
	struct capbook *book = calloc(1, sizeof(*book));
	int r;

	if (!book)
		return -ENOMEM;
	book->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	r = book->fd < 0 ? -errno : load(book);
	if (r < 0) {
		capbook_close(book);
		return err_fail(reterr, -r, "%s: cannot be used: %s", path, strerror(-r));
	}
	*ret_book = book;
	return 0;
}

struct capbook *capbook_close(struct capbook *book)
{
	if (!book)
		return NULL;
	if (book->fd >= 0)
		(void)close(book->fd);
	free(book->records);
	free(book);
	return NULL;
}

bool capbook_get(const struct capbook *book, const char *id, int *ret_last_pct, int *ret_intent_pct)
{
	const struct record *record = find(book, id);

	if (!record)
		return false;
	*ret_last_pct = record->last_pct;
	*ret_intent_pct = record->intent_pct;
	return true;
}

static struct record *free_record(struct capbook *book)
{
	struct record *grown = find(book, "");

	if (grown)
		return grown;
	if (book->n == RECORDS_MAX)
		return NULL;
	grown = realloc(book->records, ((size_t)book->n + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	book->records = grown;
	grown = &book->records[book->n++];
	memset(grown, 0, sizeof(*grown));
	return grown;
}

int capbook_set(struct capbook *book, const char *id, int last_pct, int intent_pct)
{
	struct record *record = find(book, id), before;
	int r;

	if (!record)
		record = free_record(book);
	if (!record)
		return -ENOMEM;
	before = *record;
	snprintf(record->id, sizeof(record->id), "%s", id);
	record->last_pct = last_pct;
	record->intent_pct = intent_pct;
	r = write_record(book, record);
	if (r < 0)
		*record = before;
	return r;
}

const char *capbook_next(const struct capbook *book, int *place)
{
	while (*place < book->n) {
		const struct record *record = &book->records[(*place)++];

		if (record->id[0])
			return record->id;
	}
	return NULL;
}

int capbook_remove(struct capbook *book, const char *id)
{
	struct record *record = find(book, id);

	if (!record)
		return 0;
	memset(record, 0, sizeof(*record));
	return write_record(book, record);
}
