/* SPDX-License-Identifier: MIT */
/* The cap journal: records survive a kill, and damaged lines are ignored. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/id.h"
#include "gover-d/store/cap-journal.h"
#include "tests/unit/gover-d/full-journal.h"
#include "tests/unit/unit.h"

#define MANY	  1000
#define POLLS_MAX 1000
#define TOO_LARGE (1024LL * 1024 * 1024)

static char folder[] = "/tmp/gover-cap-journal.XXXXXX";
static char path[64];
static struct cap_journal *journal;
static struct err err;

static int make_folder(void)
{
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/caps", folder);
	return 0;
}

static int remove_folder(void)
{
	return rmdir(folder);
}

FIXTURE_ONCE(make_folder, remove_folder)

static int open_journal(void)
{
	return cap_journal_open(path, &journal, &err);
}

static int remove_journal(void)
{
	journal = cap_journal_close(journal);
	return unlink(path);
}

FIXTURE(open_journal, remove_journal)

/* Opens the file as the next start of the daemon does. */
static void open_again(void)
{
	journal = cap_journal_close(journal);
	assert_int_equal(cap_journal_open(path, &journal, &err), 0);
}

static bool has_record(const char *id, int last_pct, int intent_pct)
{
	int last = -1, intent = -1;

	return cap_journal_get(journal, id, &last, &intent) && last == last_pct &&
	       intent == intent_pct;
}

static bool has_id(const char *id)
{
	int last, intent;

	return cap_journal_get(journal, id, &last, &intent);
}

/* On a loaded machine, a write can take longer than the function waits for it. */
static void set(const char *id, int last_pct, int intent_pct)
{
	int r = cap_journal_set(journal, id, last_pct, intent_pct);

	for (int polls = 0; r == -ETIMEDOUT && polls < POLLS_MAX; polls++) {
		usleep(10000);
		r = cap_journal_set(journal, id, last_pct, intent_pct);
	}
	assert_int_equal(r, 0);
}

static size_t file_bytes(void)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (size_t)st.st_size;
}

/* Measures the length of a record, which is private to the module. */
static size_t record_bytes(void)
{
	set("measure", 1, 1);
	assert_int_equal(cap_journal_remove(journal, "measure"), 0);
	return file_bytes();
}

TEST(an_empty_journal_knows_no_vgpu)
{
	assert_false(has_id("a"));
	assert_int_equal(cap_journal_remove(journal, "a"), 0);
	assert_int_equal(file_bytes(), 0);
	assert_null(cap_journal_close(NULL));
}

TEST(the_last_record_of_an_id_is_found_after_reopening)
{
	char longest[ID_MAX];

	memset(longest, 'x', ID_MAX - 1);
	longest[ID_MAX - 1] = '\0';
	set("a", 50, 40);
	set("a", 40, 40);
	set("ab", 0, 100);
	set(longest, 100, 99);
	assert_true(has_record("a", 40, 40));
	open_again();
	assert_true(has_record("a", 40, 40));
	assert_true(has_record("ab", 0, 100));
	assert_true(has_record(longest, 100, 99));
	assert_false(has_id("abc"));
	assert_false(has_id("b"));
}

TEST(an_intent_survives_a_kill)
{
	pid_t pid;
	int status;

	set("a", 50, 50);
	journal = cap_journal_close(journal); /* a child has none of the threads of its parent */
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)cap_journal_open(path, &journal, &err);
		(void)cap_journal_set(journal, "a", 50, 30);
		(void)raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(cap_journal_open(path, &journal, &err), 0);
	assert_true(has_record("a", 50, 30));
}

/* Replaces the record number @index by the text, padded to @record bytes. */
static void write_line(size_t index, const char *text, size_t length, size_t record)
{
	FILE *file = fopen(path, "r+");
	char line[512];

	assert_non_null(file);
	assert_in_range(length, 0, record - 1);
	assert_in_range(record, 1, sizeof(line));
	memset(line, ' ', record);
	memcpy(line, text, length);
	line[record - 1] = '\n';
	assert_int_equal(fseek(file, (long)(index * record), SEEK_SET), 0);
	assert_int_equal(fwrite(line, 1, record, file), record);
	assert_int_equal(fclose(file), 0);
}

/* --- a disk that hangs or fails --- */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* used with @lock held */
	bool hangs, fails;
	int n_failed;
} disk = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Replaces the function of libc. */
ssize_t pwrite(int fd, const void *from, size_t size, off_t at)
{
	bool fails;

	pthread_mutex_lock(&disk.lock);
	while (disk.hangs)
		pthread_cond_wait(&disk.changed, &disk.lock);
	fails = disk.fails;
	disk.n_failed += fails;
	pthread_cond_broadcast(&disk.changed);
	pthread_mutex_unlock(&disk.lock);
	if (fails) {
		errno = EIO;
		return -1;
	}
	return syscall(SYS_pwrite64, fd, from, size, at);
}

static void set_disk_hangs(bool hangs)
{
	pthread_mutex_lock(&disk.lock);
	disk.hangs = hangs;
	pthread_cond_broadcast(&disk.changed);
	pthread_mutex_unlock(&disk.lock);
}

static void set_disk_fails(bool fails)
{
	pthread_mutex_lock(&disk.lock);
	disk.fails = fails;
	disk.n_failed = 0;
	pthread_mutex_unlock(&disk.lock);
}

static void wait_for_failures(int n)
{
	pthread_mutex_lock(&disk.lock);
	while (disk.n_failed < n)
		pthread_cond_wait(&disk.changed, &disk.lock);
	pthread_mutex_unlock(&disk.lock);
}

static bool file_has_record(const char *id, int last_pct, int intent_pct)
{
	struct cap_journal *own = journal;
	bool has;

	assert_int_equal(cap_journal_open(path, &journal, &err), 0);
	has = has_record(id, last_pct, intent_pct);
	cap_journal_close(journal);
	journal = own;
	return has;
}

TEST(a_write_that_fails_is_repeated)
{
	set("a", 50, 50);
	set("b", 60, 60);
	set_disk_fails(true);
	cap_journal_settle(journal, "a", 35);
	wait_for_failures(2); /* the first and a repeated one */
	assert_int_equal(cap_journal_set(journal, "b", 60, 70), -EIO);
	assert_true(has_record("b", 60, 60));
	assert_true(file_has_record("a", 50, 50));
	set_disk_fails(false);
	for (int i = 0; i < POLLS_MAX && !file_has_record("a", 35, 35); i++)
		(void)usleep(10000);
	assert_true(file_has_record("a", 35, 35));
	assert_true(file_has_record("b", 60, 60));
}

TEST(the_end_repeats_a_write_that_failed)
{
	set("a", 50, 50);
	set_disk_fails(true);
	cap_journal_settle(journal, "a", 35);
	wait_for_failures(1);
	set_disk_fails(false);
	open_again();
	assert_true(has_record("a", 35, 35));
}

TEST(a_disk_that_hangs_delays_no_caller_for_long)
{
	uint64_t begun_ns;

	set("a", 50, 50);
	set_disk_hangs(true);
	assert_int_equal(cap_journal_set(journal, "a", 50, 30), -ETIMEDOUT);
	assert_true(has_record("a", 50, 50));
	/* These calls would wait for 25 s if each of them waited. */
	begun_ns = clock_now().mono_ns;
	for (int i = 0; i < 100; i++)
		assert_int_equal(cap_journal_set(journal, "b", 10, 20), -ETIMEDOUT);
	assert_true(clock_now().mono_ns - begun_ns < 20 * NS_PER_S);
	assert_false(has_id("b"));
	set_disk_hangs(false);
	open_again();
	assert_true(has_record("a", 50, 50)); /* not the record whose write has timed out */
	assert_false(has_id("b"));
}

TEST(a_disk_that_works_again_is_written_again)
{
	int r;

	set("a", 50, 50);
	set_disk_hangs(true);
	assert_int_equal(cap_journal_set(journal, "a", 50, 30), -ETIMEDOUT);
	set_disk_hangs(false);
	do {
		r = cap_journal_set(journal, "a", 50, 20);
	} while (r == -ETIMEDOUT);
	assert_int_equal(r, 0);
	open_again();
	assert_true(has_record("a", 50, 20));
}

TEST(a_settled_cap_is_written_without_waiting)
{
	set("a", 50, 30);
	set_disk_hangs(true);
	cap_journal_settle(journal, "a", 30);
	assert_true(has_record("a", 30, 30));
	set_disk_hangs(false);
	open_again();
	assert_true(has_record("a", 30, 30));
}

TEST(each_id_is_returned_once)
{
	int place = 0;

	assert_null(cap_journal_next(journal, &place));
	set("a", 1, 1);
	set("b", 2, 2);
	set("c", 3, 3);
	assert_int_equal(cap_journal_remove(journal, "b"), 0);
	open_again();
	place = 0;
	assert_string_equal(cap_journal_next(journal, &place), "a");
	assert_string_equal(cap_journal_next(journal, &place), "c");
	assert_null(cap_journal_next(journal, &place));
	assert_null(cap_journal_next(journal, &place));
}

TEST(invalid_lines_are_ignored)
{
	static const struct {
		const char *rule, *text;
		bool kept;
	} rows[] = {
		{"a record", "bad 10 20", true},
		{"caps of 0 and 100", "bad 0 100", true},
		{"blank", "", false},
		{"words", "once upon a time", false},
		{"an id only", "bad", false},
		{"one number", "bad 10", false},
		{"three numbers", "bad 10 20 30", false},
		{"a word instead of a number", "bad ten 20", false},
		{"a word after a number", "bad 10 20x", false},
		{"a negative cap", "bad -1 20", false},
		{"a cap above 100", "bad 101 20", false},
		{"an intent above 100", "bad 10 101", false},
		{"larger than any int", "bad 10 99999999999999999999", false},
		{"a fraction", "bad 1.5 2", false},
		{"two numbers without a blank", "bad 1010 20", false},
		{"an id with a path", "../bad 10 20", false},
		{"an id that starts with a dash", "-bad 10 20", false},
		{"a byte that is not ASCII",
		 "b\xff"
		 "d 10 20",
		 false},
		{"two records on a line", "bad 10 20\nbad 10 20", false},
	};
	size_t record = record_bytes();

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		write_line(0, rows[i].text, strlen(rows[i].text), record);
		write_line(1, "good 30 40", strlen("good 30 40"), record);
		open_again();
		if (has_id("bad") != rows[i].kept)
			fail_msg("%s: was %s", rows[i].rule, rows[i].kept ? "ignored" : "accepted");
		if (!has_record("good", 30, 40))
			fail_msg("%s: damages the next line", rows[i].rule);
		set("new", 5, 6);
		open_again();
		if (!has_record("good", 30, 40) || !has_record("new", 5, 6))
			fail_msg("%s: damages later records", rows[i].rule);
		assert_int_equal(cap_journal_remove(journal, "new"), 0);
	}
	write_line(0, "bad\0 10 20", sizeof("bad\0 10 20") - 1, record);
	open_again();
	assert_false(has_id("bad"));
}

TEST(a_truncated_file_loses_only_the_missing_records)
{
	CLEANUP_FREE char *whole = NULL;
	size_t record = record_bytes(), length;

	set("a", 10, 11);
	set("b", 20, 21);
	assert_int_equal(file_read(path, 4096, &whole, &length), 0);
	for (size_t cut = 0; cut <= length; cut++) {
		journal = cap_journal_close(journal);
		assert_int_equal(file_replace(path, whole, cut), 0);
		assert_int_equal(cap_journal_open(path, &journal, &err), 0);
		if (has_record("a", 10, 11) != (cut >= record) ||
		    has_record("b", 20, 21) != (cut >= 2 * record))
			fail_msg("cut after %zu of %zu bytes", cut, length);
		set("c", 30, 31);
		open_again();
		if (has_record("a", 10, 11) != (cut >= record) || !has_record("c", 30, 31))
			fail_msg("cut after %zu of %zu bytes, and then written to", cut, length);
	}
}

TEST(unused_lines_are_used_again)
{
	char id[ID_MAX];
	size_t bytes;

	for (int i = 0; i < MANY; i++) {
		snprintf(id, sizeof(id), "vgpu%d", i);
		set(id, i % 101, (i + 1) % 101);
	}
	bytes = file_bytes();
	open_again();
	for (int i = 0; i < MANY; i++) {
		snprintf(id, sizeof(id), "vgpu%d", i);
		assert_true(has_record(id, i % 101, (i + 1) % 101));
		if (i % 2)
			assert_int_equal(cap_journal_remove(journal, id), 0);
	}
	open_again();
	for (int i = 1; i < MANY; i += 2) {
		snprintf(id, sizeof(id), "vgpu%d", i);
		assert_false(has_id(id));
		snprintf(id, sizeof(id), "other%d", i);
		set(id, 7, 8);
	}
	open_again();
	for (int i = 0; i < MANY; i++) {
		snprintf(id, sizeof(id), i % 2 ? "other%d" : "vgpu%d", i);
		assert_true(i % 2 ? has_record(id, 7, 8) : has_record(id, i % 101, (i + 1) % 101));
	}
	assert_int_equal(file_bytes(), bytes);
}

/* If a removal cannot be written, the line stays in the file, and a second one may be added. */
TEST(all_records_of_an_id_are_removed)
{
	size_t record = record_bytes();

	write_line(0, "a 50 50", strlen("a 50 50"), record);
	write_line(1, "b 30 30", strlen("b 30 30"), record);
	write_line(2, "a 40 40", strlen("a 40 40"), record);
	open_again();
	assert_true(has_record("a", 50, 50));
	assert_int_equal(cap_journal_remove(journal, "a"), 0);
	assert_false(has_id("a"));
	open_again();
	assert_false(has_id("a"));
	assert_true(has_record("b", 30, 30));
}

TEST(an_unusable_path_is_named)
{
	char wrong[80];
	struct cap_journal *none = NULL;

	assert_int_equal(cap_journal_open(folder, &none, &err), -EISDIR);
	assert_non_null(strstr(err.msg, folder));
	snprintf(wrong, sizeof(wrong), "%s/none/caps", folder);
	assert_int_equal(cap_journal_open(wrong, &none, &err), -ENOENT);
	assert_non_null(strstr(err.msg, wrong));
	assert_int_equal(truncate(path, TOO_LARGE), 0);
	assert_int_equal(cap_journal_open(path, &none, &err), -EFBIG);
	assert_non_null(strstr(err.msg, path));
	assert_null(none);
}

TEST(a_full_disk_leaves_the_records_unchanged)
{
	struct cap_journal *full = open_full_journal();
	int last_pct, intent_pct;

	assert_int_equal(cap_journal_set(full, "a", 10, 20), -EFBIG);
	/* vGPU a had no record, and the failed write adds none */
	assert_false(cap_journal_get(full, "a", &last_pct, &intent_pct));
	assert_int_equal(cap_journal_remove(full, "a"), 0);
	close_full_journal(full);
}
