/* SPDX-License-Identifier: MIT */
/* Traces: what is read, what holds when, and what is said of a line that is not taken. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "sim/model/trace.h"

#define HEADER "t_s,demand_pct\n"

/* A file that is only memory; its path in @path. */
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

static void every_form_is_read(void **state)
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
		/* A gap before the last point does not stretch that one. */
		{HEADER "0,1\n1,2\n2,3\n3,4\n16,5\n", 5, {16, 0, 5}, 17, false},
		{"t_s,fps_uncapped,demand_pct\n0,60,30\n1,144.5,0.25\n",
		 2,
		 {1, 144.5, 0.25},
		 2,
		 true},
		{"t_s,fps_uncapped,demand_pct\n0,0,30\n1,0,40\n", 2, {1, 0, 40}, 2, false},
	};

	(void)state;
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

static void a_point_holds_until_the_next(void **state)
{
	static const struct {
		double t_s, demand_pct, fps;
	} rows[] = {
		{0, 0, 0},    {9.999, 0, 0},	{10, 25, 60}, {10.999, 25, 60},
		{11, 50, 30}, {13.999, 50, 30}, {14, 75, 0},  {14.999, 75, 0},
		{15, 0, 0},   {1e12, 0, 0},	{-1, 0, 0},   {NAN, 0, 0},
	};
	struct trace *trace = load("t_s,fps_uncapped,demand_pct\n10,60,25\n11,30,50\n14,0,75\n");

	(void)state;
	assert_true(trace_begin_s(trace) == 10);
	assert_true(trace_end_s(trace) == 15);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_true(trace_demand_pct(trace, rows[i].t_s) == rows[i].demand_pct);
		assert_true(trace_fps_uncapped(trace, rows[i].t_s) == rows[i].fps);
	}
	assert_int_equal(trace_find(trace, 0), 0);
	assert_int_equal(trace_find(trace, 12 * NS_PER_S), 1);
	assert_int_equal(trace_find(trace, 100 * NS_PER_S), 2);
	trace_free(trace);
}

static const struct {
	const char *text, *sentence; /* without the file */
} bad_lines[] = {
	{"", ":1: the file is empty"},
	{"\n", ":1: the header is ''; allowed: 't_s,demand_pct' or "
	       "'t_s,fps_uncapped,demand_pct'"},
	{"0,1\n1,2\n", ":1: the header is '0,1'; allowed: 't_s,demand_pct' or "
		       "'t_s,fps_uncapped,demand_pct'"},
	{"t_s, demand_pct\n", ":1: the header is 't_s, demand_pct'; allowed: "
			      "'t_s,demand_pct' or 't_s,fps_uncapped,demand_pct'"},
	{"\033[2J\n", ":1: the header is '?[2J'; allowed: 't_s,demand_pct' or "
		      "'t_s,fps_uncapped,demand_pct'"},
	{HEADER, ":2: no point follows the header"},
	{HEADER "\n", ":2: the line is empty"},
	{HEADER "0,1\n\n2,1\n", ":3: the line is empty"},
	{HEADER "0,1\n\r\n", ":3: the line is empty"},
	{HEADER "0\n", ":2: 1 columns where the header has 2"},
	{HEADER "0,1,2\n", ":2: 3 columns where the header has 2"},
	{"t_s,fps_uncapped,demand_pct\n0,1\n", ":2: 2 columns where the header has 3"},
	{HEADER "0,\n", ":2: demand_pct '': allowed is a number from 0 to 100"},
	{HEADER ",1\n", ":2: t_s '': allowed is a number from 0 to 4000000000"},
	{HEADER "0,1\n1,nan\n", ":3: demand_pct 'nan': allowed is a number from 0 to 100"},
	{HEADER "0,inf\n", ":2: demand_pct 'inf': allowed is a number from 0 to 100"},
	{HEADER "nan,1\n", ":2: t_s 'nan': allowed is a number from 0 to 4000000000"},
	{HEADER "0,-0.5\n", ":2: demand_pct '-0.5': allowed is a number from 0 to 100"},
	{HEADER "-1,5\n", ":2: t_s '-1': allowed is a number from 0 to 4000000000"},
	{HEADER "0,100.01\n", ":2: demand_pct '100.01': allowed is a number from 0 to 100"},
	{HEADER "1e11,1\n", ":2: t_s '1e11': allowed is a number from 0 to 4000000000"},
	{HEADER "0, 5\n", ":2: demand_pct ' 5': allowed is a number from 0 to 100"},
	{HEADER "0,5 \n", ":2: demand_pct '5 ': allowed is a number from 0 to 100"},
	{HEADER "0,5.\n0,5\n", ":3: t_s 0 does not come after the 0 before it"},
	{HEADER "0,.\n", ":2: demand_pct '.': allowed is a number from 0 to 100"},
	{HEADER "0,0x10\n", ":2: demand_pct '0x10': allowed is a number from 0 to 100"},
	{HEADER "0,1..5\n", ":2: demand_pct '1..5': allowed is a number from 0 to 100"},
	{HEADER "0,5%\n", ":2: demand_pct '5%': allowed is a number from 0 to 100"},
	{HEADER "0,1\n1,1\n1,1\n", ":4: t_s 1 does not come after the 1 before it"},
	{HEADER "0,1\n1.5,1\n1.25,1\n", ":4: t_s 1.25 does not come after the 1.5 before it"},
	{"t_s,fps_uncapped,demand_pct\n0,10001,1\n",
	 ":2: fps_uncapped '10001': allowed is a number from 0 to 10000"},
	{"t_s,fps_uncapped,demand_pct\n0,-1,1\n",
	 ":2: fps_uncapped '-1': allowed is a number from 0 to 10000"},
};

static void a_bad_line_is_refused_by_file_and_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad_lines); i++) {
		struct trace *trace = NULL;
		struct err err = {""};
		char path[32];
		CLEANUP_CLOSE int fd = -1;

		new_file(bad_lines[i].text, strlen(bad_lines[i].text), path, &fd);
		assert_int_equal(trace_load(path, &trace, &err), -EINVAL);
		assert_memory_equal(err.msg, path, strlen(path));
		assert_string_equal(err.msg + strlen(path), bad_lines[i].sentence);
		assert_null(trace);
		assert_int_equal(trace_load(path, &trace, NULL), -EINVAL);
	}
}

static void a_line_without_end_or_with_a_zero_byte_is_refused(void **state)
{
	static const char zero[] = HEADER "0,1\n1,2\0\n";
	char text[200000], path[32];
	struct trace *trace = NULL;
	struct err err = {""};

	(void)state;
	{
		CLEANUP_CLOSE int fd = -1;

		new_file(zero, sizeof(zero) - 1, path, &fd);
		assert_int_equal(trace_load(path, &trace, &err), -EINVAL);
		assert_string_equal(err.msg + strlen(path), ":3: the line holds a zero byte");
	}
	memset(text, '1', sizeof(text));
	memcpy(text, HEADER, strlen(HEADER));
	{
		CLEANUP_CLOSE int fd = -1;

		new_file(text, sizeof(text), path, &fd);
		assert_int_equal(trace_load(path, &trace, &err), -EINVAL);
		assert_string_equal(err.msg + strlen(path),
				    ":2: the line is longer than 255 characters");
	}
}

static void what_is_no_file_is_refused_at_once(void **state)
{
	char folder[] = "/tmp/test-sim-trace-XXXXXX", path[64], want[128];
	struct trace *trace = NULL;
	struct err err = {""};

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(trace_load(folder, &trace, &err), -EINVAL);
	snprintf(want, sizeof(want), "%s: cannot be read: it is no regular file", folder);
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

static void points_in_memory_keep_the_same_rules(void **state)
{
	static const struct {
		struct trace_point points[2];
		size_t n;
		const char *sentence; /* NULL: taken */
	} rows[] = {
		{{{0, 0, 5}, {1, 60, 100}}, 2, NULL},
		{{{0, 0, 0}}, 0, "a trace without points"},
		{{{NAN, 0, 5}}, 1, "point 1: t_s nan: allowed is a number from 0 to 4e+09"},
		{{{0, 0, 5}, {1, 0, NAN}},
		 2,
		 "point 2: demand_pct nan: allowed is a number from 0 to 100"},
		{{{0, 0, -1}}, 1, "point 1: demand_pct -1: allowed is a number from 0 to 100"},
		{{{0, INFINITY, 1}},
		 1,
		 "point 1: fps_uncapped inf: allowed is a number from 0 to 10000"},
		{{{3, 0, 5}, {3, 0, 5}}, 2, "point 2: t_s 3 does not come after the 3 before it"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct trace *trace = NULL;
		struct err err = {""};
		int r = trace_new(rows[i].points, rows[i].n, &trace, &err);

		assert_int_equal(r, rows[i].sentence ? -EINVAL : 0);
		assert_string_equal(err.msg, rows[i].sentence ? rows[i].sentence : "");
		trace_free(trace);
	}
}

static void a_gap_is_named_by_the_line_after_it(void **state)
{
	static const struct {
		uint64_t from_s, to_s, gap_s;
		int line; /* 0: there is none */
	} rows[] = {
		{0, 100, 5, 4}, {0, 100, 9, 4}, {0, 100, 10, 6}, {0, 100, 20, 0}, {0, 1, 5, 0},
		{0, 2, 5, 4},	{5, 100, 5, 4}, {11, 100, 5, 6}, {12, 13, 5, 6},  {32, 100, 5, 0},
	};
	struct trace *trace = load(HEADER "0,1\n1,1\n11,1\n12,1\n32,1\n");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = {""};
		int r = trace_check_gaps(trace, rows[i].from_s * NS_PER_S, rows[i].to_s * NS_PER_S,
					 rows[i].gap_s * NS_PER_S, &err);
		char want[128] = "";

		if (rows[i].line)
			snprintf(want, sizeof(want),
				 ":%d: a gap of %d s; allowed without gap=hold or gap=idle: %d s",
				 rows[i].line, rows[i].line == 4 ? 10 : 20, (int)rows[i].gap_s);
		assert_int_equal(r, rows[i].line ? -EINVAL : 0);
		assert_string_equal(*err.msg ? strchr(err.msg, ':') : "", want);
	}
	trace_free(trace);
}

/* More blocks than one, and lines across their borders. */
static void many_lines_are_read_as_they_stand(void **state)
{
	const size_t n = 100000;
	CLEANUP_FREE char *text = malloc(40 * n);
	size_t length = strlen(HEADER);
	struct trace *trace;

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_form_is_read),
		cmocka_unit_test(a_point_holds_until_the_next),
		cmocka_unit_test(a_bad_line_is_refused_by_file_and_line),
		cmocka_unit_test(a_line_without_end_or_with_a_zero_byte_is_refused),
		cmocka_unit_test(what_is_no_file_is_refused_at_once),
		cmocka_unit_test(points_in_memory_keep_the_same_rules),
		cmocka_unit_test(a_gap_is_named_by_the_line_after_it),
		cmocka_unit_test(many_lines_are_read_as_they_stand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
