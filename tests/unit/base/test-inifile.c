/* SPDX-License-Identifier: MIT */
/*
 * The lines of an INI file, read by a reader that stops at the first fault and by a reader that
 * reports all faults. test-config.c tests the keys and values of a configuration.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/inifile.h"
#include "tests/unit/unit.h"

#define MARK "\xEF\xBB\xBF" /* a file that begins with a byte-order mark */

struct values {
	int a, b;
};

#define AT(section, key) section, false, #key, offsetof(struct values, key)

static const struct setting table[] = {
	SETTING_INT(AT("one", a), 0, 9, ""),
	SETTING_INT(AT("two", b), 0, 9, ""),
};

static const struct setting *row_at(size_t index)
{
	return index < ARRAY_SIZE(table) ? &table[index] : NULL;
}

static int enter(void *userdata, const struct setting *first, const char *name, int line,
		 void **ret_base, struct err *reterr)
{
	(void)first, (void)name, (void)line, (void)reterr;
	*ret_base = userdata;
	return 0;
}

static int first_fault; /* its line */

static void note_fault(void *userdata, int line, const char *why)
{
	(void)userdata, (void)why;
	if (first_fault == 0)
		first_fault = line;
}

static int read_text(const char *text, bool all_faults, struct values *values, struct err *err)
{
	const struct inifile_reader reader = {
		.at = row_at,
		.userdata = values,
		.enter = enter,
		.fault = all_faults ? note_fault : NULL,
	};
	int fd = memfd_create("ini", MFD_CLOEXEC), r;
	char path[32];

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (int)strlen(text));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	*values = (struct values){.a = -1, .b = -1};
	first_fault = 0;
	r = inifile_read(path, 1024, &reader, err);
	assert_int_equal(close(fd), 0);
	return r;
}

static const struct {
	const char *text;
	int a, b; /* -1: not set */
} good_files[] = {
	{"", -1, -1},
	{"\n \n\t\n\v\n\f\n\r\n", -1, -1},
	{"[one]\na = 1\n[two]\nb = 2\n", 1, 2},
	{"[one]\r\na = 1\r\n[two]\r\nb = 2", 1, 2},
	{MARK "[one]\na:1\n", 1, -1},
	{" \t\v\f\r[ one ] ; said\n \t\v\f\ra = 1 ; said\n", 1, -1},
	{"# a\n \v; b\n[one]\n\f# [two]\na = 1\n", 1, -1},
};

TEST(indentation_and_line_ends_do_not_matter)
{
	struct values values;
	struct err err;

	for (size_t i = 0; i < 2 * ARRAY_SIZE(good_files); i++) {
		bool all_faults = i % 2 == 1;
		int r = read_text(good_files[i / 2].text, all_faults, &values, &err);

		if (r < 0 || first_fault != 0 || values.a != good_files[i / 2].a ||
		    values.b != good_files[i / 2].b)
			fail_msg("row %zu gave %d, a = %d, b = %d, a fault in line %d", i / 2, r,
				 values.a, values.b, first_fault);
	}
}

#define NO_LINE "not a line of an INI file"

static const struct {
	const char *text;
	int line;
	const char *message;
} bad_files[] = {
	{"[one]\nnothing\n", 2, NO_LINE},
	{"[one]\n\vnothing\n", 2, NO_LINE},
	{"[one]\nnothing ; = 1\n", 2, NO_LINE},
	{"[one]\na ;: 1\n", 2, NO_LINE},
	{"[one]\na = 1\n  2\n", 3, NO_LINE},
	{MARK MARK "[one]\n", 1, NO_LINE},
	{MARK " " MARK "[one]\n", 1, NO_LINE},
	{"[one]\n\v[three]\na = 1\n", 2, "unknown section [three]"},
	{"[one]\n\f[one]\n", 2, "[one] is given twice"},
	{"[one\na = 1\n", 1, "is not a section"},
	{"\va = 1\n", 1, "before the first section"},
	{"[one]\na;b = 1\n", 2, "has no key \"a;b\""},
	{"[one]\n= 1\n", 2, "has no key \"\""},
};

TEST(faults_are_reported_with_their_line)
{
	struct values values;
	struct err err;

	for (size_t i = 0; i < ARRAY_SIZE(bad_files); i++) {
		char where[16];

		snprintf(where, sizeof(where), ":%d: ", bad_files[i].line);
		if (read_text(bad_files[i].text, false, &values, &err) != -EINVAL ||
		    !strstr(err.msg, where) || !strstr(err.msg, bad_files[i].message))
			fail_msg("row %zu gave \"%s\"", i, err.msg);
		if (read_text(bad_files[i].text, true, &values, &err) != -EINVAL ||
		    first_fault != bad_files[i].line)
			fail_msg("row %zu, all faults, gave line %d", i, first_fault);
	}
}
