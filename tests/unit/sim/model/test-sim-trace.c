/* SPDX-License-Identifier: MIT */
/* Tests traces: valid files, the value at a time, and the errors for invalid lines. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "sim/model/trace.h"
#include "tests/unit/unit.h"

#define HEADER "t_s,demand_pct\n"

/* Creates a file in memory and returns its path in @path. */
static void new_file(const char *bytes, size_t length, char path[32], int *ret_fd)
{
	*ret_fd = memfd_create("trace", MFD_CLOEXEC);
	assert_true(*ret_fd >= 0);
	assert_int_equal(write(*ret_fd, bytes, length), length);
	snprintf(path, 32, "/proc/self/fd/%d", *ret_fd);
}

static struct trace *load(const char *text)
{
	struct trace *trace = NULL;
	struct err err = {""};
	char path[32];
	CLEANUP_CLOSE int fd = -1;

	new_file(text, strlen(text), path, &fd);
	if (trace_load(path, &trace, &err) < 0)
		fail_msg("%s", err.msg);
	return trace;
}

TEST(valid_files_are_read)
{
	static const struct {
		const char *text;
		size_t n;
		struct trace_point last;
		double end_s;
		bool has_frames;
	} rows[] = {
		{HEADER "0,25\n", 1, {0, 0, 25}, 1, false},
		{HEADER "0,25\n1,50\n2,0\n", 3, {2, 0, 0}, 3, false},
		{HEADER "0,25\n1,50.5", 2, {1, 0, 50.5}, 2, false},
		{"t_s,demand_pct\r\n0,25\r\n1,5e1\r\n", 2, {1, 0, 50}, 2, false},
		{HEADER "100.5,25\n101.75,100\n", 2, {101.75, 0, 100}, 103, false},
		/* The last point is valid for 1 s, the shorter of the two intervals before it. */
		{HEADER "0,1\n1,2\n2,3\n3,4\n16,5\n", 5, {16, 0, 5}, 17, false},
		{"t_s,fps_uncapped,demand_pct\n0,60,30\n1,144.5,0.25\n", 2,
		 .last = {1, 144.5, 0.25}, 2, true},
		{"t_s,fps_uncapped,demand_pct\n0,0,30\n1,0,40\n", 2, {1, 0, 40}, 2, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct trace *trace = load(rows[i].text);
		struct trace_point last;

		assert_int_equal(trace_count(trace), rows[i].n);
		last = trace_point_at(trace, rows[i].n - 1);
		assert_true(last.t_s == rows[i].last.t_s);
		assert_true(last.fps_uncapped == rows[i].last.fps_uncapped);
		assert_true(last.demand_pct == rows[i].last.demand_pct);
		assert_true(trace_end_s(trace) == rows[i].end_s);
		assert_int_equal(trace_has_frames(trace), rows[i].has_frames);
		trace_free(trace);
	}
	assert_null(trace_free(NULL));
}

TEST(a_point_is_valid_until_the_next)
{
	static const struct {
		double t_s, demand_pct, fps;
	} rows[] = {
		{10, 25, 60},	  {10.999, 25, 60}, {11, 50, 30},
		{13.999, 50, 30}, {14, 75, 0},	    {14.999, 75, 0},
	};
	struct trace *trace = load("t_s,fps_uncapped,demand_pct\n10,60,25\n11,30,50\n14,0,75\n");

	assert_true(trace_begin_s(trace) == 10);
	assert_true(trace_end_s(trace) == 15);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t at = trace_find(trace, (uint64_t)(rows[i].t_s * (double)NS_PER_S));

		assert_true(trace_point_at(trace, at).demand_pct == rows[i].demand_pct);
		assert_true(trace_point_at(trace, at).fps_uncapped == rows[i].fps);
	}
	assert_int_equal(trace_find(trace, 0), 0);
	assert_int_equal(trace_find(trace, 12 * NS_PER_S), 1);
	assert_int_equal(trace_find(trace, 100 * NS_PER_S), 2);
	trace_free(trace);
}

static const struct {
	const char *text, *message; /* message: the expected message without the path */
} bad_lines[] = {
	{"", ":1: the file is empty"},
	{"\n", ":1: unknown header '' (allowed: 't_s,demand_pct', "
	       "'t_s,fps_uncapped,demand_pct')"},
	{"0,1\n1,2\n", ":1: unknown header '0,1' (allowed: 't_s,demand_pct', "
		       "'t_s,fps_uncapped,demand_pct')"},
	{"t_s, demand_pct\n", ":1: unknown header 't_s, demand_pct' (allowed: "
			      "'t_s,demand_pct', 't_s,fps_uncapped,demand_pct')"},
	{"\033[2J\n", ":1: unknown header '?[2J' (allowed: 't_s,demand_pct', "
		      "'t_s,fps_uncapped,demand_pct')"},
	{HEADER, ":2: no points after the header"},
	{HEADER "\n", ":2: empty line"},
	{HEADER "0,1\n\n2,1\n", ":3: empty line"},
	{HEADER "0,1\n\r\n", ":3: empty line"},
	{HEADER "0\n", ":2: 1 columns, but the header has 2"},
	{HEADER "0,1,2\n", ":2: 3 columns, but the header has 2"},
	{"t_s,fps_uncapped,demand_pct\n0,1\n", ":2: 2 columns, but the header has 3"},
	{HEADER "0,\n", ":2: demand_pct '': not a valid number (allowed: 0 to 100)"},
	{HEADER ",1\n", ":2: t_s '': not a valid number (allowed: 0 to 4000000000)"},
	{HEADER "0,1\n1,nan\n", ":3: demand_pct 'nan': not a valid number (allowed: 0 to 100)"},
	{HEADER "0,inf\n", ":2: demand_pct 'inf': not a valid number (allowed: 0 to 100)"},
	{HEADER "nan,1\n", ":2: t_s 'nan': not a valid number (allowed: 0 to 4000000000)"},
	{HEADER "0,-0.5\n", ":2: demand_pct '-0.5': not a valid number (allowed: 0 to 100)"},
	{HEADER "-1,5\n", ":2: t_s '-1': not a valid number (allowed: 0 to 4000000000)"},
	{HEADER "0,100.01\n", ":2: demand_pct '100.01': not a valid number (allowed: 0 to 100)"},
	{HEADER "1e11,1\n", ":2: t_s '1e11': not a valid number (allowed: 0 to 4000000000)"},
	{HEADER "0, 5\n", ":2: demand_pct ' 5': not a valid number (allowed: 0 to 100)"},
	{HEADER "0,5 \n", ":2: demand_pct '5 ': not a valid number (allowed: 0 to 100)"},
	{HEADER "0,5.\n0,5\n", ":3: t_s 0: not later than the previous t_s 0"},
	{HEADER "0,.\n", ":2: demand_pct '.': not a valid number (allowed: 0 to 100)"},
	{HEADER "0,0x10\n", ":2: demand_pct '0x10': not a valid number (allowed: 0 to 100)"},
	{HEADER "0,1..5\n", ":2: demand_pct '1..5': not a valid number (allowed: 0 to 100)"},
	{HEADER "0,5%\n", ":2: demand_pct '5%': not a valid number (allowed: 0 to 100)"},
	{HEADER "0,1\n1,1\n1,1\n", ":4: t_s 1: not later than the previous t_s 1"},
	{HEADER "0,1\n1.5,1\n1.25,1\n", ":4: t_s 1.25: not later than the previous t_s 1.5"},
	{"t_s,fps_uncapped,demand_pct\n0,10001,1\n",
	 ":2: fps_uncapped '10001': not a valid number (allowed: 0 to 10000)"},
	{"t_s,fps_uncapped,demand_pct\n0,-1,1\n",
	 ":2: fps_uncapped '-1': not a valid number (allowed: 0 to 10000)"},
};

TEST(an_error_message_names_file_and_line)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad_lines); i++) {
		struct trace *trace = NULL;
		struct err err = {""};
		char path[32];
		CLEANUP_CLOSE int fd = -1;

		new_file(bad_lines[i].text, strlen(bad_lines[i].text), path, &fd);
		assert_int_equal(trace_load(path, &trace, &err), -EINVAL);
		assert_memory_equal(err.msg, path, strlen(path));
		assert_string_equal(err.msg + strlen(path), bad_lines[i].message);
		assert_null(trace);
		assert_int_equal(trace_load(path, &trace, NULL), -EINVAL);
	}
}

TEST(a_long_line_or_a_nul_byte_is_an_error)
{
	static const char zero[] = HEADER "0,1\n1,2\0\n";
	char text[200000], path[32];
	struct trace *trace = NULL;
	struct err err = {""};

	{
		CLEANUP_CLOSE int fd = -1;

		new_file(zero, sizeof(zero) - 1, path, &fd);
		assert_int_equal(trace_load(path, &trace, &err), -EINVAL);
		assert_string_equal(err.msg + strlen(path), ":3: the line contains a NUL byte");
	}
	memset(text, '1', sizeof(text));
	memcpy(text, HEADER, strlen(HEADER));
	{
		CLEANUP_CLOSE int fd = -1;

		new_file(text, sizeof(text), path, &fd);
		assert_int_equal(trace_load(path, &trace, &err), -EINVAL);
		assert_string_equal(err.msg + strlen(path),
				    ":2: line too long (limit 255 characters)");
	}
}

TEST(only_regular_files_are_read)
{
	char folder[] = "/tmp/test-sim-trace-XXXXXX", path[64], want[128];
	struct trace *trace = NULL;
	struct err err = {""};

	assert_non_null(mkdtemp(folder));
	assert_int_equal(trace_load(folder, &trace, &err), -EINVAL);
	snprintf(want, sizeof(want), "%s: cannot be read: not a regular file", folder);
	assert_string_equal(err.msg, want);
	snprintf(path, sizeof(path), "%s/pipe", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(trace_load(path, &trace, &err), -EINVAL);
	assert_int_equal(trace_load("/dev/zero", &trace, &err), -EINVAL);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(trace_load(path, &trace, &err), -ENOENT);
	snprintf(want, sizeof(want), "%s: cannot be read: No such file or directory", path);
	assert_string_equal(err.msg, want);
	assert_int_equal(rmdir(folder), 0);
}

TEST(points_in_memory_are_checked_too)
{
	static const struct {
		struct trace_point points[2];
		size_t n;
		const char *message; /* NULL: valid */
	} rows[] = {
		{{{0, 0, 5}, {1, 60, 100}}, 2, NULL},
		{{{0, 0, 0}}, 0, "the trace has no points"},
		{{{NAN, 0, 5}}, 1, "point 1: t_s nan: out of range (allowed: 0 to 4e+09)"},
		{.points = {{0, 0, 5}, {1, 0, NAN}},
		 2,
		 "point 2: demand_pct nan: out of range (allowed: 0 to 100)"},
		{{{0, 0, -1}}, 1, "point 1: demand_pct -1: out of range (allowed: 0 to 100)"},
		{.points = {{0, INFINITY, 1}},
		 1,
		 "point 1: fps_uncapped inf: out of range (allowed: 0 to 10000)"},
		{{{3, 0, 5}, {3, 0, 5}}, 2, "point 2: t_s 3: not later than the previous t_s 3"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct trace *trace = NULL;
		struct err err = {""};
		int r = trace_new(rows[i].points, rows[i].n, &trace, &err);

		assert_int_equal(r, rows[i].message ? -EINVAL : 0);
		assert_string_equal(err.msg, rows[i].message ? rows[i].message : "");
		trace_free(trace);
	}
}

TEST(the_error_of_a_gap_names_the_line_after_it)
{
	static const struct {
		uint64_t from_s, to_s, gap_s;
		int line; /* 0: no error */
	} rows[] = {
		{0, 100, 5, 4}, {0, 100, 9, 4}, {0, 100, 10, 6}, {0, 100, 20, 0}, {0, 1, 5, 0},
		{0, 2, 5, 4},	{5, 100, 5, 4}, {11, 100, 5, 6}, {12, 13, 5, 6},  {32, 100, 5, 0},
	};
	struct trace *trace = load(HEADER "0,1\n1,1\n11,1\n12,1\n32,1\n");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = {""};
		int r = trace_check_gaps(trace, rows[i].from_s * NS_PER_S, rows[i].to_s * NS_PER_S,
					 rows[i].gap_s * NS_PER_S, &err);
		char want[128] = "";

		if (rows[i].line)
			snprintf(want, sizeof(want),
				 ":%d: gap of %d s (allowed: up to %d s; with gap=hold or gap=idle "
				 "any gap)",
				 rows[i].line, rows[i].line == 4 ? 10 : 20, (int)rows[i].gap_s);
		assert_int_equal(r, rows[i].line ? -EINVAL : 0);
		assert_string_equal(*err.msg ? strchr(err.msg, ':') : "", want);
	}
	trace_free(trace);
}

/* The file has many blocks, and some lines begin in one block and end in the next. */
TEST(a_long_file_is_read_block_by_block)
{
	const size_t n = 100000;
	CLEANUP_FREE char *text = malloc(40 * n);
	size_t length = strlen(HEADER);
	struct trace *trace;

	assert_non_null(text);
	strcpy(text, HEADER);
	for (size_t i = 0; i < n; i++)
		length += (size_t)sprintf(text + length, "%zu.125,%zu.5\n", i, i % 100);
	trace = load(text);
	assert_int_equal(trace_count(trace), n);
	for (size_t i = 0; i < n; i++) {
		struct trace_point point = trace_point_at(trace, i);

		assert_true(point.t_s == (double)i + 0.125);
		assert_true(point.demand_pct == (double)(i % 100) + 0.5);
	}
	trace_free(trace);
}
