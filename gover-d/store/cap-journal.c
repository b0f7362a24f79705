/* SPDX-License-Identifier: MIT */
/*
 * A file of fixed-width lines "ID LAST INTENT", one for each vGPU: the cap that was written last,
 * and the cap that is about to be written. An unused line is blank. fsync() is not needed: a crash
 * of the machine may lose the newest lines, but it also resets all caps.
 *
 * A thread writes the file, because even a write into the page cache waits while the disk hangs.
 * Only the caller of the functions changes the records, with @lock held, so it reads them without
 * @lock. The thread writes each record that has changed, and repeats writes that fail.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/id.h"
#include "base/thread.h"
#include "base/xalloc.h"
#include "gover-d/store/cap-journal.h"

/* length of a record; it divides the page size, so that no record spans two pages */
#define RECORD_BYTES 128
#define RECORDS_MAX  65536
#define RETRY_NS     NS_PER_S /* pause before failed writes are repeated */

struct record {
	char id[ID_MAX]; /* "": unused */
	int last_pct, intent_pct;
	/* used with @lock held */
	uint64_t changes; /* number of changes since the file was opened */
	uint64_t tried;	  /* value of @changes at the beginning of the last write that has ended */
	int error;	  /* 0 or negative errno of this write */
};

struct cap_journal {
	char *path;
	int fd;	       /* -1: the file system is read-only, and there is no file */
	bool writable; /* used by the thread, after the open */
	int n;
	struct record *records;
	bool started; /* the thread and its lock exist */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work, ended;
	/* used with @lock held */
	bool stop;
	uint64_t write_started_ns; /* 0: no write is in progress */
	uint64_t retry_ns;	   /* when failed writes are repeated; 0: none has failed */
};

static struct record *find(const struct cap_journal *journal, const char *id)
{
	for (int i = 0; i < journal->n; i++)
		if (strcmp(journal->records[i].id, id) == 0)
			return &journal->records[i];
	return NULL;
}

/* --- the thread --- */

static int write_line(int fd, int index, const struct record *record)
{
	char line[RECORD_BYTES + 1];
	ssize_t n;

	if (record->id[0])
		snprintf(line, sizeof(line), "%-63s %3d %3d%*s\n", record->id, record->last_pct,
			 record->intent_pct, RECORD_BYTES - 72, "");
	else
		snprintf(line, sizeof(line), "%*s\n", RECORD_BYTES - 1, "");
	n = pwrite(fd, line, RECORD_BYTES, (off_t)index * RECORD_BYTES);
	if (n < 0)
		return -errno;
	return n == RECORD_BYTES ? 0 : -ENOSPC;
}

/* Opens the file again, because its file system was read-only. */
static int make_writable(struct cap_journal *journal)
{
	int fd = file_open(journal->path, O_RDWR | O_CREAT, 0600);

	if (fd < 0)
		return fd;
	if (journal->fd >= 0)
		(void)close(journal->fd);
	journal->fd = fd;
	journal->writable = true;
	return 0;
}

/* Returns the index of a record that changed after its last write, or -1. */
static int find_changed(const struct cap_journal *journal)
{
	for (int i = 0; i < journal->n; i++)
		if (journal->records[i].changes != journal->records[i].tried)
			return i;
	return -1;
}

/* The file that was opened again may be another one. */
static void write_others(struct cap_journal *journal, int index)
{
	for (int i = 0; i < journal->n; i++)
		journal->records[i].changes += i != index;
}

/* Writes one record. @lock is free meanwhile. */
static void write_record(struct cap_journal *journal, int index)
{
	struct record record = journal->records[index];
	bool opens = !journal->writable;
	int r;

	journal->write_started_ns = clock_now().mono_ns;
	pthread_mutex_unlock(&journal->lock);
	r = opens ? make_writable(journal) : 0;
	if (r >= 0)
		r = write_line(journal->fd, index, &record);
	pthread_mutex_lock(&journal->lock);
	journal->write_started_ns = 0;
	journal->records[index].tried = record.changes;
	journal->records[index].error = r;
	if (opens && journal->writable)
		write_others(journal, index);
	if (r < 0)
		journal->retry_ns = clock_now().mono_ns + RETRY_NS;
	pthread_cond_signal(&journal->ended);
}

static void repeat_failed(struct cap_journal *journal)
{
	journal->retry_ns = 0;
	for (int i = 0; i < journal->n; i++)
		if (journal->records[i].error < 0)
			write_record(journal, i);
}

static struct timespec time_of(uint64_t mono_ns)
{
	return (struct timespec){
		.tv_sec = (time_t)(mono_ns / NS_PER_S),
		.tv_nsec = (long)(mono_ns % NS_PER_S),
	};
}

static void wait_for_work(struct cap_journal *journal)
{
	struct timespec retry = time_of(journal->retry_ns);

	if (journal->retry_ns)
		pthread_cond_timedwait(&journal->work, &journal->lock, &retry);
	else
		pthread_cond_wait(&journal->work, &journal->lock);
}

static void *run_thread(void *userdata)
{
	struct cap_journal *journal = userdata;
	int index;

	pthread_mutex_lock(&journal->lock);
	for (;;) {
		index = find_changed(journal);
		if (index >= 0)
			write_record(journal, index);
		else if (journal->stop)
			break;
		else if (journal->retry_ns && clock_now().mono_ns >= journal->retry_ns)
			repeat_failed(journal);
		else
			wait_for_work(journal);
	}
	repeat_failed(journal);
	pthread_mutex_unlock(&journal->lock);
	return NULL;
}

static void init_cond(pthread_cond_t *cond)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attributes);
	pthread_condattr_destroy(&attributes);
}

static int start_thread(struct cap_journal *journal)
{
	int r;

	pthread_mutex_init(&journal->lock, NULL);
	init_cond(&journal->work);
	init_cond(&journal->ended);
	r = thread_start(&journal->thread, run_thread, journal, "gover-caps");
	journal->started = r >= 0;
	return r;
}

static void stop_thread(struct cap_journal *journal)
{
	if (!journal->started)
		return;
	pthread_mutex_lock(&journal->lock);
	journal->stop = true;
	pthread_cond_signal(&journal->work);
	pthread_mutex_unlock(&journal->lock);
	pthread_join(journal->thread, NULL);
	pthread_cond_destroy(&journal->work);
	pthread_cond_destroy(&journal->ended);
	pthread_mutex_destroy(&journal->lock);
}

/* The functions below are called with @lock held. */

/* True if the write in progress takes so long that no function waits for it. */
static bool hangs(const struct cap_journal *journal, uint64_t now_ns)
{
	return journal->write_started_ns &&
	       now_ns - journal->write_started_ns >= CAP_JOURNAL_WAIT_MS * NS_PER_MS;
}

/*
 * Waits until the last change of the record was written or its write failed. -ETIMEDOUT: the disk
 * does not answer.
 */
static int wait_written(struct cap_journal *journal, int index)
{
	uint64_t now_ns = clock_now().mono_ns;
	struct timespec until = time_of(now_ns + CAP_JOURNAL_WAIT_MS * NS_PER_MS);
	int r = hangs(journal, now_ns) ? ETIMEDOUT : 0;

	pthread_cond_signal(&journal->work);
	while (r == 0 && journal->records[index].tried != journal->records[index].changes)
		r = pthread_cond_timedwait(&journal->ended, &journal->lock, &until);
	return r ? -r : journal->records[index].error;
}

/* --- the records --- */

static bool parse_record(const char *line, struct record *ret_record)
{
	struct record r = {0};
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

	if (journal->fd < 0)
		return 0;
	if (fstat(journal->fd, &st) < 0)
		return -errno;
	if (st.st_size > (off_t)RECORDS_MAX * RECORD_BYTES)
		return -EFBIG;
	journal->n = (int)(st.st_size / RECORD_BYTES);
	journal->records = xcalloc((size_t)journal->n + 1, sizeof(*journal->records));
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

/* Opens the file; on a read-only file system for reading, if it exists. */
static int open_file(struct cap_journal *journal)
{
	int r = make_writable(journal);

	if (r != -EROFS)
		return r;
	journal->fd = file_open(journal->path, O_RDONLY, 0);
	return journal->fd < 0 && journal->fd != -ENOENT ? journal->fd : 0;
}

int cap_journal_open(const char *path, struct cap_journal **ret_journal, struct err *reterr)
{
	struct cap_journal *journal = xcalloc(1, sizeof(*journal));
	int r;

	journal->fd = -1;
	journal->path = xstrdup(path);
	r = open_file(journal);
	if (r >= 0)
		r = load(journal);
	if (r >= 0)
		r = start_thread(journal);
	if (r < 0) {
		cap_journal_close(journal);
		return err_fail(reterr, -r, "%s: cannot open the cap journal: %s", path,
				file_error(r));
	}
	*ret_journal = journal;
	return 0;
}

struct cap_journal *cap_journal_close(struct cap_journal *journal)
{
	if (!journal)
		return NULL;
	stop_thread(journal);
	if (journal->fd >= 0)
		(void)close(journal->fd);
	free(journal->records);
	free(journal->path);
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
	journal->records = xreallocarray(journal->records, (size_t)journal->n + 1, sizeof(*grown));
	grown = &journal->records[journal->n++];
	memset(grown, 0, sizeof(*grown));
	return grown;
}

/*
 * Returns the index of the record of @id after changing it, or -ENOSPC. Sets @ret_before to the
 * record before the change.
 */
static int change_record(struct cap_journal *journal, const char *id, int last_pct, int intent_pct,
			 struct record *ret_before)
{
	struct record *record = find(journal, id);

	if (!record)
		record = free_record(journal);
	if (!record)
		return -ENOSPC;
	*ret_before = *record;
	snprintf(record->id, sizeof(record->id), "%s", id);
	record->last_pct = last_pct;
	record->intent_pct = intent_pct;
	record->changes++;
	return (int)(record - journal->records);
}

/* True if the file contains this record of @id. */
static bool is_written(const struct cap_journal *journal, const char *id, int last_pct,
		       int intent_pct)
{
	const struct record *record = find(journal, id);

	return record && record->last_pct == last_pct && record->intent_pct == intent_pct &&
	       record->tried == record->changes && record->error == 0;
}

int cap_journal_set(struct cap_journal *journal, const char *id, int last_pct, int intent_pct)
{
	struct record before, *record;
	int index, r;

	pthread_mutex_lock(&journal->lock);
	if (is_written(journal, id, last_pct, intent_pct)) {
		pthread_mutex_unlock(&journal->lock);
		return 0;
	}
	index = r = change_record(journal, id, last_pct, intent_pct, &before);
	if (index >= 0)
		r = wait_written(journal, index);
	if (index >= 0 && r < 0) {
		record = &journal->records[index];
		memcpy(record->id, before.id, sizeof(record->id));
		record->last_pct = before.last_pct;
		record->intent_pct = before.intent_pct;
		/* The file may contain the record that was to be set, or a part of it. */
		record->changes++;
	}
	pthread_mutex_unlock(&journal->lock);
	return r;
}

void cap_journal_settle(struct cap_journal *journal, const char *id, int cap_pct)
{
	struct record before;

	pthread_mutex_lock(&journal->lock);
	(void)change_record(journal, id, cap_pct, cap_pct, &before);
	pthread_cond_signal(&journal->work);
	pthread_mutex_unlock(&journal->lock);
}

int cap_journal_flush(struct cap_journal *journal)
{
	int index, r = 0;

	pthread_mutex_lock(&journal->lock);
	while (r == 0 && (index = find_changed(journal)) >= 0)
		r = wait_written(journal, index);
	pthread_mutex_unlock(&journal->lock);
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

	pthread_mutex_lock(&journal->lock);
	/* An earlier removal that could not be written may have left a second record. */
	while (r == 0 && (record = find(journal, id))) {
		memset(record->id, 0, sizeof(record->id));
		record->changes++;
		r = wait_written(journal, (int)(record - journal->records));
	}
	pthread_mutex_unlock(&journal->lock);
	return r;
}
