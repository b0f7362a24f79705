/* SPDX-License-Identifier: MIT */
/* The book of caps: what a daemon that was killed leaves, and what is found in a file that was
 * spoilt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/id.h"
#include "gover-d/store/cap-journal.h"

#define MANY	  1000
#define TOO_LARGE (1024LL * 1024 * 1024)

static char folder[] = "/tmp/gover-cap-journal.XXXXXX";
static char path[64];
static struct cap_journal *journal;
static struct err err;

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/caps", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

static int open_journal(void **state)
{
	(void)state;
	return cap_journal_open(path, &journal, &err);
}

static int remove_journal(void **state)
{
	(void)state;
	journal = cap_journal_close(journal);
	return unlink(path);
}

/* As the next daemon. */
static void open_again(void)
{
	journal = cap_journal_close(journal);
	assert_int_equal(cap_journal_open(path, &journal, &err), 0);
}

static bool says(const char *id, int last_pct, int intent_pct)
{
	int last = -1, intent = -1;

	return cap_journal_get(journal, id, &last, &intent) && last == last_pct &&
	       intent == intent_pct;
}

static bool knows(const char *id)
{
	int last, intent;

	return cap_journal_get(journal, id, &last, &intent);
}

static void set(const char *id, int last_pct, int intent_pct)
{
	assert_int_equal(cap_journal_set(journal, id, last_pct, intent_pct), 0);
}

static size_t file_bytes(void)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (size_t)st.st_size;
}

/* The length of a record is nobody's business but the book's. */
static size_t record_bytes(void)
{
	set("measure", 1, 1);
	assert_int_equal(cap_journal_remove(journal, "measure"), 0);
	return file_bytes();
}

static void an_empty_journal_knows_no_vgpu(void **state)
{
	(void)state;
	assert_false(knows("a"));
	assert_int_equal(cap_journal_remove(journal, "a"), 0);
	assert_int_equal(file_bytes(), 0);
	assert_null(cap_journal_close(NULL));
}

static void what_was_noted_last_is_what_the_next_daemon_finds(void **state)
{
	char longest[ID_MAX];

	(void)state;
	memset(longest, 'x', ID_MAX - 1);
	longest[ID_MAX - 1] = '\0';
	set("a", 50, 40);
	set("a", 40, 40);
	set("ab", 0, 100);
	set(longest, 100, 99);
	assert_true(says("a", 40, 40));
	open_again();
	assert_true(says("a", 40, 40));
	assert_true(says("ab", 0, 100));
	assert_true(says(longest, 100, 99));
	assert_false(knows("abc"));
	assert_false(knows("b"));
}

static void an_intent_survives_the_daemon_that_is_killed_before_its_write(void **state)
{
	pid_t pid;
	int status;

	(void)state;
	set("a", 50, 50);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)cap_journal_set(journal, "a", 50, 30);
		(void)raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	open_again();
	assert_true(says("a", 50, 30));
}

/* Writes the bytes of @text, filled up to a whole line, as record number @index. */
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

static void all_who_are_known_are_told_once(void **state)
{
	int place = 0;

	(void)state;
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

static void lines_that_are_no_records_are_dropped(void **state)
{
	static const struct {
		const char *rule, *text;
		bool kept;
	} rows[] = {
		{"a record", "bad 10 20", true},
		{"no limit, and all of it", "bad 0 100", true},
		{"blank", "", false},
		{"words", "once upon a time", false},
		{"an id alone", "bad", false},
		{"one number", "bad 10", false},
		{"three numbers", "bad 10 20 30", false},
		{"a word for a number", "bad ten 20", false},
		{"a word behind a number", "bad 10 20x", false},
		{"below none", "bad -1 20", false},
		{"above all", "bad 101 20", false},
		{"an intent above all", "bad 10 101", false},
		{"larger than any int", "bad 10 99999999999999999999", false},
		{"a fraction", "bad 1.5 2", false},
		{"a number that another follows at once", "bad 1010 20", false},
		{"an id that leaves its folder", "../bad 10 20", false},
		{"an id that begins with a dash", "-bad 10 20", false},
		{"bytes of no alphabet",
		 "b\xff"
		 "d 10 20",
		 false},
		{"two records on a line", "bad 10 20\nbad 10 20", false},
	};
	size_t record = record_bytes();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		write_line(0, rows[i].text, strlen(rows[i].text), record);
		write_line(1, "good 30 40", strlen("good 30 40"), record);
		open_again();
		if (knows("bad") != rows[i].kept)
			fail_msg("%s: was %s", rows[i].rule, rows[i].kept ? "dropped" : "kept");
		if (!says("good", 30, 40))
			fail_msg("%s: spoils the line after it", rows[i].rule);
		set("new", 5, 6);
		open_again();
		if (!says("good", 30, 40) || !says("new", 5, 6))
			fail_msg("%s: spoils what comes later", rows[i].rule);
		assert_int_equal(cap_journal_remove(journal, "new"), 0);
	}
	write_line(0, "bad\0 10 20", sizeof("bad\0 10 20") - 1, record);
	open_again();
	assert_false(knows("bad"));
}

static void a_file_cut_anywhere_loses_only_what_was_cut(void **state)
{
	CLEANUP_FREE char *whole = NULL;
	size_t record = record_bytes(), length;

	(void)state;
	set("a", 10, 11);
	set("b", 20, 21);
	assert_int_equal(file_read(path, 4096, &whole, &length), 0);
	for (size_t cut = 0; cut <= length; cut++) {
		journal = cap_journal_close(journal);
		assert_int_equal(file_replace(path, whole, cut), 0);
		assert_int_equal(cap_journal_open(path, &journal, &err), 0);
		if (says("a", 10, 11) != (cut >= record) ||
		    says("b", 20, 21) != (cut >= 2 * record))
			fail_msg("cut after %zu of %zu bytes", cut, length);
		set("c", 30, 31);
		open_again();
		if (says("a", 10, 11) != (cut >= record) || !says("c", 30, 31))
			fail_msg("cut after %zu of %zu bytes, and then written to", cut, length);
	}
}

static void many_fit_and_a_place_that_was_left_is_used_again(void **state)
{
	char id[ID_MAX];
	size_t bytes;

	(void)state;
	for (int i = 0; i < MANY; i++) {
		snprintf(id, sizeof(id), "vgpu%d", i);
		set(id, i % 101, (i + 1) % 101);
	}
	bytes = file_bytes();
	open_again();
	for (int i = 0; i < MANY; i++) {
		snprintf(id, sizeof(id), "vgpu%d", i);
		assert_true(says(id, i % 101, (i + 1) % 101));
		if (i % 2)
			assert_int_equal(cap_journal_remove(journal, id), 0);
	}
	open_again();
	for (int i = 1; i < MANY; i += 2) {
		snprintf(id, sizeof(id), "vgpu%d", i);
		assert_false(knows(id));
		snprintf(id, sizeof(id), "other%d", i);
		set(id, 7, 8);
	}
	open_again();
	for (int i = 0; i < MANY; i++) {
		snprintf(id, sizeof(id), i % 2 ? "other%d" : "vgpu%d", i);
		assert_true(i % 2 ? says(id, 7, 8) : says(id, i % 101, (i + 1) % 101));
	}
	assert_int_equal(file_bytes(), bytes);
}

static void a_file_that_cannot_be_a_journal_is_refused_by_name(void **state)
{
	char wrong[80];
	struct cap_journal *none = NULL;

	(void)state;
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

static void a_disk_that_is_full_is_told(void **state)
{
	struct cap_journal *full;
	int last_pct, intent_pct;

	(void)state;
	assert_int_equal(cap_journal_open("/dev/full", &full, &err), 0);
	assert_int_equal(cap_journal_set(full, "a", 10, 20), -ENOSPC);
	assert_false(cap_journal_get(full, "a", &last_pct, &intent_pct)); /* as in the file */
	assert_int_equal(cap_journal_remove(full, "a"), 0);
	cap_journal_close(full);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, open_journal, remove_journal)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_empty_journal_knows_no_vgpu),
		TEST(what_was_noted_last_is_what_the_next_daemon_finds),
		TEST(an_intent_survives_the_daemon_that_is_killed_before_its_write),
		TEST(all_who_are_known_are_told_once),
		TEST(lines_that_are_no_records_are_dropped),
		TEST(a_file_cut_anywhere_loses_only_what_was_cut),
		TEST(many_fit_and_a_place_that_was_left_is_used_again),
		TEST(a_file_that_cannot_be_a_journal_is_refused_by_name),
		TEST(a_disk_that_is_full_is_told),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
