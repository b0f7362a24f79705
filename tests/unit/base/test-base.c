/* SPDX-License-Identifier: MIT */
/* Tests of base/: the strict parsers, ids, times as text, error messages, small files and INI
 * files. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/config/inifile.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "base/parse.h"
#include "base/text.h"
#include "tests/unit/unit.h"

#define UNTOUCHED 4711

TEST(parse_int_accepts_only_whole_strings)
{
	static const struct {
		const char *text;
		int64_t min, max;
		int result;
		int64_t value;
	} rows[] = {
		{"0", 0, 100, 0, 0},
		{"100", 0, 100, 0, 100},
		{"101", 0, 100, -ERANGE, 0},
		{"-1", 0, 100, -ERANGE, 0},
		{"-1", -1, 100, 0, -1},
		{"007", 0, 100, 0, 7},
		{"9223372036854775807", 0, INT64_MAX, 0, INT64_MAX},
		{"9223372036854775808", 0, INT64_MAX, -ERANGE, 0},
		{"-9223372036854775808", INT64_MIN, 0, 0, INT64_MIN},
		{"", 0, 100, -EINVAL, 0},
		{"-", -9, 100, -EINVAL, 0},
		{"--1", -9, 100, -EINVAL, 0},
		{"+1", 0, 100, -EINVAL, 0},
		{" 1", 0, 100, -EINVAL, 0},
		{"1 ", 0, 100, -EINVAL, 0},
		{"1\n", 0, 100, -EINVAL, 0},
		{"0x10", 0, 100, -EINVAL, 0},
		{"1.0", 0, 100, -EINVAL, 0},
		{"1e1", 0, 100, -EINVAL, 0},
		{"ten", 0, 100, -EINVAL, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t value = UNTOUCHED;
		int r = parse_int(rows[i].text, rows[i].min, rows[i].max, &value);

		if (r != rows[i].result || value != (r == 0 ? rows[i].value : UNTOUCHED))
			fail_msg("\"%s\" gave %d and %lld", rows[i].text, r, (long long)value);
	}
}

TEST(parse_double_accepts_finite_decimals)
{
	static const struct {
		const char *text;
		int result;
		double value;
	} rows[] = {
		{"0", 0, 0},
		{"-3", 0, -3},
		{"0.5", 0, 0.5},
		{"12e-3", 0, 0.012},
		{"1E2", 0, 100},
		{"100.1", -ERANGE, 0},
		{"-100.1", -ERANGE, 0},
		{"1e999", -ERANGE, 0},
		{"nan", -EINVAL, 0},
		{"inf", -EINVAL, 0},
		{"-inf", -EINVAL, 0},
		{"0x1p3", -EINVAL, 0},
		{"", -EINVAL, 0},
		{"+1", -EINVAL, 0},
		{" 1", -EINVAL, 0},
		{"1 ", -EINVAL, 0},
		{"1,5", -EINVAL, 0},
		{"1.5.1", -EINVAL, 0},
		{"1-1", -EINVAL, 0},
		{"e", -EINVAL, 0},
		{"5%", -EINVAL, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		double value = UNTOUCHED;
		int r = parse_double(rows[i].text, -100, 100, &value);
		double expected = r == 0 ? rows[i].value : UNTOUCHED;

		if (r != rows[i].result || value < expected || value > expected)
			fail_msg("\"%s\" gave %d and %g", rows[i].text, r, value);
	}
}

TEST(parse_bool_accepts_six_words)
{
	static const char *const yes[] = {"on", "yes", "true"};
	static const char *const no[] = {"off", "no", "false"};
	static const char *const neither[] = {"", "1", "0", "On", "TRUE", "on ", "y"};
	bool value;

	for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
		value = false;
		assert_int_equal(parse_bool(yes[i], &value), 0);
		assert_true(value);
		assert_int_equal(parse_bool(no[i], &value), 0);
		assert_false(value);
	}
	for (size_t i = 0; i < ARRAY_SIZE(neither); i++) {
		value = true;
		assert_int_equal(parse_bool(neither[i], &value), -EINVAL);
		assert_true(value);
	}
}

#define SIXTY "a23456789012345678901234567890123456789012345678901234567890"

TEST(an_id_is_safe_in_a_path_and_a_url)
{
	static const struct {
		const char *id;
		bool valid;
	} rows[] = {
		{"vgpu0", true},       {"A.b_c-9", true}, {"0", true},	       {SIXTY "123", true},
		{SIXTY "1234", false}, {"", false},	  {".", false},	       {"..", false},
		{".hidden", false},    {"-rf", false},	  {"a/b", false},      {"a b", false},
		{"a\"", false},	       {"a\n", false},	  {"\xc3\xa4", false}, {NULL, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char copy[ID_MAX] = "before";

		if (id_valid(rows[i].id) != rows[i].valid)
			fail_msg("id_valid(\"%s\")", rows[i].id ? rows[i].id : "NULL");
		assert_int_equal(id_copy(copy, rows[i].id), rows[i].valid ? 0 : -EINVAL);
		assert_string_equal(copy, rows[i].valid ? rows[i].id : "before");
	}
}

/* The references are FNV-1a with 64 bits, with the lowest bit set. */
TEST(a_hash_of_an_id_is_fnv_1a_and_never_0)
{
	static const struct {
		const char *id;
		uint64_t hash;
	} rows[] = {
		{"", 0xcbf29ce484222325},
		{"a", 0xaf63dc4c8601ec8d},
		{"b", 0xaf63df4c8601f1a5},
		{"foobar", 0x85944171f73967e9},
	};
	char copy[] = "foobar";

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (id_hash(rows[i].id) != rows[i].hash)
			fail_msg("%s gave %" PRIx64, rows[i].id, id_hash(rows[i].id));
	assert_true(id_hash(copy) == id_hash("foobar"));
}

TEST(ids_with_numbers_sort_by_number)
{
	static const char *const sorted[] = {"a",     "a-1",   "a1",	"a2",	  "a10",    "b",
					     "vgpu0", "vgpu2", "vgpu9", "vgpu10", "vgpu10b"};

	for (size_t i = 0; i < ARRAY_SIZE(sorted); i++)
		for (size_t j = 0; j < ARRAY_SIZE(sorted); j++) {
			int order = id_compare(sorted[i], sorted[j]);

			if ((order > 0) - (order < 0) != (i > j) - (i < j))
				fail_msg("%s and %s gave %d", sorted[i], sorted[j], order);
		}
}

TEST(times_are_rfc_3339_in_utc)
{
	static const struct {
		int64_t wall_ms;
		const char *text;
	} rows[] = {
		{0, "1970-01-01T00:00:00.000Z"},
		{1, "1970-01-01T00:00:00.001Z"},
		{951782399999, "2000-02-28T23:59:59.999Z"},
		{951782400000, "2000-02-29T00:00:00.000Z"},
		{253402300799999, "9999-12-31T23:59:59.999Z"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[CLOCK_TEXT_MAX];

		clock_format(rows[i].wall_ms, text);
		assert_string_equal(text, rows[i].text);
	}
}

TEST(both_clocks_have_the_right_units)
{
	struct timespec mono, wall;
	struct instant before = clock_now(), after;
	uint64_t mono_ns;

	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &mono), 0);
	assert_int_equal(clock_gettime(CLOCK_REALTIME, &wall), 0);
	after = clock_now();
	mono_ns = (uint64_t)mono.tv_sec * NS_PER_S + (uint64_t)mono.tv_nsec;
	assert_in_range(mono_ns, before.mono_ns, after.mono_ns);
	assert_in_range((int64_t)wall.tv_sec * 1000 + wall.tv_nsec / 1000000, before.wall_ms,
			after.wall_ms);
}

TEST(err_fail_writes_the_message_and_returns_the_errno)
{
	struct err err;
	char longer[2 * ERR_MSG_MAX];

	assert_int_equal(err_fail(&err, EINVAL, "cap_pct %d: %s", 101, "too much"), -EINVAL);
	assert_string_equal(err.msg, "cap_pct 101: too much");
	assert_int_equal(err_fail(NULL, ENOENT, "no message"), -ENOENT);
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(err_fail(&err, EIO, "%s", longer), -EIO);
	assert_int_equal(strlen(err.msg), ERR_MSG_MAX - 1);
}

/* --- files --- */

static char folder[] = "/tmp/gover-base.XXXXXX";
static char path[64], beside[64];

static int make_folder(void)
{
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/file", folder);
	snprintf(beside, sizeof(beside), "%s/file.new", folder);
	return 0;
}

static int remove_folder(void)
{
	(void)unlink(path);
	return rmdir(folder);
}

FIXTURE_ONCE(make_folder, remove_folder)

TEST(each_read_of_an_attribute_begins_at_its_start)
{
	char text[8];
	uint64_t value = UNTOUCHED;
	CLEANUP_CLOSE int fd = -1;

	assert_int_equal(file_replace(path, "1234\n", 5), 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(file_pread_text(fd, text, sizeof(text)), 4);
		assert_string_equal(text, "1234");
	}
	assert_int_equal(file_pread_u64(fd, &value), 0);
	assert_int_equal(value, 1234);
	assert_int_equal(file_pread_text(fd, text, 5), -ENOBUFS);
	assert_int_equal(file_pwrite_i64(fd, -56789), 0);
	assert_int_equal(file_pread_text(fd, text, sizeof(text)), 6);
	assert_string_equal(text, "-56789");
	assert_int_equal(file_pread_u64(fd, &value), -EINVAL);
	assert_int_equal(value, 1234);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(file_pread_text(fd, text, sizeof(text)), 0);
	assert_string_equal(text, "");
	assert_int_equal(file_pread_text(-1, text, sizeof(text)), -EBADF);
	assert_int_equal(file_pwrite_i64(-1, 0), -EBADF);
}

TEST(file_read_returns_the_whole_file_or_fails)
{
	char *text = NULL;
	size_t length = UNTOUCHED;

	assert_int_equal(file_replace(path, "a\0b\n", 4), 0);
	assert_int_equal(file_read(path, 4, &text, &length), 0);
	assert_int_equal(length, 4);
	assert_memory_equal(text, "a\0b\n", 5);
	free(text);
	text = NULL;
	assert_int_equal(file_read(path, 3, &text, &length), -EFBIG);
	assert_int_equal(file_read("/nowhere/file", 3, &text, &length), -ENOENT);
	assert_int_equal(file_read(folder, 3, &text, &length), -EISDIR);
	assert_null(text);
	assert_int_equal(length, 4);
}

TEST(only_regular_files_are_read)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	size_t length;
	char *text;

	assert_false(file_is_other(path));
	(void)unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(file_read(path, 100, &text, &length), -EINVAL);
	assert_int_equal(file_open(path, O_RDWR | O_CREAT, 0600), -EINVAL);
	assert_true(file_is_other(path));
	assert_int_equal(unlink(path), 0);

	memcpy(address.sun_path, path, strlen(path) + 1);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(file_read(path, 100, &text, &length), -EINVAL);
	assert_string_equal(file_error(-EINVAL), "not a regular file");
	assert_int_equal(close(fd), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(file_read("/dev/zero", 100, &text, &length), -EINVAL);
}

TEST(file_replace_is_atomic)
{
	struct stat before, after;
	char *text;

	assert_int_equal(file_replace(path, "old", 3), 0);
	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(file_replace(path, "newer", 5), 0);
	assert_int_equal(stat(path, &after), 0);
	assert_int_not_equal(before.st_ino, after.st_ino);
	assert_int_equal(after.st_mode & 0777, 0600);
	assert_int_equal(access(beside, F_OK), -1);

	/* The temporary file cannot be created because a folder has its name. */
	assert_int_equal(mkdir(beside, 0755), 0);
	assert_int_equal(file_replace(path, "never", 5), -EISDIR);
	assert_int_equal(rmdir(beside), 0);

	/* A link with the name of the temporary file is removed, and its target is unchanged. */
	assert_int_equal(symlink(path, beside), 0);
	assert_int_equal(file_replace(path, "other", 5), 0);
	assert_int_equal(access(beside, F_OK), -1);
	assert_int_equal(file_read(path, 100, &text, NULL), 0);
	assert_string_equal(text, "other");
	free(text);

	/* The rename fails because @path is a folder. The temporary file is then removed. */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(file_replace(path, "never", 5), -EISDIR);
	assert_int_equal(access(beside, F_OK), -1);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(file_replace("/nowhere/file", "x", 1), -ENOENT);
}

/* Replaces fsync(): while @folder_errno is set, a folder cannot be synchronised. */
static int folder_errno;

int fsync(int fd)
{
	struct stat st;

	if (folder_errno && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		errno = folder_errno;
		return -1;
	}
	return (int)syscall(SYS_fsync, fd);
}

TEST(file_replace_fails_without_a_trace)
{
	char before[sizeof(path) + 8], *text;

	snprintf(before, sizeof(before), "%s.before", path);
	folder_errno = EIO;
	assert_int_equal(file_replace(path, "first", 5), -EIO);
	assert_int_equal(access(path, F_OK), -1);
	folder_errno = 0;
	assert_int_equal(file_replace(path, "old", 3), 0);
	assert_int_equal(access(before, F_OK), -1);
	folder_errno = EIO;
	assert_int_equal(file_replace(path, "newer", 5), -EIO);
	folder_errno = 0;
	assert_int_equal(file_read(path, 100, &text, NULL), 0);
	assert_string_equal(text, "old");
	free(text);
	assert_int_equal(access(before, F_OK), -1);
	assert_int_equal(access(beside, F_OK), -1);
	assert_int_equal(file_replace(path, "newer", 5), 0);
	assert_int_equal(unlink(path), 0);
}

TEST(file_make_dirs_creates_parents)
{
	char deep[96], below_file[96];
	struct stat st;

	snprintf(deep, sizeof(deep), "%s/a/b/c", folder);
	for (int i = 0; i < 2; i++)
		assert_int_equal(file_make_dirs(deep), 0);
	assert_int_equal(stat(deep, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(rmdir(deep), 0);
		*strrchr(deep, '/') = '\0';
	}
	assert_int_equal(file_make_dirs("/"), 0);
	assert_int_equal(file_replace(path, "x", 1), 0);
	snprintf(below_file, sizeof(below_file), "%s/dir", path);
	assert_int_equal(file_make_dirs(below_file), -ENOTDIR);
}

TEST(a_stolen_descriptor_is_not_closed)
{
	int kept = -1;

	{
		CLEANUP_CLOSE int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		kept = steal_fd(&fd);
		assert_int_equal(fd, -1);
	}
	assert_true(fcntl(kept, F_GETFD) >= 0);
	assert_int_equal(close(kept), 0);
}

/* --- the lines of an INI file; test-config.c tests the keys and values of a configuration --- */

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
	char name[32];

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (int)strlen(text));
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	*values = (struct values){.a = -1, .b = -1};
	first_fault = 0;
	r = inifile_read(name, 1024, &reader, err);
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

TEST(control_characters_are_found_and_masked)
{
	static const struct {
		const char *text, *masked;
		uint32_t found;
	} rows[] = {
		{"", "", 0},
		{"a b", "a b", 0},
		{"Zo\xc3\xab \xf0\x9f\x99\x82", "Zo\xc3\xab \xf0\x9f\x99\x82", 0},
		{"a\033[m", "a?[m", 0x1b},
		{"\x7f", "?", 0x7f},
		{"a\xc2\x80", "a??", 0x80},
		{"\xc2\x9f", "??", 0x9f},
		{"\xc2\xa0", "\xc2\xa0", 0},
		{"\xd8\x9c", "??", 0x61c},
		{"\xe2\x80\x8d", "\xe2\x80\x8d", 0},
		{"\xe2\x80\x8e", "???", 0x200e},
		{"\xe2\x80\xa8z", "???z", 0x2028},
		{"\xe2\x80\xae", "???", 0x202e},
		{"\xe2\x80\xaf", "\xe2\x80\xaf", 0},
		{"\xe2\x81\xa6", "???", 0x2066},
		{"\xe2\x81\xa9", "???", 0x2069},
		/* not UTF-8: a single byte, an end within a character, overlong, a surrogate */
		{"\xe9t\xe9", "?t?", 0},
		{"\xe2\x80", "??", 0},
		{"\xc0\x9b", "??", 0},
		{"\xed\xa0\x80", "???", 0},
		{"\xff\x1b", "??", 0x1b},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[32];

		strcpy(text, rows[i].text);
		assert_int_equal(text_find_control(text), rows[i].found);
		text_mask_controls(text);
		assert_string_equal(text, rows[i].masked);
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
